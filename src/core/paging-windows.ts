/**
 * Decides how a service is read that pays no heed to `page`: by halves of the window, until each answer is shorter than
 * one that it gave before and so cannot have been cut. Every answer is of one moment, so no row can move out of sight
 * unless its date does.
 */
import { areSame, endOf, failWith, keysOf, type PageLimit, type Paging, type PagingEnd } from './paging.ts';
import { askedWindow, DAY_MS, type Window } from './window.ts';

/**
 * A service is held never to cut an answer at fewer rows than this: a day, asked for with one more on both sides, has at
 * most four midnights.
 */
export const leastCut = 5;

export interface WholeAnswer {
  /** Half-open; what was asked for is wider (askedWindow). */
  readonly window: Window;
  readonly limit: PageLimit;
  /** The rows that the whole window was answered with. */
  readonly keys: readonly string[];
}

/** Whether there may be more rows than these. */
export function mayBeCut(keys: readonly string[]): boolean {
  return keys.length >= leastCut;
}

/**
 * Reads what the whole answer may lack; `undated` says that the service pays no heed to dates either. Each halving takes
 * two requests; there are at most about 2 log2(days) of them for each full answer that the window holds.
 */
export function* readByWindows(whole: WholeAnswer, maxPages: number): Paging<PagingEnd | 'undated'> {
  const { limit, keys } = whole;
  const open: Window[] = [whole.window];
  for (let asks = 0; asks < maxPages; asks += 2) {
    const window = open.shift();
    if (window === undefined) return endOf();
    const halves = yield* askHalves(window, limit);
    if (halves === undefined) return failWith('refused');
    if (window === whole.window && halves.every((half) => areSame(half.keys, keys))) return 'undated';
    for (const half of halves) {
      if (half.keys.length < keys.length) continue;
      // A day's answer may be as long for a bound that is not heeded, or because there are no other rows.
      if (half.window.toMs - half.window.fromMs > DAY_MS) open.push(half.window);
      else if (keys.length === limit || !areSame(half.keys, keys)) return failWith('page-ignored');
    }
  }
  return failWith('without-end');
}

interface Half {
  readonly window: Window;
  readonly keys: readonly string[];
}

/** Undefined where one is refused. */
function* askHalves({ fromMs, toMs }: Window, limit: PageLimit): Paging<readonly Half[] | undefined> {
  const middleMs = fromMs + Math.ceil((toMs - fromMs) / 2);
  const windows = [
    { fromMs, toMs: middleMs },
    { fromMs: middleMs, toMs },
  ];
  const halves: Half[] = [];
  for (const window of windows) {
    const answer = yield { page: 1, limit, window: askedWindow(window), again: Infinity };
    if (answer.kind === 'refused') return undefined;
    halves.push({ window, keys: keysOf(answer) });
  }
  return halves;
}
