/** The common parts of the descriptions of the exports. */
import type { NextAction } from '../src/core/base/action.ts';
import type { CountDescription, UnitDescription } from '../src/core/run/job-description.ts';
import { countsOfTargets } from '../src/core/run/unknown-targets.ts';
import type { RunReport } from '../src/core/run/run.ts';

export function readingUnits(one: string, many: string): UnitDescription {
  return { one, many, failing: 'could not be read to the end', held: 'held' };
}

/** Targets that the service answers with 404: see src/core/run/unknown-targets.ts. */
export const newlyUnknown: CountDescription = {
  name: 'newlyUnknown',
  isException: true,
  isOfUnits: true,
  remark: 'the service does not know them (404): nothing was removed',
};

/** Targets that have rows in the warehouse, unknown ones, and those that are both. */
export const rowsOfTargets: readonly CountDescription[] = countsOfTargets.map((name) => ({ name, isHidden: true }));

export function shrinkSteps({ units }: RunReport): readonly NextAction[] {
  return units.held > 0 ? [{ kind: 'allow-shrink' }] : [];
}
