/**
 * Reading by windows, for a service that ignores `page`: the window is halved until each answer is shorter than a
 * previous one, and so cannot have been cut. Every answer is a view of one moment, so a row is missed only if its date
 * changes. All requests are for page 0, which has rows whenever this rule is used: should rows that move have made a
 * service look as if it ignored `page`, each answer still begins with the first row of its window.
 */
import { endOf, failWith, keysOf, type PageLimit, type Paging, type PagingEnd, type RowKey } from './page.ts';
import { askedWindow, DAY_MS, halvesOf, type Window } from '../time/window.ts';

/**
 * Fewest rows at which a service may cut an answer (an assumption): a day, requested with one more on both sides, has
 * at most four midnights.
 */
export const leastCut = 5;

export interface WholeAnswer {
  /** Half-open; the requested range is wider (`askedWindow`). */
  readonly window: Window;
  readonly limit: PageLimit;
  /** Rows of the answer for the whole window. */
  readonly keys: readonly RowKey[];
}

/** Whether the service may have more rows than these. */
export function mayBeCut(keys: readonly RowKey[]): boolean {
  return keys.length >= leastCut;
}

/**
 * Reads the rows that the whole answer may lack. `undated` means that a narrower window did not shorten the answer and
 * that no narrower window returned a new row: the whole answer has all rows, or the service always cuts them off.
 *
 * A window is halved only while an answer for it is as long as the whole answer: about 4 log2(days) requests for each
 * full answer in the window, and 2 log2(days) before a service that ignores dates ends the read.
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
  readonly keys: readonly RowKey[];
  readonly isBeyond: boolean;
}

/** Undefined when the service refuses one of the halves. */
function* askHalves(whole: Window, limit: PageLimit): Paging<readonly Half[] | undefined> {
  const halves: Half[] = [];
  for (const window of halvesOf(whole)) {
    const answer = yield { page: 0, limit, window: askedWindow(window), again: Infinity };
    if (answer.kind === 'refused') return undefined;
    const isBeyond = answer.kind === 'page' && answer.isBeyond === true;
    halves.push({ window, keys: keysOf(answer), isBeyond });
  }
  return halves;
}
