/** Hours of downtime without a code, codes without hours, and codes that the well never had. */
import type { Check, CheckedWell, Span } from './checked-well.ts';
import { codeText, isCodeList } from './history.ts';
import { type CheckSettings, daysBefore } from './settings.ts';
import { codeField, columnOfField, DaysAround, valueAt, type WellDays } from './well-days.ts';

export const downtimeReason: Check = (well, span, settings, add) => {
  const { codes } = well.days;
  if (codes === undefined) return;
  missingReasons(well, span, settings, add);
  newCodes(well, span, add);
};

/**
 * Services differ in which days they give a code: only what the well's days before did otherwise is a fault. So a well
 * whose running days have a code too (`NONE`), or whose downtime never has one, is none.
 */
function missingReasons(
  { days }: CheckedWell,
  { from, to }: Span,
  { fewestDays, hoursTolerance }: CheckSettings,
  add: Parameters<Check>[3],
): void {
  const { downtimeHours } = days.values;
  const kinds = codedDays(days);
  for (let index = 0; index < days.length; index += 1) {
    if (valueAt(downtimeHours, index) > hoursTolerance) kinds[index] = (kinds[index] ?? 0) + down;
  }
  if (!mayLackReasons(kinds)) return;
  const before = new DaysAround(days, daysBefore, kinds, 2 * down);
  for (let index = from; index < to; index += 1) {
    const kind = kinds[index] ?? 0;
    const [isCodeMissing, isDownMissing] = [kind === down, kind === coded];
    if (!isCodeMissing && !isDownMissing) continue;
    const counts = before.at(index);
    const [runs, runsCoded] = [counts[0] ?? 0, counts[coded] ?? 0];
    const [stands, standsCoded] = [counts[down] ?? 0, counts[down + coded] ?? 0];
    const day = days.days[index] ?? 0;
    if (isCodeMissing && standsCoded > stands) add(day, columnOfField[codeField], valueAt(downtimeHours, index), 0);
    if (isDownMissing && runs + runsCoded >= fewestDays && runs > runsCoded) {
      add(day, columnOfField.downtimeHours, valueAt(downtimeHours, index), null);
    }
  }
}

/** What a day has; both may be added. */
const coded = 1;
const down = 2;

/** Whether some days with downtime have a code and others none, or some without: a day stands out only against such days. */
function mayLackReasons(kinds: Uint8Array): boolean {
  const has = (kind: number): boolean => kinds.includes(kind);
  return (has(0) && has(coded)) || (has(down) && has(down + coded));
}

/** {@link coded} for a day with a code. */
function codedDays({ codes = [], length }: WellDays): Uint8Array {
  const kinds = new Uint8Array(length);
  let [last, isCode]: [string | null, number] = [null, 0];
  for (let index = 0; index < length; index += 1) {
    const code = codes[index] ?? null;
    if (code === null) continue;
    if (code !== last) isCode = codeText(code) === '' ? 0 : coded;
    last = code;
    kinds[index] = isCode;
  }
  return kinds;
}

function newCodes({ days, history }: CheckedWell, { from, to }: Span, add: Parameters<Check>[3]): void {
  const { codesKnownTo = Infinity } = history;
  if (!isCodeList(history)) return;
  for (let index = from; index < to; index += 1) {
    const day = days.days[index] ?? 0;
    if (day <= codesKnownTo) continue;
    const code = codeText(days.codes?.[index]);
    if (code === '' || history.codes.get(code) !== day) continue;
    add(day, columnOfField[codeField], valueAt(days.values.downtimeHours, index), null);
  }
}
