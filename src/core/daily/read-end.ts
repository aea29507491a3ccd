/**
 * What may end the read of a window: a verified end, or the word of the service's profile (decision 12). An unverified
 * read takes nothing from the warehouse (G4), so what it may miss is rows that came late. The next verified read, within
 * a week, reaches over the windows of the unverified ones (./due-window.ts).
 */
import { DAY_MS, daysIn } from '../time/window.ts';
import type { DueWindow, WindowRules } from './due-window.ts';

/**
 * `proof`: a verified end alone. `word`: the word of the service's profile as well. `word-if-silent`: that word, as long
 * as no record of the window came.
 */
export const readEnds = ['proof', 'word', 'word-if-silent'] as const;
type ReadEnd = (typeof readEnds)[number];

/**
 * What may end the read of a window of a well that is not due for a verified one. Rows that an unverified read brings
 * move the last row of the well. Below it only the lookback and the holes of the last days are read again: a window that
 * reaches further, or that is expected on more than one page, is verified as soon as a record of it comes.
 */
export function endOfUndue(
  { reach, ...window }: DueWindow,
  { nowMs, holeDays, pageRows }: Pick<WindowRules, 'nowMs' | 'holeDays' | 'pageRows'>,
): ReadEnd {
  if (reach === 'lookback' || reach === 'hole') return 'word';
  const isReadAgain = window.fromMs >= nowMs - holeDays * DAY_MS && daysIn(window) + 2 <= pageRows;
  return isReadAgain ? 'word' : 'word-if-silent';
}
