/** Streams that the type of a well, or its lift, excludes, by what its record says; nothing where it says nothing. */
import type { Check } from './checked-well.ts';
import { type CheckedField, columnOfField, isProducing, valueAt } from './well-days.ts';

export const excludedStream: Check = ({ days, facts }, { from, to }, _settings, add) => {
  if (facts === undefined) return;
  const { type, lift, fromDay } = facts;
  const { values } = days;
  for (let index = from; index < to; index += 1) {
    const day = days.days[index] ?? 0;
    if (day < fromDay) continue;
    const above = (field: CheckedField): void => {
      const value = valueAt(values[field], index);
      if (value > 0) add(day, columnOfField[field], value, 0);
    };
    if (type === 'producer') above('waterInjectionRate');
    if (type === 'producer') above('gasInjectionRate');
    if (type === 'injector') above('oilRate');
    if (lift === undefined || !isProducing(values, index)) continue;
    const field = lift === 'esp' ? 'espFrequency' : 'gasLiftInjectionRate';
    const value = valueAt(values[field], index);
    // A rate that gas lift needs may not be left out; a pump of which nothing is known may run.
    if (value === 0 || (lift === 'gas-lift' && Number.isNaN(value))) add(day, columnOfField[field], value, null);
  }
};
