/** Writes an answer to the connection, complete or deliberately broken. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RequestError } from './request-error.ts';

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
