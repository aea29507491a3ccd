/**
 * The outcome of one deletion: deleted, already gone or refused, with the result of a check afterwards (docs/design.md
 * section 4.4, guarantee G2). Every other result is left to the engine, which retries it and, in the end, fails it.
 */
import { AccessError, type Fault, faultOf, NotFoundError, PermanentError, TransientError } from '../base/errors.ts';
import type { Counts, UnitOutcome, UnitState } from '../run/run.ts';
import { type DeletionTarget, isTimeSeries, targetText } from './target.ts';

/** `failed` is set by the engine: attempts used up, the run stopped, or a fault of wellsync. */
export type DeletionOutcome = 'deleted' | 'already gone' | 'refused' | 'failed';

/**
 * The state of the target at the service after the deletion; `no read`: no documented request can show it
 * (docs/interface.md section 4).
 */
export type Verification = 'gone' | 'still there' | 'not checked' | 'no read';

/** The outcome of a deletion request. */
export interface DeletionConclusion {
  readonly outcome: Exclude<DeletionOutcome, 'failed'>;
  /** The integer in the answer; its meaning is not documented. Null without one. */
  readonly answer: number | null;
  /** Why it was refused. */
  readonly words: string | null;
  readonly verification: Verification | null;
  /** Refused by a rule of wellsync: no request was sent. */
  readonly isWithheld?: true;
  /** The service answered 404, although its plan saw the target present and nothing shows that it was deleted. */
  readonly isUnexpected?: true;
}

/** The answer to a deletion request, or its error. */
export type DeletionResult = { readonly answer: number | null } | { readonly error: unknown };

/**
 * The outcome for a result; undefined when the result decides nothing. `isRepeat`: an earlier request for the same
 * target may have taken effect, so that an accepted request is `already gone`, whoever removed the target.
 * `isExpected`: the target was there when it was planned, as far as is known.
 */
export function conclusionOf(
  result: DeletionResult,
  isRepeat: boolean,
  isExpected = false,
): DeletionConclusion | undefined {
  if ('answer' in result) {
    return { ...noRemarks, outcome: isRepeat ? 'already gone' : 'deleted', answer: result.answer };
  }
  const { error } = result;
  if (error instanceof NotFoundError) {
    const isUnexpected = isExpected && !isRepeat;
    return { ...noRemarks, outcome: 'already gone', ...(isUnexpected && { isUnexpected }) };
  }
  return isRefusal(error) ? refusal(faultOf(error).message) : undefined;
}

const noRemarks = { answer: null, words: null, verification: null } as const;

export function refusal(words: string): DeletionConclusion {
  return { ...noRemarks, outcome: 'refused', words };
}

/** A refusal by wellsync itself: no request is sent. */
export function withheld(why: string): DeletionConclusion {
  return { ...refusal(`not sent: ${why}`), isWithheld: true };
}

/** 403 concerns this target: rights may differ by well. A 401 concerns all of them, and stops the run. */
function isRefusal(error: unknown): boolean {
  if (error instanceof AccessError) return error.code === 'forbidden';
  return error instanceof PermanentError && (error.status !== undefined || error.code === 'identifier');
}

/**
 * Whether the service no longer has a time series record, as far as is known: its version in the warehouse ends then.
 */
export function endsTimeSeries(target: DeletionTarget, { outcome, verification }: DeletionConclusion): boolean {
  return isTimeSeries(target) && outcome !== 'refused' && verification !== 'still there';
}

/**
 * Codes by which the service says that it did not process the request, and codes of requests that reached no server.
 */
const withoutEffect: ReadonlySet<string> = new Set([
  'http-408',
  'http-425',
  'http-429',
  'http-503',
  'no-connection',
  'identifier',
]);

/** Whether a request that ended with this error may have deleted something. A lost connection may have. */
export function mayHaveTakenEffect(error: unknown): boolean {
  if (error instanceof AccessError) return false;
  if (error instanceof TransientError || error instanceof PermanentError) return !withoutEffect.has(error.code);
  return true;
}

/** The unit outcome of a deletion, for the run ledger. A target that the operator has to check is `held`. */
export function unitOutcomeOf(
  unit: number,
  target: DeletionTarget,
  conclusion: DeletionConclusion,
  warnings: readonly string[] = [],
): UnitOutcome {
  const fault = faultOfConclusion(target, conclusion);
  const notices = [...warnings, ...(conclusion.verification === 'no read' ? [noReadNotice] : [])];
  return {
    unit,
    state: fault === undefined ? 'done' : 'held',
    counts: {
      [countOfOutcome[conclusion.outcome]]: 1,
      ...(conclusion.isWithheld && { notSent: 1 }),
      ...(conclusion.isUnexpected && { notFound: 1 }),
      ...(conclusion.verification !== null && { [countOfVerification[conclusion.verification]]: 1 }),
    },
    ...(fault === undefined ? {} : { fault }),
    ...(notices.length === 0 ? {} : { notices }),
  };
}

const noReadNotice = 'micro strings and wellbores were not verified: the service documents no read';

const countOfOutcome = { deleted: 'deleted', 'already gone': 'alreadyGone', refused: 'refused' } as const;

const countOfVerification = {
  gone: 'verifiedGone',
  'still there': 'stillThere',
  'not checked': 'notVerified',
  'no read': 'notVerified',
} as const;

/** Whether the last outcome of a unit in the audit agrees with the run ledger. */
export function isOutcomeOf(
  { state, counts }: { readonly state: UnitState; readonly counts: Counts },
  outcome: DeletionOutcome | null,
): boolean {
  if (state === 'failed') return outcome === 'failed';
  return outcome !== null && outcome !== 'failed' && counts[countOfOutcome[outcome]] === 1;
}

function faultOfConclusion(
  target: DeletionTarget,
  { outcome, words, verification }: DeletionConclusion,
): Fault | undefined {
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

// How many deletions have their intents written at once. Each writing is a transaction, so that one for every few
// requests would take a quick service most of its speed. But an intent says that a request may have been sent: one
// that still waits when the process is killed makes an outcome uncertain that is none.

/** Time within which the last request of a group is sent, as far as the group before tells. */
const intentAheadMs = 250;

/** A quick answer or two may be chance. */
const mostGrowth = 4;

export class IntentPace {
  readonly #concurrency: number;
  #groupSize: number;

  /** `concurrency`: requests that are sent at once, and the smallest group. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
    this.#groupSize = concurrency;
  }

  /** How many deletions the next group has. */
  get groupSize(): number {
    return this.#groupSize;
  }

  /** Takes in how long the requests of a group took. The rest at the end of a list, which is no whole group, tells little. */
  record(size: number, tookMs: number): void {
    const answered = Math.floor((size * intentAheadMs) / Math.max(1, tookMs));
    if (size < this.#groupSize && answered >= this.#groupSize) return;
    this.#groupSize = Math.max(this.#concurrency, Math.min(answered, size * mostGrowth));
  }
}
