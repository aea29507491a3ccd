/**
 * One call from its first attempt to its outcome: limiter, token, exchange, classification, and the first of the two
 * layers of retry (docs/design.md section 5). POST and DELETE are retried too: repeating them is harmless by G1 and G5.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import { AbortedError, RateLimitedError, TransientError, WellsyncError } from '../core/base/errors.ts';
import { Secrets } from '../core/base/secrets.ts';
import { nextDelay, type RequestRetryPolicy } from '../core/run/retry-decision.ts';
import { sleep } from '../timers/sleep.ts';
import { errorOfAnswer, type Answer, type RequestContext } from './classification.ts';
import { NoRoomError, type BodyPlace } from './body-budget.ts';
import type { Exchange, ServiceRequest } from './http-exchange.ts';
import type { RequestLimiter, CallOptions } from './production-data-service.ts';
import type { TokenSource } from './token-source.ts';

export interface Retry {
  /** Method and path. */
  readonly request: string;
  readonly about: ServiceRequest['about'];
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: TransientError;
}

/** A request that was sent, and what came of it. */
export interface SentRequest {
  readonly endpoint: string;
  /** Status of the answer, or the code of the error in its place. */
  readonly outcome: string;
  readonly elapsedMs: number;
}

/** Dependencies of a client besides its settings, all optional. */
export interface ServiceDependencies {
  /** Without a limiter, requests are sent at once. */
  readonly limiter?: RequestLimiter;
  readonly now?: () => number;
  /** Returns a number in [0, 1). */
  readonly random?: () => number;
  /** The secrets of the process: those that the client reads or is given are added. */
  readonly secrets?: Secrets;
  /** Waits `delayMs`. Rejects when the signal aborts. */
  readonly sleep?: (delayMs: number, signal: AbortSignal) => Promise<unknown>;
  /** Called before each pause, with the log of the work that the call is for. */
  readonly onRetry?: (retry: Retry, log: Logger | undefined) => void;
  /** Called for each request once it has ended. */
  readonly onSent?: (sent: SentRequest) => void;
  /** Called for each accepted answer with another 2xx than the declared 200. */
  readonly onUndeclaredStatus?: (request: string, status: number, log: Logger | undefined) => void;
}

export interface RequestOptions extends CallOptions {
  /** Called for every answer to the call, whatever its status. */
  readonly onAnswer?: (status: number) => void;
  /** The run whose share of the limits it uses. */
  readonly runId?: string | undefined;
  /** That of the work that it is for. */
  readonly log?: Logger | undefined;
}

/** Reads the value of a call from an accepted answer, whose place is closed behind it. Throws when it holds none. */
export type AnswerReader<T> = (answer: Answer, context: RequestContext) => T;

const unlimited: RequestLimiter = {
  enter: async () => () => undefined,
  pauseAll: async () => undefined,
  noteAnswer: () => undefined,
  noteFailure: async () => false,
};
const neverAborted = new AbortController().signal;

export class RequestLayer {
  readonly #exchange: Exchange;
  readonly #tokens: TokenSource;
  readonly #policy: RequestRetryPolicy;
  readonly #dependencies: ServiceDependencies;
  readonly #limiter: RequestLimiter;
  readonly #secrets: Secrets;
  readonly #now: () => number;
  #lastPageTurn: Promise<void> = Promise.resolve();

  constructor(exchange: Exchange, tokens: TokenSource, policy: RequestRetryPolicy, dependencies: ServiceDependencies) {
    this.#exchange = exchange;
    this.#tokens = tokens;
    this.#policy = policy;
    this.#dependencies = dependencies;
    this.#limiter = dependencies.limiter ?? unlimited;
    this.#secrets = dependencies.secrets ?? new Secrets();
    this.#now = dependencies.now ?? Date.now;
  }

  /** Makes one call. Throws the errors of ProductionDataService. */
  async call<T>(request: ServiceRequest, read: AnswerReader<T>, options: RequestOptions = {}): Promise<T> {
    const { signal = neverAborted } = options;
    // Many calls listen to the signal of one shutdown, each until it ends: not a leak, so Node must not warn.
    setMaxListeners(0, signal);
    const budget: Budget = { elapsedMs: 0, tokenRenewed: false, isServiceDown: false };
    for (let attempt = 1; ; attempt += 1) {
      const elapsedBeforeMs = budget.elapsedMs;
      try {
        return await this.#attemptOnce(request, read, budget, options);
      } catch (error) {
        if (budget.isServiceDown && error instanceof TransientError) {
          // The limiter lets it wait for the service. It is no attempt of this request.
          budget.isServiceDown = false;
          budget.elapsedMs = elapsedBeforeMs;
          attempt -= 1;
          options.onRetry?.(error);
          continue;
        }
        const delayMs = this.#delayBeforeNext(error, attempt, budget);
        if (delayMs === undefined || !(error instanceof TransientError)) throw error;
        const { about } = request;
        this.#dependencies.onRetry?.({ request: labelOf(request), about, attempt, delayMs, error }, options.log);
        options.onRetry?.(error);
        await this.#waitBefore(delayMs, signal);
        budget.elapsedMs += delayMs;
      }
    }
  }

  /** One attempt. The answer is read before its place is closed: its body may lie in it. */
  async #attemptOnce<T>(
    request: ServiceRequest,
    read: AnswerReader<T>,
    budget: Budget,
    options: RequestOptions,
  ): Promise<T> {
    const place = this.#exchange.openPlace();
    try {
      const sent = await this.#sendWithToken(place, request, budget, options);
      if (sent.error !== undefined) throw sent.error;
      const { status } = sent.answer;
      if (status !== 200) this.#dependencies.onUndeclaredStatus?.(sent.context.label, status, options.log);
      if (request.keepsArray === true) await this.#pageTurn();
      return read(sent.answer, sent.context);
    } finally {
      place.close();
    }
  }

  /**
   * Resolves in a turn of the event loop that no other page has: reading one takes milliseconds, and what waits for the
   * engine goes on between two of them.
   */
  #pageTurn(): Promise<void> {
    this.#lastPageTurn = this.#lastPageTurn.then(() => nextTurn());
    return this.#lastPageTurn;
  }

  /** Sends a second request when the token was refused and another is available. */
  async #sendWithToken(
    place: BodyPlace,
    request: ServiceRequest,
    budget: Budget,
    options: RequestOptions,
  ): Promise<Sent> {
    const sent = await this.#sendOnce(place, request, budget, options);
    if (sent.answer.status === 401 && !budget.tokenRenewed && (await this.#tokens.renew(sent.token, options.signal))) {
      budget.tokenRenewed = true;
      return this.#sendOnce(place, request, budget, options);
    }
    return sent;
  }

  /** Sends one request; a second time where its answer had no room, when it is its turn. */
  async #sendOnce(place: BodyPlace, request: ServiceRequest, budget: Budget, options: RequestOptions): Promise<Sent> {
    for (;;) {
      const sent = await this.#sendTo(place, request, budget, options);
      if (sent !== undefined) return sent;
      await place.turn(options.signal ?? neverAborted);
    }
  }

  /**
   * Undefined for an answer without room. The budget includes no wait for the limiter or for room, which the service
   * does not cause.
   */
  async #sendTo(
    place: BodyPlace,
    request: ServiceRequest,
    budget: Budget,
    options: RequestOptions,
  ): Promise<Sent | undefined> {
    const { signal = neverAborted, runId } = options;
    // Before it has a place, where a renewal would keep other requests waiting.
    const known = await this.#tokens.token(signal).then(given, notGiven);
    const knownAtMs = this.#now();
    const release = await this.#limiter.enter(signal, runId);
    const sentAtMs = this.#now();
    // Undefined until it is sent.
    let outcome: string | undefined;
    try {
      const isOld = sentAtMs - knownAtMs > longestOldMs;
      const token = known.error !== undefined && isOld ? await this.#tokens.token(signal) : tokenOf(known);
      const context = {
        label: labelOf(request),
        isRead: request.method === 'GET',
        hasToken: token !== undefined,
        secrets: this.#secrets,
      };
      options.onAttempt?.();
      outcome = 'unknown';
      const deadlineMs = this.#policy.deadlineMs - budget.elapsedMs;
      const authorization = token === undefined ? undefined : `Bearer ${token}`;
      const answer = await this.#exchange.send(request, { authorization, context, deadlineMs, signal, place });
      const error = errorOfAnswer(answer, context, this.#now());
      outcome = String(answer.status);
      options.onAnswer?.(answer.status);
      // Before the place is freed, so that no other request is sent in between.
      if (error instanceof RateLimitedError) await this.#limiter.pauseAll(error.retryAfterMs);
      else if (error instanceof TransientError) throw error;
      else this.#limiter.noteAnswer();
      return { answer, context, token, error };
    } catch (error) {
      if (error instanceof NoRoomError) {
        outcome = 'no-room';
        options.onAnswer?.(200);
        return undefined;
      }
      if (error instanceof WellsyncError && outcome === 'unknown') outcome = error.code;
      if (error instanceof TransientError) budget.isServiceDown = await this.#noteFailure(request, error);
      throw error;
    } finally {
      const elapsedMs = this.#now() - sentAtMs;
      budget.elapsedMs += elapsedMs;
      release();
      if (outcome !== undefined) this.#dependencies.onSent?.({ endpoint: request.endpoint, outcome, elapsedMs });
    }
  }

  #noteFailure(request: ServiceRequest, { message: fault, serviceDown: hasNoConnection }: TransientError) {
    return this.#limiter.noteFailure({ name: nameOf(request), fault, hasNoConnection });
  }

  #delayBeforeNext(error: unknown, attempt: number, { elapsedMs }: Budget): number | undefined {
    const { random = Math.random } = this.#dependencies;
    return nextDelay({ error, attempt, elapsedMs, policy: this.#policy, random: random() });
  }

  async #waitBefore(delayMs: number, signal: AbortSignal): Promise<void> {
    try {
      await (this.#dependencies.sleep?.(delayMs, signal) ?? sleep(delayMs, { signal }));
    } catch (error) {
      throw signal.aborted ? new AbortedError(undefined, { cause: error }) : error;
    }
  }
}

/** Use of a call's limits so far. */
interface Budget {
  elapsedMs: number;
  tokenRenewed: boolean;
  /** Whether the last attempt failed because the service is down for all workers. */
  isServiceDown: boolean;
}

interface Sent {
  readonly answer: Answer;
  readonly context: RequestContext;
  readonly token: string | undefined;
  readonly error: Error | undefined;
}

/** A token, or the reason why there was none. */
interface KnownToken {
  readonly token?: string | undefined;
  readonly error?: TransientError;
}

/** A fault of the token endpoint that is older is no news: the request waited meanwhile. */
const longestOldMs = 1_000;

function given(token: string | undefined): KnownToken {
  return { token };
}

function notGiven(error: unknown): KnownToken {
  if (error instanceof TransientError) return { error };
  throw error;
}

function tokenOf({ token, error }: KnownToken): string | undefined {
  if (error !== undefined) throw error;
  return token;
}

/** The same for a request and its repetitions: two requests to one well are one, and two chunks of pipes are two. */
function nameOf(request: ServiceRequest): string {
  if (request.body === undefined) return labelOf(request);
  return `${labelOf(request)} ${createHash('sha256').update(request.body).digest('base64')}`;
}

/** Method and path. Omits the query, which does not help the operator. */
function labelOf({ method, path }: ServiceRequest): string {
  return `${method} ${path.split('?')[0]}`;
}
