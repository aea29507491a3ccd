/** One HTTP exchange: sends a request and returns one whole answer, or throws the error that its failure means. */
import { EventEmitter } from 'node:events';
import { createSecureContext, rootCertificates } from 'node:tls';
import { buildConnector, type Dispatcher, errors, Pool } from 'undici';
import { codeOf } from '../core/base/file-fault.ts';
import { AbortedError, AccessError, TransientError, WellsyncError } from '../core/base/errors.ts';
import { Secrets } from '../core/base/secrets.ts';
import { durationText } from '../core/base/text.ts';
import { after } from '../timers/sleep.ts';
import {
  type BodyBounds,
  BodyBudget,
  type BodyRoom,
  readReceipt,
  readRefusal,
  readWholeBody,
  textBody,
  type WholeBody,
} from './answer-body.ts';
import { type Answer, isSuccess, type RequestContext } from './classification.ts';
import { type BaseAddress, readAccessFile, readSecret, type ServiceSettings, type TlsSettings } from './settings.ts';

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
  /** A body that is an array may be kept as bytes (answer-body.ts): it is read before its room is closed. */
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
  /** Room for the body of one answer, among all of this exchange. */
  openRoom(): BodyRoom;
  close(): Promise<void>;
}

interface SendOptions {
  /** Value of the authorization header: scheme and credentials. */
  readonly authorization: string | undefined;
  readonly context: RequestContext;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** For the body of the answer. */
  readonly room: BodyRoom;
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
    // The bundled client has none (scripts/setup/bundle.mjs).
    allowH2: false,
    // One timer bounds the whole request (timed): these two would begin anew with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    baseUrl: `${origin}${prefix}`,
    openRoom: () => bodies.open(),
    send: async (request, { authorization, context, deadlineMs, signal, room }) => {
      const { method, path, body, keepsArray = false } = request;
      const options = {
        method,
        path: `${prefix}${path}`,
        headers: headersOf(request, authorization),
        // As bytes: undici needs three times as long for a long text (docs/decisions/0008-how-chunks-travel.md).
        body: body === undefined ? null : Buffer.from(body),
        // A body never rests (answer-body.ts): packed bytes that come faster than they are unpacked wait here, outside the
        // budget of bodies, up to this length.
        highWaterMark: maxBodyBytes,
      };
      const bounds = { room, maxBytes: maxBodyBytes, blockBytes };
      const limit = limitOf(timeoutMs, deadlineMs);
      const isConnected = (): boolean => pool.stats.connected > 0;
      return timed({ limit, signal, context, isConnected }, async (ended) =>
        exchange(pool, { ...options, signal: ended }, context, { ...bounds, keepsArray }),
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
  { keepsArray, ...bounds }: BodyBounds & { readonly keepsArray: boolean },
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
    const body = await bodyOf(status, received, context, { ...bounds, keepsArray });
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
  { keepsArray, ...bounds }: BodyBounds & { readonly keepsArray: boolean },
): Promise<WholeBody> {
  if (!isSuccess(status)) return textBody(await readRefusal(received));
  return isRead ? readWholeBody(received, bounds, keepsArray) : readReceipt(received, bounds.maxBytes);
}

interface TimeLimit {
  readonly ms: number;
  /** The end of the message: `was not answered in full …`. */
  readonly within: string;
}

function limitOf(timeoutMs: number, deadlineMs: number): TimeLimit {
  if (deadlineMs < timeoutMs) return { ms: deadlineMs, within: 'before the deadline of all its attempts' };
  return { ms: timeoutMs, within: `within ${durationText(timeoutMs)}` };
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
    throw new TransientError('timeout', `${context.label} was not answered in full ${limit.within}`);
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

// The meaning of a request without an answer (docs/design.md section 6): no connection is TransientError with
// serviceDown; a reset, a time-out, a cut body and an answer that is no HTTP are TransientError; TLS that cannot be
// trusted is AccessError.

/** Codes of Node and undici when no connection to the service was made. */
const silence: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const brokenConnections: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);

/** Faults of certificates, and a port that does not speak TLS. They recur at every request. */
const tlsFault = /^(?:CERT_|ERR_TLS_|ERR_SSL_|EPROTO$|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Codes of a wrong call to Node or undici: faults of the program, unlike all that comes over the wire. */
const wrongCall =
  /^(?:ERR_(?:INVALID|ASSERTION|MISSING|OUT_OF_RANGE)|UND_ERR_(?:INVALID|CLOSED|DESTROYED|NOT_SUPPORTED|REQ_))/;

type Meaning = readonly [name: string, what: string];
const noHttp: Meaning = ['not-http', 'was not answered in HTTP'];
const cutShort: Meaning = ['truncated', 'was answered with a body cut short'];

/**
 * The error for a failed exchange. `isAnswering`: whether the head of an answer had come. Returns a failure unchanged
 * that has its error already, or that is a fault of the program: that is a bug, and never retried.
 */
function errorOfFailure(failure: unknown, context: RequestContext, isAnswering: boolean): unknown {
  if (failure instanceof WellsyncError) return failure;
  if (failure instanceof errors.HTTPParserError) {
    // A chunked body that ends too soon; undici tells it by its message alone.
    const [name, what] = /\bEOF\b/.test(failure.message) ? cutShort : noHttp;
    return transient(name, context, what, failure);
  }
  const code = codeOf(failure);
  if (code === '' || wrongCall.test(code)) return failure;
  if (silence.has(code)) return noConnection(context, failure);
  if (tlsFault.test(code)) {
    return new AccessError('tls', `${context.label} could not be sent safely (${code})`, {
      cause: failure,
      hint: 'Check the certificate of the service, and that its address begins with the right one of http and https.',
    });
  }
  const [name, what] = meaningOf(code, isAnswering);
  return transient(name, context, what, failure);
}

/** Nobody answered at the address. */
function noConnection(context: RequestContext, cause?: unknown): TransientError {
  return new TransientError('no-connection', `${context.label} reached nobody${shown(cause)}`, {
    cause,
    hint: 'Check its address, and that it is up.',
    serviceDown: true,
  });
}

function meaningOf(code: string, isAnswering: boolean): Meaning {
  if (code === 'ETIMEDOUT') return ['timeout', 'was not answered in time'];
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return noHttp;
  if (isAnswering && brokenConnections.has(code)) return cutShort;
  return ['connection-lost', 'lost its connection'];
}

function transient(name: string, context: RequestContext, what: string, cause: unknown): TransientError {
  return new TransientError(name, `${context.label} ${what}${shown(cause)}`, { cause });
}

/** The code of Node for a failure, which an operator can look up; those of undici say no more than the sentence. */
function shown(failure: unknown): string {
  const code = codeOf(failure);
  return code === '' || code.startsWith('UND_ERR_') ? '' : ` (${code})`;
}

// TLS connections with private authorities and a client certificate, read from their files when first needed.

/**
 * The `connect` option of undici. An unusable file fails the request with AccessError, and is read again at the next
 * request.
 */
function connectorFor(
  timeoutMs: number,
  tls: TlsSettings | undefined,
  secrets: Secrets,
): buildConnector.BuildOptions | buildConnector.connector {
  if (tls === undefined) return { timeout: timeoutMs };
  let made: Promise<buildConnector.connector> | undefined;
  return (options, settle) => {
    made ??= readTls(tls, secrets).then((secure) => buildConnector({ timeout: timeoutMs, allowH2: false, ...secure }));
    made.then(
      (connect) => connect(options, settle),
      (error: Error) => {
        made = undefined;
        settle(error, null);
      },
    );
  };
}

/** Reads the files; a passphrase is added to `secrets`. Throws AccessError for a file that cannot be read or used. */
export async function readTls(
  { caFile, certFile, keyFile = certFile, passphrase }: TlsSettings,
  secrets = new Secrets(),
) {
  const secure = {
    ...(caFile === undefined
      ? {}
      : { ca: [...rootCertificates, await readAccessFile(caFile, 'the certificate authority')] }),
    ...(certFile === undefined ? {} : { cert: await readAccessFile(certFile, 'the client certificate') }),
    ...(keyFile === undefined ? {} : { key: await readAccessFile(keyFile, 'the key of the client certificate') }),
    ...(passphrase === undefined ? {} : { passphrase: await readSecret(passphrase, 'the passphrase', secrets) }),
  };
  // Node silently ignores a file without a certificate.
  if (caFile !== undefined && !secure.ca?.at(-1)?.includes('-----BEGIN CERTIFICATE-----')) {
    throw new AccessError('access-file', `${caFile} (service.tls.caFile) holds no certificate`, {
      hint: 'It must be PEM.',
    });
  }
  try {
    createSecureContext(secure);
    return secure;
  } catch (error) {
    const code = codeOf(error) || 'unreadable';
    const files = [caFile, certFile, keyFile].filter((file) => file !== undefined);
    throw new AccessError('access-file', `no connection can be made with ${[...new Set(files)].join(', ')}: ${code}`, {
      hint: 'The files must be PEM, the key must be that of the certificate, and its passphrase the right one.',
    });
  }
}
