/**
 * Targets of exports that the service answers with 404 (docs/design.md section 4.1). A 404 is a fact about the target:
 * nothing of it is read or removed. Many of them at once are rather a fault of the address.
 */
import type { Fault } from '../base/errors.ts';
import type { Counts, RunReport, UnitOutcome } from './run.ts';

/** Targets with rows that may be unknown before the run fails: all of these limits have to be exceeded. */
const suspicious = { share: 0.2, targets: 3 } as const;

/**
 * Counts of targets: a run counts a target once, however many of its units have it. A well with five gaps is one well.
 */
export const countsOfTargets = ['targetsWithRows', 'unknownTargets', 'unknownWithRows'] as const;

/** The outcome of a target that is unknown. `isNew`: no other run found it unknown before. */
export function outcomeOfUnknown(found: {
  readonly unit: number;
  readonly isNew: boolean;
  readonly hasRows: boolean;
  /** Undefined for a job that does not count them. */
  readonly requests?: number | undefined;
}): UnitOutcome {
  const { unit, isNew, hasRows, requests } = found;
  const ofTarget = { ...rowsOfTarget(hasRows), unknownTargets: 1, unknownWithRows: hasRows ? 1 : 0 };
  const counts = { newlyUnknown: isNew ? 1 : 0, ...ofTarget, ...(requests === undefined ? {} : { requests }) };
  const notice = 'the service does not know {targets} (404): nothing was read, and nothing removed';
  return { unit, state: 'unknown', counts, ...(isNew ? { notices: [notice] } : {}) };
}

/** The count of the targets of a run that have rows in the warehouse. */
export function rowsOfTarget(hasRows: boolean): Counts {
  return { targetsWithRows: hasRows ? 1 : 0 };
}

/**
 * The fault of a run that found all targets unknown, or many of those that have rows; undefined otherwise. A single
 * target that never had a row may be unknown. `target`: the operator's name for one and for several of them.
 */
export function unknownFault(
  { units: { total, unknown = 0 }, counts }: Pick<RunReport, 'units' | 'counts'>,
  target: { readonly one: string; readonly many: string },
): Fault | undefined {
  const { unknownTargets = unknown, unknownWithRows = 0, targetsWithRows = 0 } = counts;
  if (unknown > 0 && unknown === total && (unknownTargets > 1 || unknownWithRows > 0)) {
    return faultSaying(unknownTargets === 1 ? `the ${target.one}` : `any of the ${unknownTargets} ${target.many}`);
  }
  if (unknownWithRows <= suspicious.targets || unknownWithRows <= suspicious.share * targetsWithRows) return undefined;
  return faultSaying(`${unknownWithRows} of the ${targetsWithRows} ${target.many} that have rows`);
}

function faultSaying(targets: string): Fault {
  return {
    code: 'targets-unknown',
    message: `the service does not know ${targets} (404): is its address right?`,
    action: { kind: 'check-address', setting: 'service.url' },
  };
}
