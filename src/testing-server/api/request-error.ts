import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { TestingServerOptions } from '../options.ts';

export class RequestError extends Error {
  override readonly name: string = 'RequestError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Writes an answer to the connection, complete or deliberately broken. */
export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function jsonReply(value: unknown, status = 200): Reply {
  return jsonTextReply(JSON.stringify(value), status);
}

/** A reply whose body is JSON text already. */
export function jsonTextReply(body: Buffer | string, status = 200): Reply {
  return { status, contentType: 'application/json', body };
}

export function errorReply({ status, message, headers }: RequestError): Reply {
  return { ...jsonReply({ error: message }, status), headers };
}

export function sendReply(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, headersOf(reply));
  response.end(reply.body);
}

/** Sends half of the body that content-length announces, then closes the connection. */
export function sendTruncated(response: ServerResponse, reply: Reply): void {
  const body = Buffer.from(reply.body);
  response.writeHead(reply.status, { ...headersOf(reply), 'content-length': Math.max(1, body.length) });
  response.flushHeaders();
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}

function headersOf(reply: Reply): Record<string, string | number> {
  return { 'content-type': reply.contentType, 'content-length': Buffer.byteLength(reply.body), ...reply.headers };
}

/** Ends the connection with a TCP reset: the peer sees ECONNRESET. */
export function resetConnection(request: IncomingMessage): void {
  request.socket.resetAndDestroy();
}

/**
 * The whole body as text. Throws RequestError 413 above `maxBytes`, after reading the body to its end so that the peer
 * can receive the answer.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  if (bytes > maxBytes) throw new RequestError(413, `the body has ${bytes} bytes; at most ${maxBytes} are taken`);
  return Buffer.concat(chunks).toString('utf8');
}

/** Answers packed with gzip (RFC 9110 section 12.5.3). */
const pack = promisify(gzip);

/** The reply as it is sent to this request: with its body packed at the quickest level, or as it is. */
export async function compressed(
  reply: Reply,
  request: IncomingMessage,
  { compression }: TestingServerOptions,
): Promise<Reply> {
  if (compression === 'none') return reply;
  const headers = { ...reply.headers, vary: 'accept-encoding' };
  if (compression === 'accepted' && !acceptsGzip(request.headers['accept-encoding'])) return { ...reply, headers };
  const body = await pack(reply.body, { level: constants.Z_BEST_SPEED });
  return { ...reply, body, headers: { ...headers, 'content-encoding': 'gzip' } };
}

/** An absent header accepts none here: such a client may not know how to unpack. */
function acceptsGzip(header: string | string[] = ''): boolean {
  const weights = new Map(String(header).split(',').map(weightOf));
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

/** Name and weight of one coding, `br;q=0.5` say. */
function weightOf(coding: string): readonly [string, number] {
  const [name = '', weight = 'q=1'] = coding.toLowerCase().split(';');
  return [name.trim(), Number(weight.trim().slice('q='.length))];
}
