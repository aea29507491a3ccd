/** One HTTP exchange: sends a request and returns one whole answer, or throws the error that its failure means. */
import { EventEmitter } from 'node:events';
import { Pool, type Dispatcher } from 'undici';
import { AbortedError, TransientError } from '../core/base/errors.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { durationText } from '../core/base/text.ts';
import { after } from '../timers/sleep.ts';
import { readReceipt, readRefusal, readWholeBody, textBody, type BodyRoom, type WholeBody } from './answer-body.ts';
import { BodyBudget, type BodyPlace } from './body-budget.ts';
import { isSuccess, type Answer, type RequestContext } from './classification.ts';
import { errorOfFailure, noConnection } from './failure.ts';
import type { BaseAddress, ServiceSettings } from './settings.ts';
import { connectorFor } from './tls-connector.ts';

export interface ServiceRequest {
  readonly method: 'GET' | 'DELETE' | 'POST';
  /** Name of the endpoint in metrics: it holds no identifier. */
  readonly endpoint: string;
  /** Path below the base address, with its query. */
  readonly path: string;
  readonly accept: string;
  /** What it asks about, for the log: `well` or `equipment`. */
  readonly about?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Content type of the body; JSON by default. */
  readonly contentType?: string;
  /** A body that is an array may be kept as bytes (answer-body.ts): it is read before its place is closed. */
  readonly keepsArray?: boolean;
}

export interface Exchange {
  /** Base address without secrets. */
  readonly baseUrl: string;
  /**
   * Sends one request. Any status is an answer; redirects are not followed. Throws TransientError for a failed
   * connection, and when the last byte has not come after `timeoutMs` of the settings or after `deadlineMs`, whichever
   * is sooner; AbortedError when the signal aborts; NoRoomError for a read to be sent again when it is its turn.
   */
  send(request: ServiceRequest, options: SendOptions): Promise<Answer>;
  /** A place for the body of one answer, among all of this exchange. */
  openPlace(): BodyPlace;
  close(): Promise<void>;
}

interface SendOptions {
  /** Value of the authorization header: scheme and credentials. */
  readonly authorization: string | undefined;
  readonly context: RequestContext;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** Where the body of the answer takes its room. */
  readonly place: BodyPlace;
}

type ConnectionSettings = Pick<ServiceSettings, 'timeoutMs' | 'concurrency' | 'maxBodyBytes' | 'tls'>;

/** `secrets` takes what is read from the files of the TLS settings. */
export function createExchange(
  { origin, prefix }: BaseAddress,
  settings: ConnectionSettings,
  secrets: Secrets,
): Exchange {
  const { timeoutMs, concurrency, maxBodyBytes, tls } = settings;
  const bodies = new BodyBudget(maxBodyBytes);
  const { blockBytes } = bodies;
  const pool = new Pool(origin, {
    connections: concurrency,
    pipelining: 1,
    connect: connectorFor(timeoutMs, tls, secrets),
    // One timer bounds the whole request (timed): these two would begin anew with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    baseUrl: `${origin}${prefix}`,
    openPlace: () => bodies.open(),
    send: async (request, { authorization, context, deadlineMs, signal, place }) => {
      const { method, path, body, keepsArray = false } = request;
      const options = {
        method,
        path: `${prefix}${path}`,
        headers: headersOf(request, authorization),
        // As bytes: undici needs three times as long for a long text (docs/decisions/0008-how-chunks-travel.md).
        body: body === undefined ? null : Buffer.from(body),
        // A body never rests (body-budget.ts): packed bytes that come faster than they are unpacked wait here, outside the
        // budget of bodies, up to this length.
        highWaterMark: maxBodyBytes,
      };
      const room = { place, maxBytes: maxBodyBytes, blockBytes };
      const limit = deadlineMs < timeoutMs ? lastOfAll(deadlineMs) : ofThis(timeoutMs);
      const isConnected = (): boolean => pool.stats.connected > 0;
      return timed({ limit, signal, context, isConnected }, async (ended) =>
        exchange(pool, { ...options, signal: ended }, context, { ...room, keepsArray }),
      );
    },
    close: async () => pool.close(),
  };
}

function headersOf(
  { method, accept, body, contentType = 'application/json' }: ServiceRequest,
  authorization: string | undefined,
): Record<string, string> {
  return {
    accept,
    // Beside gzip, other codings save few bytes and cost more to unpack (docs/design.md section 6).
    ...(method === 'GET' ? { 'accept-encoding': 'gzip' } : {}),
    ...(body === undefined ? {} : { 'content-type': contentType }),
    ...(authorization === undefined ? {} : { authorization }),
  };
}

async function exchange(
  pool: Pool,
  options: Dispatcher.RequestOptions,
  context: RequestContext,
  { keepsArray, ...room }: BodyRoom & { readonly keepsArray: boolean },
): Promise<Answer> {
  let isAnswering = false;
  try {
    const { statusCode: status, headers, body: chunks } = await pool.request(options);
    isAnswering = true;
    const received = {
      chunks,
      length: lengthOf(headers['content-length']),
      encoding: oneOf(headers['content-encoding']),
      label: context.label,
    };
    const body = await bodyOf(status, received, context, { ...room, keepsArray });
    return {
      status,
      contentType: oneOf(headers['content-type']),
      contentRange: oneOf(headers['content-range']),
      retryAfter: oneOf(headers['retry-after']),
      body,
    };
  } catch (failure) {
    throw errorOfFailure(failure, context, isAnswering);
  }
}

async function bodyOf(
  status: number,
  received: Parameters<typeof readWholeBody>[0],
  { isRead }: RequestContext,
  { keepsArray, ...room }: BodyRoom & { readonly keepsArray: boolean },
): Promise<WholeBody> {
  if (!isSuccess(status)) return textBody(await readRefusal(received));
  return isRead ? readWholeBody(received, room, keepsArray) : readReceipt(received, room.maxBytes);
}

interface TimeLimit {
  readonly ms: number;
  /** The end of the message: `was not answered in full …`. */
  readonly words: () => string;
}

function ofThis(ms: number): TimeLimit {
  return { ms, words: () => `within ${durationText(ms)}` };
}

function lastOfAll(ms: number): TimeLimit {
  return { ms, words: () => 'before the deadline of all its attempts' };
}

/** Ends a request as an AbortSignal does, for a seventh of what one costs. */
class Ender extends EventEmitter {
  aborted = false;

  abort(): void {
    this.aborted = true;
    this.emit('abort');
  }
}

interface TimedWork {
  readonly limit: TimeLimit;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
  readonly isConnected: () => boolean;
}

/**
 * Runs `work` until the time limit or the caller's signal. Throws TransientError for the limit,
 * AbortedError for the signal.
 */
async function timed<T>(
  { limit, signal, context, isConnected }: TimedWork,
  work: (ender: Ender) => Promise<T>,
): Promise<T> {
  const ender = new Ender();
  const end = (): void => ender.abort();
  let wasConnected = true;
  const expire = (): void => {
    // Before the abort, which closes the connection.
    wasConnected = isConnected();
    end();
  };
  const timer = after(limit.ms, expire);
  signal.addEventListener('abort', end, { once: true });
  try {
    if (signal.aborted) end();
    return await work(ender);
  } catch (error) {
    if (signal.aborted) throw new AbortedError(undefined, { cause: signal.reason });
    if (!ender.aborted) throw error;
    if (!wasConnected) throw noConnection(context);
    throw new TransientError('timeout', `${context.label} was not answered in full ${limit.words()}`);
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', end);
  }
}

function lengthOf(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' ? Number(header) : undefined;
}

function oneOf(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}
