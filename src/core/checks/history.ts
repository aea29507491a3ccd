/**
 * What a check needs of a well's past beyond the rows around a day: one small row a well, `check_history`. It is kept by the
 * commits, and grows with no number of days.
 */
import type { WellDays } from './well-days.ts';

/** A day of which the rate told whether it is one of the day or of the hours on. */
export interface PartialDay {
  readonly day: number;
  readonly isOperated: boolean;
}

export interface ReadPartial extends PartialDay {
  /** The column of the rate. */
  readonly field: string;
  readonly rate: number;
  /** Of the days of full flow before. */
  readonly median: number;
  /** The hours on by 24. */
  readonly share: number;
}

export interface CheckHistory {
  /** The codes of downtime, each with the first day that had it. */
  readonly codes: ReadonlyMap<string, number>;
  /** The last day of the rows by which the codes became known: those up to it are no news. Undefined without a code. */
  readonly codesKnownTo: number | undefined;
  /** Ascending. */
  readonly partials: readonly PartialDay[];
}

export const noHistory: CheckHistory = { codes: new Map(), codesKnownTo: undefined, partials: [] };

/** A well with more writes free text, of which each is new. */
const mostCodes = 64;
/** Characters of a code by which it is known. */
const codeChars = 64;
const mostPartials = 40;

export function codeText(code: string | null | undefined): string {
  return code?.trim().slice(0, codeChars) ?? '';
}

/** Whether a first day with a code says anything: of free text it does not. */
export function isCodeList({ codes }: CheckHistory): boolean {
  return codes.size < mostCodes;
}

/** The history with the codes of these days; the same one where nothing is new. */
export function withCodes(history: CheckHistory, { codes: column, days, length }: WellDays): CheckHistory {
  if (column === undefined) return history;
  let codes: Map<string, number> | undefined;
  let last: string | null = null;
  for (let index = 0; index < length; index += 1) {
    const code = column[index] ?? null;
    // Most days have none, or that of the day before.
    if (code === null || code === last) continue;
    last = code;
    const text = codeText(code);
    const day = days[index] ?? 0;
    const first = (codes ?? history.codes).get(text);
    if (text === '' || (first !== undefined && first <= day)) continue;
    if (first === undefined && (codes ?? history.codes).size >= mostCodes) continue;
    codes ??= new Map(history.codes);
    codes.set(text, day);
  }
  if (codes === undefined) return history;
  return { ...history, codes, codesKnownTo: history.codesKnownTo ?? days[length - 1] };
}

/** The history with these partial days in the place of those from `fromDay` to `toDay`, both of them included. */
export function withPartials(
  history: CheckHistory,
  { fromDay, toDay }: { readonly fromDay: number; readonly toDay: number },
  found: readonly PartialDay[],
): CheckHistory {
  const before = history.partials.filter(({ day }) => day < fromDay);
  const after = history.partials.filter(({ day }) => day > toDay);
  // Of the thousands that a first load may find.
  const partials = [...before, ...found.slice(-mostPartials), ...after].slice(-mostPartials);
  const isSame =
    partials.length === history.partials.length &&
    partials.every(({ day, isOperated }, index) => {
      const other = history.partials[index];
      return other?.day === day && other.isOperated === isOperated;
    });
  return isSame ? history : { ...history, partials };
}
