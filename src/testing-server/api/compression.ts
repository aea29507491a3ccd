/** Answers packed with gzip (RFC 9110 section 12.5.3). */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { TestingServerOptions } from '../options.ts';
import type { Reply } from './reply.ts';

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
