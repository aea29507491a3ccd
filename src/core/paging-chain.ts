/**
 * Decides how pages are read so that none can slip between two of them: each page begins with rows that the one before
 * ended with. `page` and `limit` ask for the rows from page x limit on, so another limit moves where a page begins:
 *
 *   limit 1000, page 0   [0 ............ 999]
 *   limit  999, page 1                  [999 ............ 1997]
 *   limit  998, page 2                                  [1996 ............ 2993]
 *
 * A page is one answer, hence of one moment. Two pages that share a row leave no place between them where a row could
 * stand unseen, whatever came, went or moved between the two requests: a row that the service had all the while, in the
 * same place among the others, is on one of the two. The last page shows the end the same way: it begins with the last
 * row that came, is shorter than asked for, and brings nothing new.
 */
import { keysOf, type PageAnswer, type Paging } from './paging.ts';

/** What has been read without a gap from the first row on. */
export interface Reach {
  /** Its last rows, enough of them to find a page's beginning again. */
  readonly tail: readonly string[];
  /** The place after its last row, counted from 0. */
  readonly endsAt: number;
  /** All of its rows; grows with every page that is joined on. */
  readonly seen: Set<string>;
}

export interface PagePlace {
  /** Counted from 0, whatever the service's base. */
  readonly index: number;
  readonly limit: number;
}

/** Places to step back when a page does not join, one after the other. */
const stepsBack = [1, 8, 64, 512] as const;
/** Pages that may fail to join, or bring nothing new, in one read. */
const mostMisses = 6;

/** What the first page alone reaches. */
export function reachOf(keys: readonly string[]): Reach {
  return { tail: keys, endsAt: keys.length, seen: new Set(keys) };
}

/**
 * The page that begins at least `overlap` rows before `endsAt`, ends after it and reaches furthest, among limits up to
 * `maxLimit`. Undefined where every limit has a page that ends exactly there: only ever below a limit of a dozen.
 */
function pageOver(endsAt: number, overlap: number, maxLimit: number): PagePlace | undefined {
  let best: PagePlace | undefined;
  let furthest = endsAt;
  for (let limit = maxLimit; limit > 0; limit -= 1) {
    const index = Math.floor((endsAt - overlap) / limit);
    const end = (index + 1) * limit;
    if (index >= 0 && end > furthest) [best, furthest] = [{ index, limit }, end];
  }
  return best;
}

/**
 * What a page adds to a reach. Undefined where it does not begin within it, differs from it where both should be one, or
 * brings a row again further on: a service that repeats rows may show the place of the repeat for that of the row.
 */
export function join(
  reach: Reach,
  start: number,
  keys: readonly string[],
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
 * Reads on from `reach`, of which two pages have been joined, to the end. `joined` is the end; `doubtful` says that the
 * pages could not be joined: the service does not grant limits as asked, repeats rows, or its rows move too much.
 */
export function* readChain(options: {
  readonly pageBase: 0 | 1;
  /** Rows that one page may have. */
  readonly maxLimit: number;
  readonly maxPages: number;
  readonly reach: Reach;
}): Paging<'joined' | 'doubtful' | 'without-end'> {
  const { pageBase, maxLimit, maxPages } = options;
  let { reach } = options;
  let step = 0;
  let misses = 0;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const place = pageOver(reach.endsAt, Math.min(stepsBack[step] ?? 1, reach.endsAt), maxLimit);
    if (place === undefined) return 'doubtful';
    const { index, limit } = place;
    const start = index * limit;
    const answer: PageAnswer = yield { page: pageBase + index, limit, again: reach.endsAt - start };
    const keys = keysOf(answer);
    const joined = join(reach, start, keys);
    if (answer.kind === 'refused' || keys.length > limit) return 'doubtful';
    if (joined?.fresh === 0 && keys.length < limit) return 'joined';
    if (joined === undefined || joined.fresh === 0) misses += 1;
    if (misses > mostMisses) return 'doubtful';
    step = joined === undefined ? step + 1 : 0;
    if (step === stepsBack.length) return 'doubtful';
    if (joined !== undefined) reach = { ...joined.reach, tail: joined.reach.tail.slice(-2 * maxLimit) };
  }
  return 'without-end';
}
