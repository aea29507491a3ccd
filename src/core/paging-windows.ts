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
 * Reads what the whole answer may lack. Where the service pays no heed to dates either, fewer rows than the limit are
 * taken for all: nothing is left to tell by. Each halving takes two requests; there are at most about 2 log2(days) of
 * them for each full answer that the window holds.
 */
export function* readByWindows(whole: WholeAnswer, maxPages: number): Paging<PagingEnd> {
  const open: Window[] = [whole.window];
  for (let asks = 0; asks < maxPages; asks += 2) {
    const window = open.shift();
    if (window === undefined) return endOf();
    if (window.toMs - window.fromMs <= DAY_MS) return failWith('page-ignored');
    const answers: (readonly string[])[] = [];
    for (const half of halvesOf(window)) {
      const answer = yield { page: 1, limit: whole.limit, window: askedWindow(half), again: Infinity };
      if (answer.kind === 'refused') return failWith('refused');
      answers.push(keysOf(answer));
      if (keysOf(answer).length >= whole.keys.length) open.push(half);
    }
    if (window === whole.window && answers.every((answer) => areSame(answer, whole.keys))) {
      return whole.keys.length === whole.limit ? failWith('page-ignored') : endOf();
    }
  }
  return failWith('without-end');
}

function halvesOf({ fromMs, toMs }: Window): readonly [Window, Window] {
  const middleMs = fromMs + Math.ceil((toMs - fromMs) / 2);
  return [
    { fromMs, toMs: middleMs },
    { fromMs: middleMs, toMs },
  ];
}
