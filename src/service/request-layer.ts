/**
 * Owns one call from its first attempt to its outcome: admission, token, exchange, classification, and the first of the
 * two layers of retry (DESIGN.md section 5). POST and DELETE are tried again too: repeating them is harmless by G1 and G5.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { AbortedError, RateLimitedError, TransientError } from '../core/errors.ts';
import { nextDelay, type RequestRetryPolicy } from '../core/retry-timing.ts';
import { errorOfAnswer, type Answer, type Asked } from './classification.ts';
import type { Exchange, ServiceRequest } from './http-exchange.ts';
import type { Admission, CallOptions } from './production-data-service.ts';
import type { TokenSource } from './token-source.ts';

export interface Retry {
  /** Method and path. */
  readonly request: string;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: TransientError;
}

/** What a client may be given besides its settings. */
export interface ServiceParts {
  /** Without one, requests go out as they come. */
  readonly admission?: Admission;
  readonly now?: () => number;
  /** In [0, 1). */
  readonly random?: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep?: (delayMs: number, signal: AbortSignal) => Promise<unknown>;
  /** Told before each pause. */
  readonly onRetry?: (retry: Retry) => void;
  /** Told of an answer with another 2xx than the declared 200, which was taken. */
  readonly onUndeclaredStatus?: (request: string, status: number) => void;
}

export interface RequestOptions extends CallOptions {
  /** Told of every answer to the call, whatever its status. */
  readonly onAnswer?: (status: number) => void;
}

/** Makes the value of a call out of an answer that was taken; throws where it is not one. */
export type AnswerReader<T> = (answer: Answer, asked: Asked) => T;

/** One call. Throws as the port ProductionDataService says. */
export type RequestLayer = <T>(request: ServiceRequest, read: AnswerReader<T>, options?: RequestOptions) => Promise<T>;

const openAdmission: Admission = { enter: async () => () => undefined, holdAll: async () => undefined };
const neverAborted = new AbortController().signal;

export function createRequestLayer(
  exchange: Exchange,
  tokens: TokenSource,
  policy: RequestRetryPolicy,
  parts: ServiceParts,
): RequestLayer {
  const { admission = openAdmission, now = Date.now, random = Math.random } = parts;
  const sleep = parts.sleep ?? ((delayMs, signal) => pause(delayMs, undefined, { signal }));

  /** Time goes on the budget only from admission on: waiting for a place is not the service's doing. */
  async function sendAdmitted(request: ServiceRequest, budget: Budget, options: RequestOptions): Promise<Sent> {
    const { signal = neverAborted } = options;
    const token = await tokens.token(signal);
    const asked = { label: labelOf(request), hidden: token === undefined ? [] : [token] };
    const leave = await admission.enter(signal);
    const sentAtMs = now();
    options.onAttempt?.();
    try {
      const deadlineMs = policy.deadlineMs - budget.elapsedMs;
      const authorization = token === undefined ? undefined : `Bearer ${token}`;
      const answer = await exchange.send(request, { authorization, asked, deadlineMs, signal });
      const error = errorOfAnswer(answer, asked, now());
      options.onAnswer?.(answer.status);
      // Before the place is given up, so that nobody slips in between.
      if (error instanceof RateLimitedError) await admission.holdAll(error.retryAfterMs);
      return { answer, asked, token, error };
    } finally {
      budget.elapsedMs += now() - sentAtMs;
      leave();
    }
  }

  /** One attempt, and within it a second request where another token is at hand for one that was refused. */
  async function attemptOnce<T>(
    request: ServiceRequest,
    read: AnswerReader<T>,
    budget: Budget,
    options: RequestOptions,
  ): Promise<T> {
    let sent = await sendAdmitted(request, budget, options);
    if (sent.answer.status === 401 && !budget.tokenRenewed && (await tokens.renew(sent.token, options.signal))) {
      budget.tokenRenewed = true;
      sent = await sendAdmitted(request, budget, options);
    }
    if (sent.error !== undefined) throw sent.error;
    if (sent.answer.status !== 200) parts.onUndeclaredStatus?.(sent.asked.label, sent.answer.status);
    return read(sent.answer, sent.asked);
  }

  async function waitBefore(delayMs: number, signal: AbortSignal): Promise<void> {
    try {
      await sleep(delayMs, signal);
    } catch (error) {
      throw signal.aborted ? new AbortedError(undefined, { cause: error }) : error;
    }
  }

  return async (request, read, options = {}) => {
    const { signal = neverAborted } = options;
    // Many calls listen to the signal of one shutdown, each until it ends: no leak, and no reason to warn of one.
    setMaxListeners(0, signal);
    const budget: Budget = { elapsedMs: 0, tokenRenewed: false };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attemptOnce(request, read, budget, options);
      } catch (error) {
        const { elapsedMs } = budget;
        const delayMs = nextDelay({ error, attempt, elapsedMs, policy, random: random() });
        if (delayMs === undefined || !(error instanceof TransientError)) throw error;
        parts.onRetry?.({ request: labelOf(request), attempt, delayMs, error });
        options.onRetry?.(error);
        await waitBefore(delayMs, signal);
        budget.elapsedMs += delayMs;
      }
    }
  };
}

/** What one call has used up of what it may. */
interface Budget {
  elapsedMs: number;
  tokenRenewed: boolean;
}

interface Sent {
  readonly answer: Answer;
  readonly asked: Asked;
  readonly token: string | undefined;
  readonly error: Error | undefined;
}

/** Queries are left away: what they hold is of no use to the operator, and a path is read more easily. */
function labelOf({ method, path }: ServiceRequest): string {
  return `${method} ${path.split('?')[0]}`;
}
