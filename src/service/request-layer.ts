/**
 * The layers of a request: each wraps a `Send` and is one itself. How they stand is drawn in create-service.ts. That of retry
 * is the first of the two layers of retry (docs/design.md section 5). POST and DELETE are retried too: repeating them is
 * harmless by G1 and G5.
 */
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import { AbortedError, PermanentError, RateLimitedError, TransientError, WellsyncError } from '../core/base/errors.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { nextDelay, type RequestRetryPolicy } from '../core/run/retry-decision.ts';
import { sleep } from '../timers/sleep.ts';
import { turns } from '../timers/turns.ts';
import { type Answer, errorOfAnswer, notJson, type RequestContext, wrongShape } from './classification.ts';
import { type BodyRoom, NoRoomError } from './answer-body.ts';
import type { Exchange, ServiceRequest } from './http-exchange.ts';
import type { CallOptions, RequestLimiter } from './production-data-service.ts';
import type { TokenSource } from './token-source.ts';
import { counted, parsedJson } from '../core/base/text.ts';
import { deletionAnswerSchema, recordsSchemaOf } from './contract.ts';
import type { KnownList, RecordOf } from '../core/definitions/record-list.ts';
import type { WellBody } from '../core/definitions/well-body.ts';
import { mostRecordsIn, type PageBounds, recordPage, type RecordPage } from './record-page.ts';

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

/** Reads the value of a call from an accepted answer, whose room is closed behind it. Throws when it holds none. */
export type AnswerReader<T> = (answer: Answer, context: RequestContext) => T;

/** A request that was answered: what the answer means is beside it. */
export interface Sent {
  readonly answer: Answer;
  readonly context: RequestContext;
  readonly token: string | undefined;
  /** Set for an answer that is not accepted. */
  readonly error?: WellsyncError | undefined;
}

/** What the layers of one call share. */
export interface Call {
  readonly options: RequestOptions;
  readonly signal: AbortSignal;
  /** That of the body of its answer: it is empty between two attempts. */
  readonly room: BodyRoom;
  /** The token for the request that is sent now, undefined for none. Throws what kept the token away. */
  bearer: () => Promise<string | undefined>;
  hasRenewed: boolean;
  /** Use of its deadline. It includes no wait for the limiter or for room, which the service does not cause. */
  elapsedMs: number;
  /** Whether the last request failed because the service is down for all workers. */
  isServiceDown: boolean;
  /** Status of the answer to the last request, or the code of the error in its place; undefined until it is sent. */
  outcome: string | undefined;
}

/** Sends a request. Throws the error of a request without an answer. */
export type Send<T = Sent> = (request: ServiceRequest, call: Call) => Promise<T>;

const neverAborted = new AbortController().signal;

export function newCall(options: RequestOptions, room: BodyRoom): Call {
  const { signal = neverAborted } = options;
  // Many calls listen to the signal of one shutdown, each until it ends: not a leak, so Node must not warn.
  setMaxListeners(0, signal);
  const bearer = async () => undefined;
  return { options, signal, room, bearer, hasRenewed: false, elapsedMs: 0, isServiceDown: false, outcome: undefined };
}

/** Sends again what failed in a way that may pass, until its attempts or its deadline are spent. */
export function retried<T>(
  send: Send<T>,
  policy: RequestRetryPolicy,
  { random = Math.random, onRetry, sleep: pause }: ServiceDependencies,
): Send<T> {
  return async (request, call) => {
    const { options, signal } = call;
    for (let attempt = 1; ; attempt += 1) {
      const elapsedBeforeMs = call.elapsedMs;
      try {
        return await send(request, call);
      } catch (error) {
        if (call.isServiceDown && error instanceof TransientError) {
          // The limiter lets it wait for the service. It is no attempt of this request.
          call.isServiceDown = false;
          call.elapsedMs = elapsedBeforeMs;
          attempt -= 1;
          options.onRetry?.(error);
          continue;
        }
        const delayMs = nextDelay({ error, attempt, elapsedMs: call.elapsedMs, policy, random: random() });
        if (delayMs === undefined || !(error instanceof TransientError)) throw error;
        onRetry?.({ request: labelOf(request), about: request.about, attempt, delayMs, error }, options.log);
        options.onRetry?.(error);
        await (pause?.(delayMs, signal) ?? sleep(delayMs, { signal })).catch((cause: unknown) => {
          throw signal.aborted ? new AbortedError(undefined, { cause }) : cause;
        });
        call.elapsedMs += delayMs;
      }
    }
  };
}

/** Reads values from answers: throws the error of one that is not accepted. Each is read before its room is closed. */
export function reading(
  send: Send,
  { onUndeclaredStatus }: ServiceDependencies,
): <T>(read: AnswerReader<T>) => Send<T> {
  return (read) => async (request, call) => {
    try {
      const { answer, context, error } = await send(request, call);
      if (error !== undefined) throw error;
      if (answer.status !== 200) onUndeclaredStatus?.(context.label, answer.status, call.options.log);
      if (request.keepsArray === true) await turns.page();
      return read(answer, context);
    } finally {
      call.room.close();
    }
  };
}

/** Sends a request again whose answer had no room, when it is its turn. */
export function inRoom(send: Send): Send {
  return async (request, call) => {
    for (;;) {
      try {
        return await send(request, call);
      } catch (error) {
        if (!(error instanceof NoRoomError)) throw error;
        await call.room.turn(call.signal);
      }
    }
  };
}

/** A fault of the token endpoint that is older is no news: the request waited meanwhile. */
const longestOldMs = 1_000;

/** Gives requests their token. Sends a second request, once a call, when it was refused and another is available. */
export function withToken(send: Send, tokens: TokenSource, now: () => number): Send {
  const sendOnce: Send = async (request, call) => {
    // Before it has a place among the limits, where a renewal would keep other requests waiting.
    const known = await tokens.token(call.signal).then(
      (token) => ({ token, fault: undefined }),
      (fault: unknown) => {
        if (fault instanceof TransientError) return { token: undefined, fault };
        throw fault;
      },
    );
    const knownAtMs = now();
    call.bearer = async () => {
      if (known.fault === undefined) return known.token;
      if (now() - knownAtMs > longestOldMs) return tokens.token(call.signal);
      throw known.fault;
    };
    return send(request, call);
  };
  return async (request, call) => {
    const sent = await sendOnce(request, call);
    const isRefused = sent.answer.status === 401 && !call.hasRenewed;
    if (!isRefused || !(await tokens.renew(sent.token, call.options.signal))) return sent;
    call.hasRenewed = true;
    return sendOnce(request, call);
  };
}

/** Sends a request when the limiter lets it, and tells it what came of that before another takes the place. */
export function limited(send: Send, now: () => number, { limiter, onSent }: ServiceDependencies): Send {
  return async (request, call) => {
    const release = await limiter?.enter(call.signal, call.options.runId);
    const sentAtMs = now();
    call.outcome = undefined;
    try {
      const sent = await send(request, call);
      if (sent.error instanceof RateLimitedError) await limiter?.pauseAll(sent.error.retryAfterMs);
      else if (sent.error instanceof TransientError) throw sent.error;
      else limiter?.recordAnswer();
      return sent;
    } catch (error) {
      if (error instanceof TransientError && limiter !== undefined) {
        const { message: fault, serviceDown: hasNoConnection } = error;
        call.isServiceDown = await limiter.recordFailure({ name: nameOf(request), fault, hasNoConnection });
      }
      throw error;
    } finally {
      const elapsedMs = now() - sentAtMs;
      call.elapsedMs += elapsedMs;
      release?.();
      if (call.outcome !== undefined) onSent?.({ endpoint: request.endpoint, outcome: call.outcome, elapsedMs });
    }
  };
}

/** Puts beside an answer what it means (classification.ts), and notes the outcome. */
export function classified(send: Send, now: () => number): Send {
  return async (request, call) => {
    const { onAnswer } = call.options;
    try {
      const sent = await send(request, call);
      const error = errorOfAnswer(sent.answer, sent.context, now());
      call.outcome = String(sent.answer.status);
      onAnswer?.(sent.answer.status);
      return { ...sent, error };
    } catch (error) {
      if (error instanceof NoRoomError) {
        call.outcome = 'no-room';
        onAnswer?.(200);
      } else if (error instanceof WellsyncError && call.outcome === 'unknown') call.outcome = error.code;
      throw error;
    }
  };
}

/** Sends one request over HTTP, with the token of the call. */
export function exchanged(exchange: Exchange, secrets: Secrets, deadlineMs: number): Send {
  return async (request, call) => {
    const { options, signal, room } = call;
    const token = await call.bearer();
    const authorization = token === undefined ? undefined : `Bearer ${token}`;
    const isRead = request.method === 'GET';
    const context = { label: labelOf(request), isRead, hasToken: token !== undefined, secrets };
    options.onAttempt?.();
    call.outcome = 'unknown';
    const leftMs = deadlineMs - call.elapsedMs;
    const answer = await exchange.send(request, { authorization, context, deadlineMs: leftMs, signal, room });
    return { answer, context, token };
  };
}

/** The same for a request and its repetitions: two requests to one well are one, and two chunks of pipes are two. */
function nameOf(request: ServiceRequest): string {
  if (request.body === undefined) return labelOf(request);
  return `${labelOf(request)} ${createHash('sha256').update(request.body).digest('base64')}`;
}

/** Method and path. Omits the query, which does not help the operator. */
export function labelOf({ method, path }: Pick<ServiceRequest, 'method' | 'path'>): string {
  return `${method} ${path.split('?')[0]}`;
}

const readJson: AnswerReader<unknown> = (answer, context) => {
  const value = parsedJson(answer.body.text());
  if (value === undefined) throw notJson(answer, context);
  return value;
};

/** None for 204, which says that there is nothing to send. */
const readArray: AnswerReader<readonly unknown[]> = (answer, context) => {
  if (answer.status === 204) return [];
  const value = readJson(answer, context);
  if (Array.isArray(value)) return value;
  throw wrongShape(answer, context, 'an array');
};

/** A page that was received. It is read while `take` of {@link pageReader} runs, and not after it. */
export interface ReceivedPage {
  /** JSON text in ASCII that begins an array; undefined for a body that was not kept as bytes. */
  readonly bytes: Buffer | undefined;
  /** Records that a page of these bytes may have. */
  readonly mostRecords: number;
  /**
   * The records, neither checked nor changed. Throws PermanentError `too-many-records` for a page of far more records than
   * were asked for, which are too short to be records, or of more than `mostRecords`.
   */
  parsed(): RecordPage;
}

/** docs/interface.md section 4.1. The value of the call is what `take` makes of the page. */
export function pageReader<T>(bounds: PageBounds, take: (page: ReceivedPage) => T): AnswerReader<T> {
  return (answer, context) => {
    const bytes = answer.status === 204 ? undefined : answer.body.bytes;
    const mostRecords = mostRecordsIn(bytes?.length ?? 0, bounds);
    return take({ bytes, mostRecords, parsed: () => parsedPage(answer, context, bounds) });
  };
}

function parsedPage(answer: Answer, context: RequestContext, bounds: PageBounds): RecordPage {
  if (answer.status === 204) return emptyPage;
  const page = recordPage(answer.body.text(), bounds);
  switch (page) {
    case 'broken':
      throw notJson(answer, context);
    case 'no-array':
      throw wrongShape(answer, context, 'an array');
    case 'too-many':
      throw new PermanentError('too-many-records', `${context.label} was answered with more records than are taken`, {
        hint: 'Lower service.pageLimit, or raise worker.memoryMb.',
      });
    default:
      return page;
  }
}

const emptyPage: RecordPage = {
  length: 0,
  records: [],
  textOf: () => ({ whole: () => 'null', digest: () => '', member: () => 'null' }),
};

/**
 * Throws PermanentError with the position of a record that breaks the contract: another request would return the same
 * record.
 */
export function recordsReader<List extends KnownList>(list: List): AnswerReader<ReadonlyArray<RecordOf<List>>> {
  const schema = recordsSchemaOf(list);
  return (answer, context) => {
    const { data, error } = schema.safeParse(readArray(answer, context));
    if (error === undefined) return data;
    const faults = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new PermanentError(
      'broken-record',
      `${context.label} answered with records that break the contract: ${faults[0]}`,
      { hint: `${counted(faults.length, 'fault')} in all. They have to be fixed at the service.` },
    );
  };
}

/** docs/interface.md sections 4.3 to 4.5. Null for another 2xx without a body. */
export const readDeletion: AnswerReader<number | null> = (answer, context) => {
  if (answer.status !== 200 && answer.body.text().trim() === '') return null;
  const { data, error } = deletionAnswerSchema.safeParse(readJson(answer, context));
  if (error === undefined) return data;
  throw wrongShape(answer, context, 'a whole number of 32 bits');
};

/**
 * docs/interface.md section 4.6. The form of the body is not documented. Throws PermanentError `no-content` for an answer
 * without one, whatever its status, so that a stored body stays (G4), and `broken-text` for bytes that are not UTF-8,
 * which no warehouse can store.
 */
export const readWell: AnswerReader<WellBody> = (answer, { label }) => {
  const { status, contentType } = answer;
  const body = answer.body.text();
  if (body.trim() === '') {
    throw new PermanentError('no-content', `${label} answered ${status} without a body`, {
      status,
      hint: 'The service has to say why it has nothing of this well. What is stored of it stays.',
    });
  }
  if (body.isWellFormed()) return { contentType, body };
  throw new PermanentError('broken-text', `${label} answered with text that is not UTF-8`, {
    hint: 'It has to be fixed at the service.',
  });
};

/** docs/interface.md section 4.7. The body is not documented. */
export const readNothing: AnswerReader<void> = () => undefined;
