/** The seven endpoints (docs/interface.md section 4): which one a request is for, and what the service does and answers. */
import type { ServiceManner, ServiceRequest } from '../evidence.ts';
import type { Assets } from './assets.ts';
import { pageOf } from './pages.ts';
import type { PipeStore } from './pipe-store.ts';
import type { PlainAnswer } from './request-faults.ts';
import type { Truth } from './truth.ts';

/** A request for one of the endpoints. */
export interface Asked {
  readonly endpoint: ServiceRequest['endpoint'];
  readonly target: string;
  readonly sourceId?: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

/** What was done, as the log has it. */
export interface Done extends Pick<ServiceRequest, 'isApplied' | 'removed' | 'pipes' | 'refused'> {
  readonly answer: PlainAnswer;
}

export interface World {
  readonly manner: ServiceManner;
  readonly truth: Truth;
  readonly assets: Assets;
  readonly pipes: PipeStore;
}

const routes: ReadonlyArray<readonly [method: string, path: RegExp, endpoint: Asked['endpoint']]> = [
  ['GET', /^\/api\/production\/daily\/([^/]+)$/, 'daily'],
  ['GET', /^\/api\/production\/netx\/equipment\/([^/]+)\/time-series$/, 'time-series'],
  ['DELETE', /^\/api\/production\/netx\/equipment\/([^/]+)\/time-series\/([^/]+)$/, 'delete-time-series'],
  ['DELETE', /^\/api\/production\/well\/([^/]+)\/micro_string$/, 'delete-micro-string'],
  ['DELETE', /^\/api\/production\/well\/([^/]+)\/wellbore$/, 'delete-wellbore'],
  ['GET', /^\/api\/production\/well\/([^/]+)$/, 'well'],
  ['POST', /^\/api\/production\/network\/pipe$/, 'pipes'],
];

/** Undefined for a request that is for none of them. `url`: path and query as received. */
export function askedOf(method: string, url: string, body: string): Asked | undefined {
  const [path = '', query = ''] = url.split('?', 2);
  for (const [routeMethod, pattern, endpoint] of routes) {
    const match = routeMethod === method ? pattern.exec(path) : null;
    if (match === null) continue;
    const names = match.slice(1).map(decoded);
    if (names.includes(undefined)) return undefined;
    const [target = '', sourceId] = names;
    const more = sourceId === undefined ? {} : { sourceId };
    return { endpoint, target, ...more, query: new URLSearchParams(query), body };
  }
  return undefined;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

const json = (value: unknown, status = 200): PlainAnswer => ({ status, body: JSON.stringify(value) });
const unknown = json({ message: 'there is nothing of that name' }, 404);

/** Does what is asked, at once and whole. */
export function work(asked: Asked, world: World): Done {
  const { endpoint, target, query, body } = asked;
  switch (endpoint) {
    case 'daily': {
      if (!world.truth.has(target)) return { answer: unknown };
      const page = pageOf(world.truth.rowsOf(target), query, world.manner);
      return { answer: page === undefined ? json({ message: 'a bad page, limit or date' }, 400) : json(page) };
    }
    case 'time-series':
      return { answer: found(world.assets.timeSeries.get(target)) };
    case 'well':
      return { answer: found(world.assets.wells.get(target)) };
    case 'pipes': {
      const { status, pipes, refused } = world.pipes.take(body);
      if (pipes !== undefined) return { answer: json({ stored: pipes.length }), isApplied: true, pipes };
      const answer = json({ message: status === 413 ? 'too many pipes' : 'a pipe is refused' }, status);
      return { answer, isApplied: false, ...(refused === undefined ? {} : { refused }) };
    }
    case 'delete-time-series':
      return removed(deleteSeries(world.assets, target, asked.sourceId), world.manner);
    case 'delete-micro-string':
      return removed(deleteCount(world.assets.microStrings, target), world.manner);
    case 'delete-wellbore':
      return removed(deleteCount(world.assets.wellbores, target), world.manner);
  }
}

function found(value: unknown): PlainAnswer {
  return value === undefined ? unknown : json(value);
}

/** Undefined for an unknown owner, whose deletion is answered 404 in every manner. */
function removed(count: number | undefined, { goneAnswer }: ServiceManner): Done {
  const isUnknown = count === undefined || (count === 0 && goneAnswer === 'not-found');
  return { answer: isUnknown ? unknown : json(count), isApplied: (count ?? 0) > 0, removed: count ?? 0 };
}

function deleteSeries({ timeSeries }: Assets, equipment: string, sourceId = ''): number | undefined {
  const before = timeSeries.get(equipment);
  if (before === undefined) return undefined;
  const after = before.filter((series) => series['sourceId'] !== sourceId);
  timeSeries.set(equipment, after);
  return before.length - after.length;
}

function deleteCount(counts: Map<string, number>, well: string): number | undefined {
  const count = counts.get(well);
  if (count !== undefined) counts.set(well, 0);
  return count;
}
