/**
 * Decides how a service is read that pays no heed to `page`: by halves of the window, until each answer is shorter than
 * one that it gave before and so cannot have been cut. Every answer is of one moment, so no row can move out of sight
 * unless its date does.
 */
import { endOf, failWith, keysOf, type PageLimit, type Paging, type PagingEnd } from './paging.ts';
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
 * Reads what the whole answer may lack. `undated` says that a narrower window did not make the answer shorter, and that
 * nothing but the rows of the whole answer came all the while: they are all, or the service cuts them off for good.
 *
 * A window is halved only while an answer of rows dated around it is as long as the whole one: about 4 log2(days) requests
 * for each full answer that the window holds, and 2 log2(days) before a date that is not heeded ends the read.
 */
export function* readByWindows(whole: WholeAnswer, maxPages: number): Paging<PagingEnd | 'undated'> {
  const { limit, keys } = whole;
  const inWhole = new Set(keys);
  const open: Window[] = [whole.window];
  let isCut = false;
  for (let asks = 0; asks < maxPages; asks += 2) {
    const window = open.shift();
    if (window === undefined) return endOf();
    const halves = yield* askHalves(window, limit);
    if (halves === undefined) return failWith('refused');
    isCut ||= halves.some((half) => half.keys.some((key) => !inWhole.has(key)));
    for (const half of halves.filter(({ keys: { length } }) => length >= keys.length)) {
      if (half.isBeyond || half.window.toMs - half.window.fromMs <= DAY_MS) {
        return isCut ? failWith('page-ignored') : 'undated';
      }
      open.push(half.window);
    }
  }
  return failWith('without-end');
}

interface Half {
  readonly window: Window;
  readonly keys: readonly string[];
  readonly isBeyond: boolean;
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
    const isBeyond = answer.kind === 'page' && answer.isBeyond === true;
    halves.push({ window, keys: keysOf(answer), isBeyond });
  }
  return halves;
}
