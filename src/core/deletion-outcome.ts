/**
 * Decides what became of one deletion: deleted, already gone or refused, with what a look afterwards showed (DESIGN.md
 * section 4.4, guarantee G2). What is not decided here is left to the engine, which tries again and, in the end, fails it.
 */
import { isTimeSeries, targetText, type DeletionTarget } from './deletion-target.ts';
import { AccessError, faultOf, NotFoundError, PermanentError, TransientError, type Fault } from './errors.ts';
import type { Balance, Counts, UnitOutcome, UnitState } from './run.ts';

/** `failed` is the engine's: attempts spent, the run stopped, or a fault of wellsync. */
export type DeletionOutcome = 'deleted' | 'already gone' | 'refused' | 'failed';

/** What the service showed after a deletion; `no read`: nothing documented could show it (INTERFACE.md section 4). */
export type Verification = 'gone' | 'still there' | 'not checked' | 'no read';

/** How the deletion of a target ended. */
export interface DeletionEnding {
  readonly outcome: Exclude<DeletionOutcome, 'failed'>;
  /** The integer that came back, as it came: its meaning is not shown. Null where none came. */
  readonly answer: number | null;
  /** Why it was refused. */
  readonly words: string | null;
  readonly verification: Verification | null;
}

/** What the request of a deletion came to. */
export type DeletionResult = { readonly answer: number | null } | { readonly error: unknown };

/**
 * The ending that a result amounts to, undefined where it is none. `isRepeat` says that an earlier request for the same
 * target may have taken effect: what is taken then is `already gone`, whoever removed it.
 */
export function endingOf(result: DeletionResult, isRepeat: boolean): DeletionEnding | undefined {
  if ('answer' in result) {
    return { outcome: isRepeat ? 'already gone' : 'deleted', answer: result.answer, words: null, verification: null };
  }
  const { error } = result;
  if (error instanceof NotFoundError) {
    return { outcome: 'already gone', answer: null, words: null, verification: null };
  }
  return isRefusal(error) ? refusal(faultOf(error).message) : undefined;
}

export function refusal(words: string): DeletionEnding {
  return { outcome: 'refused', answer: null, words, verification: null };
}

/** 403 is a fact about this target here: rights may differ by well. A 401 is one about all of them, and stops the run. */
function isRefusal(error: unknown): boolean {
  if (error instanceof AccessError) return error.code === 'forbidden';
  return error instanceof PermanentError && (error.status !== undefined || error.code === 'identifier');
}

/** Whether the service has a time series record no longer, as far as anybody knows: what the warehouse has of it ends with it. */
export function endsTimeSeries(target: DeletionTarget, { outcome, verification }: DeletionEnding): boolean {
  return isTimeSeries(target) && outcome !== 'refused' && verification !== 'still there';
}

/** Answers by which the service says that it did not take the request up, and requests that reached nobody. */
const withoutEffect: ReadonlySet<string> = new Set([
  'http-408',
  'http-425',
  'http-429',
  'http-503',
  'no-connection',
  'identifier',
]);

/** Whether a request that ended so may have deleted something: a lost connection says nothing of what went before. */
export function mayHaveTakenEffect(error: unknown): boolean {
  if (error instanceof AccessError) return false;
  if (error instanceof TransientError || error instanceof PermanentError) return !withoutEffect.has(error.code);
  return true;
}

/** Of the deletion of one unit, for the ledger of the run. What an operator has to see after is `held`. */
export function unitOutcomeOf(unit: number, target: DeletionTarget, ending: DeletionEnding): UnitOutcome {
  const fault = faultOfEnding(target, ending);
  return {
    unit,
    state: fault === undefined ? 'done' : 'held',
    counts: { [countOfOutcome[ending.outcome]]: 1, ...countsOfVerification(ending.verification) },
    ...(fault === undefined ? {} : { fault }),
    ...(ending.verification === 'no read' ? { notices: [noReadNotice] } : {}),
  };
}

const noReadNotice = 'micro strings and wellbores were not verified: the service documents no read';

const countOfOutcome = { deleted: 'deleted', 'already gone': 'alreadyGone', refused: 'refused' } as const;

/** Whether the audit's last word on a unit is what the ledger of the run has of it. */
export function isOutcomeOf(
  { state, counts }: { readonly state: UnitState; readonly counts: Counts },
  outcome: DeletionOutcome | null,
): boolean {
  if (state === 'failed') return outcome === 'failed';
  return outcome !== null && outcome !== 'failed' && counts[countOfOutcome[outcome]] === 1;
}

function countsOfVerification(verification: Verification | null): Counts {
  switch (verification) {
    case 'gone':
      return { verifiedGone: 1 };
    case 'still there':
      return { stillThere: 1 };
    case 'not checked':
    case 'no read':
      return { notVerified: 1 };
    case null:
      return {};
  }
}

function faultOfEnding(target: DeletionTarget, { outcome, words, verification }: DeletionEnding): Fault | undefined {
  if (outcome === 'refused') return { code: 'refused', message: words ?? 'refused without a word' };
  if (verification !== 'still there') return undefined;
  return {
    code: 'still-there',
    message:
      outcome === 'deleted'
        ? `the service answered that ${targetText(target)} is deleted, and shows it all the same`
        : `${targetText(target)} counted as gone already, and the service shows it all the same`,
    hint: 'Ask at the service. A new plan takes it up again.',
  };
}

/** G2 for a cleanup; a cancelled run has targets that were never begun besides. */
export function balanceCleanup(
  counts: Counts,
  units: { readonly total: number; readonly failed: number; readonly cancelled: number },
): Balance {
  const parts = [
    ['deleted', counts['deleted'] ?? 0],
    ['already gone', counts['alreadyGone'] ?? 0],
    ['refused', counts['refused'] ?? 0],
    ['failed', units.failed],
    ...(units.cancelled > 0 ? [['cancelled', units.cancelled] as const] : []),
  ] as const;
  const sum = parts.reduce((total, [, count]) => total + count, 0);
  const balanced = units.total === sum;
  const side = parts.map(([name, count]) => `${count} ${name}`).join(' + ');
  return { balanced, statement: `${units.total} targets ${balanced ? '=' : '≠'} ${side}` };
}
