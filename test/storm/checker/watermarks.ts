/** Watermarks and coverage (G3): no further than what was read to its end, and as far as the reads of the quiet time reach. */
import type { Evidence, TableRow, Violation } from '../evidence.ts';
import { wholeReads, type WholeRead } from './daily-rows.ts';
import { dailyUnits, type Ledger, type LedgerRun, type LedgerUnit } from './ledger.ts';
import { dayAt, dayMs, dayOfMs, groupedBy, msOf, rowsOf, textOf, violated } from './tables.ts';

type ReadUnit = LedgerUnit & { readonly run: LedgerRun };

/** Judges the tables `watermark` and `coverage` of all wells. */
export function checkWatermarks(evidence: Evidence, ledger: Ledger): readonly Violation[] {
  const settled = dailyUnits(ledger).filter(({ state }) => state === 'done' || state === 'held');
  const units = groupedBy(settled, ({ target }) => target);
  const rows = groupedBy(rowsOf(evidence, 'daily_production'), (row) => textOf(row, 'uwi'));
  const watermarks = groupedBy(rowsOf(evidence, 'watermark'), (row) => textOf(row, 'uwi'));
  const coverage = groupedBy(rowsOf(evidence, 'coverage'), (row) => textOf(row, 'uwi'));
  const reads = wholeReads(evidence, ledger);
  const wells = new Set([...units.keys(), ...rows.keys(), ...watermarks.keys(), ...coverage.keys()]);
  return [...wells].flatMap((uwi) => [
    ...violationsOfWatermark(evidence, uwi, watermarks.get(uwi) ?? [], units.get(uwi) ?? []),
    ...violationsOfLastDay(uwi, watermarks.get(uwi) ?? [], rows.get(uwi) ?? []),
    ...violationsOfSpans(evidence, uwi, coverage.get(uwi) ?? [], units.get(uwi) ?? []),
    ...violationsOfDays(evidence, uwi, {
      read: reads.get(uwi),
      rows: rows.get(uwi) ?? [],
      spans: coverage.get(uwi) ?? [],
    }),
  ]);
}

/**
 * The watermark is the end of the last window that was read to its end, and a backfill never moves it: no later than the ends
 * of the incremental windows that were settled, and no earlier than those of the quiet time.
 */
function violationsOfWatermark(
  { calmMs }: Evidence,
  uwi: string,
  watermarks: readonly TableRow[],
  units: readonly ReadUnit[],
): readonly Violation[] {
  const incremental = units.filter(({ spec }) => spec['mode'] === 'incremental');
  const endOf = ({ spec }: ReadUnit): number => Number(spec['toMs']);
  const ends = incremental.map(endOf);
  const calmEnd = Math.max(...incremental.filter(({ run }) => run.requestedMs >= calmMs).map(endOf));
  if (watermarks.length > 1) return [violated('G3', `${uwi} has ${watermarks.length} watermarks`, { uwi })];
  const [row] = watermarks;
  if (row === undefined) {
    return ends.length === 0 ? [] : [violated('G3', `${uwi} was read to its end, and has no watermark`, { uwi })];
  }
  const watermarkMs = msOf(row, 'watermark') ?? 0;
  const verifiedMs = msOf(row, 'verified_at');
  const at = { uwi, atMs: watermarkMs };
  return [
    ...(watermarkMs <= Math.max(...ends)
      ? []
      : [violated('G3', `the watermark of ${uwi} lies behind every window that was read to its end`, at)]),
    ...(watermarkMs >= calmEnd
      ? []
      : [violated('G3', `the watermark of ${uwi} lies before the end of its last window`, at)]),
    ...(verifiedMs === undefined || verifiedMs <= watermarkMs
      ? []
      : [violated('G3', `${uwi} is verified beyond its watermark`, at)]),
  ];
}

/** The watermark knows the last day with a row. */
function violationsOfLastDay(
  uwi: string,
  watermarks: readonly TableRow[],
  rows: readonly TableRow[],
): readonly Violation[] {
  const [watermark] = watermarks;
  if (watermark === undefined) return [];
  const lastDay = rows.map((row) => dayAt(row, 'production_day')).reduce((last, day) => (day > last ? day : last), '');
  if (dayAt(watermark, 'last_day') === lastDay) return [];
  return [violated('G3', `the last day of ${uwi} is ${lastDay}, and its watermark has another`, { uwi, lastDay })];
}

/** Spans are in order and disjoint, none is empty, and each day of them lies in a window that was read and was over by then. */
function violationsOfSpans(
  { endedMs }: Evidence,
  uwi: string,
  coverage: readonly TableRow[],
  units: readonly ReadUnit[],
): readonly Violation[] {
  const spans = coverage.map(spanOf).toSorted((left, right) => (left.fromDay < right.fromDay ? -1 : 1));
  const windows = units
    .map(({ spec }) => ({ fromDay: dayAfter(Number(spec['fromMs'])), toDay: dayOfMs(Number(spec['toMs'])) }))
    .toSorted((left, right) => (left.fromDay < right.fromDay ? -1 : 1));
  const read = windows.reduce<Span[]>((joined, next) => {
    const last = joined.at(-1);
    if (last === undefined || next.fromDay > last.toDay) return [...joined, next];
    return [
      ...joined.slice(0, -1),
      { fromDay: last.fromDay, toDay: next.toDay > last.toDay ? next.toDay : last.toDay },
    ];
  }, []);
  return spans.flatMap(({ fromDay, toDay }, index) => {
    const detail = { uwi, fromDay, toDay };
    const before = spans[index - 1];
    const isRead = read.some((each) => each.fromDay <= fromDay && each.toDay >= toDay);
    return [
      ...(fromDay < toDay ? [] : [violated('G3', `a span of coverage of ${uwi} is empty`, detail)]),
      ...(before === undefined || before.toDay < fromDay
        ? []
        : [violated('G3', `two spans of coverage of ${uwi} overlap or adjoin`, detail)]),
      ...(toDay <= dayOfMs(endedMs) ? [] : [violated('G3', `coverage of ${uwi} has days that are not over`, detail)]),
      ...(isRead ? [] : [violated('G3', `coverage of ${uwi} has days that no read to its end held`, detail)]),
    ];
  });
}

interface Span {
  readonly fromDay: string;
  /** The first day after. */
  readonly toDay: string;
}

function spanOf(row: TableRow): Span {
  return { fromDay: dayAt(row, 'from_day'), toDay: dayAt(row, 'to_day') };
}

/** The first whole day from an instant on. */
function dayAfter(ms: number): string {
  return dayOfMs(Math.ceil(ms / dayMs) * dayMs);
}

/** Each day with a row is covered that the verified read of the whole well held, but for the days of held months. */
function violationsOfDays(
  evidence: Evidence,
  uwi: string,
  found: {
    readonly read: WholeRead | undefined;
    readonly rows: readonly TableRow[];
    readonly spans: readonly TableRow[];
  },
): readonly Violation[] {
  const { read } = found;
  if (read === undefined) return [];
  const held = new Set(
    rowsOf(evidence, 'held_month')
      .filter((row) => textOf(row, 'uwi') === uwi)
      .map((row) => dayAt(row, 'month').slice(0, 7)),
  );
  const spans = found.spans.map(spanOf);
  const [fromDay, toDay] = [dayAfter(read.fromMs), dayOfMs(read.toMs)];
  const days = [...new Set(found.rows.map((row) => dayAt(row, 'production_day')))].filter((day) => {
    const isCovered = spans.some((span) => span.fromDay <= day && day < span.toDay);
    return day >= fromDay && day < toDay && !held.has(day.slice(0, 7)) && !isCovered;
  });
  if (days.length === 0) return [];
  return [
    violated('G3', `${days.length} days of ${uwi} have rows of a verified read, and coverage lacks them`, {
      uwi,
      days,
    }),
  ];
}
