/** Owns the connections: one request out, one whole answer back, or the error that the want of it amounts to. */
import { Pool, type Dispatcher } from 'undici';
import { AbortedError, TransientError } from '../core/errors.ts';
import { errorOfFailure, isSuccess, type Answer, type Asked } from './classification.ts';
import type { BaseAddress, ServiceSettings } from './settings.ts';
import { connectorFor } from './tls-connector.ts';

export interface ServiceRequest {
  readonly method: 'GET' | 'DELETE' | 'POST';
  /** Below the base address, with its query. */
  readonly path: string;
  readonly accept: string;
  readonly body?: string;
  /** Of the body; JSON where it is not given. */
  readonly contentType?: string;
}

export interface Exchange {
  /** Address without secrets. */
  readonly baseUrl: string;
  /**
   * Sends once. Any status is an answer; redirects are not followed. Gives up after `deadlineMs` with a TransientError,
   * and when the signal aborts with AbortedError.
   */
  send(request: ServiceRequest, options: SendOptions): Promise<Answer>;
  close(): Promise<void>;
}

interface SendOptions {
  /** The whole header: scheme and credentials. */
  readonly authorization: string | undefined;
  readonly asked: Asked;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** The longest that a timer of Node can wait. */
const longestTimerMs = 2 ** 31 - 1;

type ConnectionSettings = Pick<ServiceSettings, 'timeoutMs' | 'concurrency' | 'maxBodyBytes' | 'tls'>;

export function createExchange({ origin, prefix }: BaseAddress, settings: ConnectionSettings): Exchange {
  const { timeoutMs, concurrency, maxBodyBytes, tls } = settings;
  const pool = new Pool(origin, {
    connections: concurrency,
    pipelining: 1,
    connect: connectorFor(timeoutMs, tls),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: maxBodyBytes,
  });
  return {
    baseUrl: `${origin}${prefix}`,
    send: async (request, { authorization, asked, deadlineMs, signal }) =>
      within(deadlineMs, signal, asked, async (untilThen) => {
        const { method, path, body } = request;
        const options = {
          method,
          path: `${prefix}${path}`,
          headers: headersOf(request, authorization),
          // As bytes: a long text on its way through undici costs three times as much (docs/decisions/0009-how-chunks-travel.md).
          body: body === undefined ? null : Buffer.from(body),
          signal: untilThen,
        };
        return exchange(pool, options, asked);
      }),
    close: async () => pool.close(),
  };
}

function headersOf(
  { accept, body, contentType = 'application/json' }: ServiceRequest,
  authorization: string | undefined,
): Record<string, string> {
  return {
    accept,
    ...(body === undefined ? {} : { 'content-type': contentType }),
    ...(authorization === undefined ? {} : { authorization }),
  };
}

async function exchange(pool: Pool, options: Dispatcher.RequestOptions, asked: Asked): Promise<Answer> {
  let status: number | undefined;
  try {
    const { statusCode, headers, body } = await pool.request(options);
    status = statusCode;
    const head = { status, contentType: oneOf(headers['content-type']), retryAfter: oneOf(headers['retry-after']) };
    // A refusal stands even where its words were cut short.
    const text = isSuccess(status) ? body.text() : body.text().catch(() => '');
    return { ...head, body: await text };
  } catch (failure) {
    throw errorOfFailure(failure, asked, status !== undefined);
  }
}

/** Runs `work` until the deadline or the caller's signal, and says which of the two ended it. */
async function within<T>(
  deadlineMs: number,
  signal: AbortSignal,
  asked: Asked,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ender = new AbortController();
  const end = (): void => ender.abort();
  const timer = setTimeout(end, Math.min(deadlineMs, longestTimerMs));
  signal.addEventListener('abort', end, { once: true });
  try {
    if (signal.aborted) end();
    return await work(ender.signal);
  } catch (error) {
    if (signal.aborted) throw new AbortedError(undefined, { cause: signal.reason });
    if (!ender.signal.aborted) throw error;
    throw new TransientError(
      'timeout',
      `${asked.label} was not answered in full before the deadline of all its attempts`,
    );
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

function oneOf(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}
