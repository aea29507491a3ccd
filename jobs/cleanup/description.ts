import { isCounted, type JobDescription } from '../../src/core/run/job-description.ts';
import type { NextAction } from '../../src/core/base/action.ts';
import type { Fault } from '../../src/core/base/errors.ts';
import type { RunReport } from '../../src/core/run/run.ts';

/** targets = deleted + alreadyGone + refused + failed, plus cancelled ones if the run was cancelled (G2). */
export const cleanup: JobDescription = {
  name: 'cleanup',
  units: { one: 'target', many: 'targets', failing: 'could not be deleted', held: 'not gone' },
  record: undefined,
  deletes: true,
  counts: [
    { name: 'deleted', inSum: 'part' },
    { name: 'alreadyGone', inSum: 'part' },
    { name: 'refused', inSum: 'part', isException: true },
    { name: 'notSent', isHidden: true },
    { name: 'notFound', isHidden: true },
    { name: 'verifiedGone' },
    { name: 'stillThere', isException: true },
    { name: 'notVerified' },
  ],
  nextSteps,
  failureOf,
};

/** So few targets may have been deleted by others since their plan. */
const fewTargets = 3;

/**
 * An address that is right for reads and wrong for deletions, or a proxy, answers 404 to everything: nobody may take
 * that for a cleanup that found everything gone.
 */
function failureOf({ units, counts }: Pick<RunReport, 'units' | 'counts'>): Fault | undefined {
  const { notFound = 0, notSent = 0 } = counts;
  const answered = units.done + units.held - notSent;
  if (notFound <= fewTargets || notFound < answered) return undefined;
  return {
    code: 'all-unknown',
    message: `the service answered 404 to every deletion (${notFound}), and showed these targets when the plan was made`,
    hint: 'Nothing was deleted. Is the address right, and does nothing stand between that takes deletions away?',
    action: { kind: 'check-address', setting: 'service.url' },
  };
}

function nextSteps({ runId, units, counts }: RunReport): readonly NextAction[] {
  if (units.total === 0) return [];
  const isUndone = isCounted(counts, 'refused') || isCounted(counts, 'stillThere');
  return [{ kind: 'audit-run', runId }, ...(isUndone ? [{ kind: 'plan-cleanup' } as const] : [])];
}
