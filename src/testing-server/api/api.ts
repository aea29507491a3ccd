/** The answers of the seven endpoints of docs/interface.md section 4. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TestingState } from '../testing-state.ts';
import { type PipeRefusal, storePipes } from './bulk-pipes.ts';
import { dailyQueryOf, pageOf } from './daily-page.ts';
import type { DeletionTarget } from './received.ts';
import { jsonReply, jsonTextReply, readBody, type Reply, RequestError } from './request-error.ts';
import type { ApiCall } from './routes.ts';

/**
 * Answers a call. `refusal` tells whether the service refuses a pipe. Throws RequestError for every answer other than
 * 200.
 */
export async function answerApi(
  call: ApiCall,
  request: IncomingMessage,
  state: TestingState,
  refusal: PipeRefusal,
): Promise<Reply> {
  const [first = '', second = ''] = call.parameters;
  switch (call.endpoint) {
    case 'daily-production':
      return dailyPage(first, call.query, state);
    case 'time-series':
      return jsonReply(known(state.assets.timeSeries(first), `equipment ${first}`));
    case 'time-series-record':
      return deletion({ kind: 'time-series', ownerId: first, sourceId: second }, state);
    case 'micro-strings':
      return deletion({ kind: 'micro-string', ownerId: first }, state);
    case 'wellbores':
      return deletion({ kind: 'wellbore', ownerId: first }, state);
    case 'well':
      return wellReply(first, state);
    case 'network-pipes':
      return bulk(request, state, refusal);
  }
}

/**
 * Checks the token. Compares digests, so that the time taken shows neither content nor length of the token. Throws
 * RequestError 401.
 */
export function authorise(request: IncomingMessage, requiredToken: string | null): void {
  if (requiredToken === null) return;
  const sent = /^bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (timingSafeEqual(digest(sent), digest(requiredToken))) return;
  throw new RequestError(401, 'a valid bearer token is required', { 'www-authenticate': 'Bearer' });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function dailyPage(uwi: string, parameters: URLSearchParams, { daily, options }: TestingState): Reply {
  const query = dailyQueryOf(parameters);
  const rows = daily.rows(uwi);
  if (rows === undefined && options.unknownWell === 'empty') return jsonTextReply('[]');
  const knownRows = known(rows, `well ${uwi}`);
  return jsonTextReply(knownRows.page(pageOf(knownRows, query, options), options.dateOffset));
}

function deletion(target: DeletionTarget, state: TestingState): Reply {
  const { forbiddenDeletions, idleDeletions } = state.options;
  if (forbiddenDeletions.includes(target.ownerId)) throw new RequestError(403, 'this may not be deleted');
  if (idleDeletions.includes(target.ownerId)) return jsonReply(1);
  const removed = removeTarget(target, state);
  state.received.noteDeletion(target, removed);
  if (removed === 0 && state.options.unknownDelete === 'not-found')
    throw new RequestError(404, 'there is nothing to delete');
  return jsonReply(removed);
}

function removeTarget({ kind, ownerId, sourceId = '' }: DeletionTarget, { assets }: TestingState): number {
  switch (kind) {
    case 'time-series':
      return assets.deleteTimeSeries(ownerId, sourceId);
    case 'micro-string':
      return assets.deleteOfWell(ownerId, 'microStrings');
    case 'wellbore':
      return assets.deleteOfWell(ownerId, 'wellbores');
  }
}

function wellReply(wellId: string, { assets, options }: TestingState): Reply {
  const body = known(assets.wellBody(wellId), `well ${wellId}`);
  if (options.wellAnswers === 'json') return jsonReply(body);
  const lines = Object.entries(body as object).map(([name, value]) => `${name}: ${String(value)}`);
  return { status: 200, contentType: 'text/plain; charset=utf-8', body: lines.join('\n') };
}

async function bulk(
  request: IncomingMessage,
  { options, received }: TestingState,
  refusal: PipeRefusal,
): Promise<Reply> {
  const contentType = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(contentType))
    throw new RequestError(415, 'the body must be application/json');
  const body = await readBody(request, options.maxBodyBytes);
  storePipes(body, received, refusal, options);
  return { status: 200, contentType: 'text/plain', body: '' };
}

function known<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new RequestError(404, `there is no ${name}`);
  return found;
}
