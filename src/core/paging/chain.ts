/**
 * Reading by overlapping pages, so that no row is lost between two pages: each page begins with the last rows of the
 * page before. `page` and `limit` request the rows from `page * limit` on, so another limit moves the start of a page:
 *
 *   limit 1000, page 0   [0 ............ 999]
 *   limit  999, page 1                  [999 ............ 1997]
 *   limit  998, page 2                                  [1996 ............ 2993]
 *
 * A page is one answer, hence a view of one moment. Two pages that share a row leave no gap between them in which a row
 * could be missed, whatever was inserted, removed or moved between the two requests: a row that the service held
 * throughout, in the same place among the others, is on one of the two. The last page proves the end in the same way:
 * it begins with the last known row, is shorter than requested, and has no new row.
 */
import { keysOf, type PageAnswer, type Paging, type RowKey } from './page.ts';

/** The rows read without a gap from the first row on. */
export interface Reach {
  /** Keys of the last rows, enough to find the start of the next page among them. */
  readonly tail: readonly RowKey[];
  /** Position after the last row, counted from 0. */
  readonly endsAt: number;
  /** Keys of all rows. Grows with every page that is joined. */
  readonly seen: Set<RowKey>;
}

/** Rows of overlap to request, in turn, when a page does not join. */
const stepsBack = [1, 8, 64, 512] as const;
/** Pages per read that may fail to join or have no new row. */
const mostMisses = 6;

/** The reach of the first page alone. */
export function reachOf(keys: readonly RowKey[]): Reach {
  return { tail: keys, endsAt: keys.length, seen: new Set(keys) };
}

/**
 * The page that begins at least `overlap` rows before `endsAt`, ends after it and reaches furthest, among limits up to
 * `maxLimit`; `index` is from 0, whatever the service's page base. Undefined when every limit has a page that ends exactly at `endsAt`, which happens only below a limit of
 * a dozen.
 */
function pageOver(endsAt: number, overlap: number, maxLimit: number) {
  let best: { readonly index: number; readonly limit: number } | undefined;
  let furthest = endsAt;
  for (let limit = maxLimit; limit > 0; limit -= 1) {
    const index = Math.floor((endsAt - overlap) / limit);
    const end = (index + 1) * limit;
    if (index >= 0 && end > furthest) [best, furthest] = [{ index, limit }, end];
  }
  return best;
}

/**
 * Joins a page to a reach; `fresh` counts its new rows. Undefined when the page does not begin within the reach,
 * differs from it where the two overlap, or repeats a known row further on: a service that repeats rows may show a row
 * in the place of its repeat.
 */
export function join(
  reach: Reach,
  start: number,
  keys: readonly RowKey[],
): { readonly reach: Reach; readonly fresh: number } | undefined {
  const [first] = keys;
  const at = first === undefined ? -1 : reach.tail.lastIndexOf(first);
  if (at < 0) return undefined;
  const known = reach.tail.slice(at);
  const fresh = keys.slice(known.length);
  const isOne = keys.every((key, index) => index >= known.length || key === known[index]);
  if (!isOne || fresh.some((key) => reach.seen.has(key))) return undefined;
  for (const key of fresh) reach.seen.add(key);
  const endsAt = start + known.length + fresh.length;
  return { reach: { tail: [...reach.tail, ...fresh], endsAt, seen: reach.seen }, fresh: fresh.length };
}

/**
 * Reads on from `reach`, which holds two joined pages, to the end; or one page, and `hasMissed`, where the page after it was
 * empty. `joined` is the end. `broken`: the pages could not be joined, since the service does not grant limits as requested,
 * repeats rows, or moves them too much. `without-end`: `maxPages` pages did not reach the end.
 */
export function* readChain(options: {
  readonly pageBase: 0 | 1;
  /** Most rows of one page. */
  readonly maxLimit: number;
  readonly maxPages: number;
  readonly reach: Reach;
  readonly hasMissed: boolean;
}): Paging<'joined' | 'broken' | 'without-end'> {
  const { pageBase, maxLimit, maxPages } = options;
  let { reach } = options;
  let step = options.hasMissed ? 1 : 0;
  let misses = step;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const next = pageOver(reach.endsAt, Math.min(stepsBack[step] ?? 1, reach.endsAt), maxLimit);
    if (next === undefined) return 'broken';
    const { index, limit } = next;
    const start = index * limit;
    const answer: PageAnswer = yield { page: pageBase + index, limit, again: reach.endsAt - start };
    const keys = keysOf(answer);
    const joined = join(reach, start, keys);
    if (answer.kind === 'refused' || keys.length > limit) return 'broken';
    if (joined?.fresh === 0 && keys.length < limit) return 'joined';
    if (joined === undefined || joined.fresh === 0) misses += 1;
    step = joined === undefined ? step + 1 : 0;
    if (misses > mostMisses || step === stepsBack.length) return 'broken';
    if (joined !== undefined) reach = { ...joined.reach, tail: joined.reach.tail.slice(-2 * maxLimit) };
  }
  return 'without-end';
}
