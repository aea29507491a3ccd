/** Rates below 0, and pressures below a vacuum. */
import type { Check } from './checked-well.ts';
import { type CheckedField, columnOfField, nextBelow } from './well-days.ts';

const rates = ['oilRate', 'gasRate', 'waterRate', 'gasLiftInjectionRate', 'waterInjectionRate', 'gasInjectionRate'];
const pressures = ['tubingPressure', 'casingPressure', 'gaugePressure', 'linePressure'];

export const negative: Check = ({ days }, { from, to }, { leastPressure }, add) => {
  const below = (field: CheckedField, bound: number): void => {
    const values = days.values[field];
    if (values === undefined) return;
    for (let index = from; ; index += 1) {
      index = nextBelow(values, index, to, bound);
      if (index >= to) return;
      add(days.days[index] ?? 0, columnOfField[field], values[index] ?? 0, bound);
    }
  };
  for (const field of rates as readonly CheckedField[]) below(field, 0);
  for (const field of pressures as readonly CheckedField[]) below(field, leastPressure);
};
