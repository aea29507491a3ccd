/**
 * The rows of `held_month`: the holds of daily production, read and written in the transaction of a merge
 * (core/daily/shrink-guard.ts). A batch of wells without a hold, of which none begins, costs no statement.
 */
import { grouped } from '../../../core/base/lists.ts';
import { type DayInterval, subtractDays, wholeDays } from '../../../core/daily/coverage.ts';
import {
  daysOfMonth,
  decideLeaving,
  type HeldMonth,
  holdAfter,
  type HoldAfter,
  isWindowHeld,
  type LeavingMonth,
  type LeavingVerdict,
  lossesCountForDays,
  type MonthBefore,
  type MonthRows,
  type MonthSeen,
  nothingLeaves,
  rowsOf,
  type ShrinkGuard,
} from '../../../core/daily/shrink-guard.ts';
import type { ByUwi, DailyProductionStore } from '../../port/daily-production.ts';
import { dayOfNumber, type InSession, instantAt, jsonText, numberOfDay, runOver, type SqlSession } from '../session.ts';
import type { ComparedCounts, Noticed, WellWindow } from './daily-tables.ts';
import { DAY_MS } from '../../../core/time/window.ts';

/** By month, as the day number of its first day. */
export type Holds = ReadonlyMap<number, HeldMonth>;

export const noHolds: Holds = new Map();

interface HoldRow extends MonthRows {
  readonly uwi: string;
  readonly month: number;
  readonly releaseRunId: string | null;
  readonly releaseRows: number | null;
  readonly releaseFirstDay: number | null;
  readonly releaseLastDay: number | null;
}

/** The holds that stand, by uwi; a well without one is absent. */
export async function readHolds(session: SqlSession, uwis: readonly string[]): Promise<ByUwi<Holds>> {
  if (uwis.length === 0) return new Map();
  const rows = await session.rows<HoldRow>(
    `SELECT uwi, ${numberOfDay('month')} AS month, rows_missing AS rows, ${numberOfDay('first_day')} AS "firstDay",
       ${numberOfDay('last_day')} AS "lastDay", release_run_id AS "releaseRunId", release_rows AS "releaseRows",
       ${numberOfDay('release_first_day')} AS "releaseFirstDay", ${numberOfDay('release_last_day')} AS "releaseLastDay"
     FROM held_month WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')}) ORDER BY uwi, month`,
    [jsonText(uwis)],
  );
  const ofWells = grouped(rows, ({ uwi }) => uwi);
  return new Map([...ofWells].map(([uwi, holds]) => [uwi, new Map(holds.map((row) => [row.month, holdOf(row)]))]));
}

/** As {@link readHolds}, in order of time. */
export const readHeldMonths: InSession<DailyProductionStore['heldMonths']> = async (session, uwis) => {
  const holds = await readHolds(session, uwis);
  return new Map([...holds].map(([uwi, ofWell]) => [uwi, [...ofWell.values()]]));
};

function holdOf({ month, rows, firstDay, lastDay, ...row }: HoldRow): HeldMonth {
  const { releaseRunId: runId, releaseRows, releaseFirstDay, releaseLastDay } = row;
  const isReleased = runId !== null && releaseRows !== null && releaseFirstDay !== null && releaseLastDay !== null;
  const release = isReleased
    ? { runId, rows: releaseRows, firstDay: releaseFirstDay, lastDay: releaseLastDay }
    : undefined;
  return { month, rows, firstDay, lastDay, release };
}

interface SettledLeaving {
  readonly window: WellWindow;
  readonly leaving: readonly LeavingMonth[];
  readonly verdict: LeavingVerdict;
}

/** Writes the holds of the wells after the merge. Returns the holds that stand, by uwi; wells without one may be absent. */
export async function keepHolds(
  session: SqlSession,
  settled: readonly SettledLeaving[],
  before: ByUwi<Holds>,
  { runId, atMs }: Noticed,
): Promise<ByUwi<Holds>> {
  const touched = settled.filter(({ window, verdict }) => before.has(window.uwi) || verdict.held.length > 0);
  if (touched.length === 0) return before;
  const after = new Map<string, Map<number, HoldAfter>>();
  for (const { window, leaving, verdict } of touched) {
    const holds = after.get(window.uwi) ?? standing(before.get(window.uwi));
    after.set(window.uwi, holds);
    const days = daysSeen(window);
    for (const month of monthsSeen(holds, verdict, days)) {
      const seen = seenOf(month, { window, leaving, verdict }, days);
      const hold = holdAfter(month, holds.get(month), seen, runId);
      if (hold === undefined) holds.delete(month);
      else holds.set(month, hold);
    }
  }
  await writeHolds(session, before, after, { runId, atMs });
  return after;
}

function standing(holds: Holds = noHolds): Map<number, HoldAfter> {
  return new Map([...holds].map(([month, hold]) => [month, { ...hold, isNew: false }]));
}

/**
 * The days of which a window shows the rows that are missing: those of its own instants, where `readDays` are of the whole
 * unit. The day that is not over is among them: whatever comes of it later, what is stored of it was looked for. A part that
 * was cut shows nothing (core/daily/read-order.ts).
 */
function daysSeen({ readDays, window, timeZone }: WellWindow): DayInterval | undefined {
  return readDays === undefined ? undefined : wholeDays(window, timeZone, Infinity);
}

/** Months of which a window says something: those that it keeps rows of, and those with a hold in its days. */
function monthsSeen(
  holds: ReadonlyMap<number, HoldAfter>,
  { held }: LeavingVerdict,
  days: DayInterval | undefined,
): readonly number[] {
  const inside = [...holds.values()].filter(
    ({ firstDay, lastDay }) => days !== undefined && firstDay < days.toDay && lastDay >= days.fromDay,
  );
  return [...new Set([...held, ...inside].map(({ month }) => month))];
}

function seenOf(
  month: number,
  { window: { isVerified }, leaving, verdict }: SettledLeaving,
  days: DayInterval | undefined,
): MonthSeen {
  const held = verdict.held.find((each) => each.month === month);
  const missing = rowsOf(leaving, (each) => each === month);
  return { held, removed: missing - (held?.rows ?? 0), days, isVerified };
}

const heldFields = {
  uwi: 'VARCHAR',
  month: 'INTEGER',
  rows_missing: 'INTEGER',
  first_day: 'INTEGER',
  last_day: 'INTEGER',
  is_new: 'INTEGER',
} as const;

async function writeHolds(
  session: SqlSession,
  before: ByUwi<Holds>,
  after: ByUwi<ReadonlyMap<number, HoldAfter>>,
  { runId, atMs }: Noticed,
): Promise<void> {
  const { dialect } = session;
  const stood = (uwi: string, month: number): HeldMonth | undefined => before.get(uwi)?.get(month);
  const changed = [...after].flatMap(([uwi, holds]) =>
    [...holds.values()].flatMap((hold) => (isSame(stood(uwi, hold.month), hold) ? [] : [fieldsOf(uwi, hold)])),
  );
  const ended = [...after].flatMap(([uwi, holds]) =>
    [...(before.get(uwi) ?? noHolds).keys()].flatMap((month) => (holds.has(month) ? [] : [{ uwi, month }])),
  );
  const begun = changed.filter(({ uwi, month }) => stood(uwi, month) === undefined);
  const renewed = changed.filter(({ uwi, month }) => stood(uwi, month) !== undefined);
  const held = `FROM ${dialect.relation('$1', heldFields)} n`;
  const atNow = new Date(atMs);
  await runOver(
    session,
    begun,
    `INSERT INTO held_month (uwi, month, rows_missing, first_day, last_day, since, run_id)
       SELECT n.uwi, ${dayOfNumber('n.month')}, n.rows_missing, ${dayOfNumber('n.first_day')},
         ${dayOfNumber('n.last_day')}, CAST($2 AS TIMESTAMPTZ), CAST($3 AS VARCHAR) ${held}`,
    atNow,
    runId,
  );
  const ifNew = (column: string, value: string): string =>
    `${column} = CASE WHEN n.is_new = 1 THEN ${value} ELSE h.${column} END`;
  await runOver(
    session,
    renewed,
    `UPDATE held_month AS h SET rows_missing = n.rows_missing, first_day = ${dayOfNumber('n.first_day')},
       last_day = ${dayOfNumber('n.last_day')}, ${ifNew('since', 'CAST($2 AS TIMESTAMPTZ)')},
       ${ifNew('run_id', 'CAST($3 AS VARCHAR)')}, ${ifNew('release_run_id', 'NULL')}
     ${held} WHERE h.uwi = n.uwi AND h.month = ${dayOfNumber('n.month')}`,
    atNow,
    runId,
  );
  await runOver(
    session,
    ended,
    `DELETE FROM held_month AS h USING ${dialect.relation('$1', { uwi: 'VARCHAR', month: 'INTEGER' })} e
     WHERE h.uwi = e.uwi AND h.month = ${dayOfNumber('e.month')}`,
  );
}

function isSame(before: HeldMonth | undefined, { rows, firstDay, lastDay, isNew }: HoldAfter): boolean {
  return !isNew && before?.rows === rows && before.firstDay === firstDay && before.lastDay === lastDay;
}

function fieldsOf(uwi: string, { month, rows, firstDay, lastDay, isNew }: HoldAfter) {
  return { uwi, month, rows_missing: rows, first_day: firstDay, last_day: lastDay, is_new: isNew ? 1 : 0 };
}

/** The days that coverage may note of a read: those of months without a hold. */
export function daysWithoutHold(days: DayInterval, holds: Holds = noHolds): readonly DayInterval[] {
  if (holds.size === 0) return [days];
  return subtractDays(
    days,
    [...holds.keys()].map((month) => daysOfMonth(month)),
  );
}

// The stored rows that the readings of a batch lack, between the comparison and the writing of a merge: counted by month,
// and kept where a hold stands or begins (core/daily/shrink-guard.ts). Where no row is missing, it costs no statement.

export interface LeavingRules {
  readonly runId: string;
  readonly guard: ShrinkGuard;
  readonly atMs: number;
  readonly holds: ByUwi<Holds>;
}

export interface ComparedWindow<Window extends WellWindow = WellWindow> {
  readonly window: Window;
  readonly counts: ComparedCounts;
}

/** What each window lacks, in the order of the windows. */
export type Leaving = ReadonlyArray<readonly LeavingMonth[]>;

/** The production day of a stored row; that of UTC where the zone of the row was not known. */
const storedDay = `coalesce(c.stored_day, CAST(c.stored_at AT TIME ZONE 'UTC' AS DATE))`;
const monthOf = (day: string): string => numberOfDay(`CAST(date_trunc('month', ${day}) AS DATE)`);

interface LeavingRow extends MonthRows {
  readonly windowNo: number;
  readonly month: number;
  readonly isReleased: boolean;
}

/** Counts what each window lacks by month: after the comparison. */
export async function readLeaving(
  session: SqlSession,
  compared: readonly ComparedWindow[],
  { runId, holds }: Pick<LeavingRules, 'runId' | 'holds'>,
): Promise<Leaving> {
  if (!compared.some(({ counts }) => counts.leaving > 0)) return compared.map(() => []);
  const released = compared.flatMap(({ window }, index) =>
    [...(holds.get(window.uwi) ?? noHolds).values()].flatMap(({ release }) =>
      release?.runId === runId ? [{ window_no: index, first_day: release.firstDay, last_day: release.lastDay }] : [],
    ),
  );
  const relation = session.dialect.relation('$1', { window_no: 'INTEGER', first_day: 'INTEGER', last_day: 'INTEGER' });
  const isReleased =
    released.length === 0
      ? 'false'
      : `EXISTS (SELECT 1 FROM ${relation} r WHERE r.window_no = l.stored_no AND l.day BETWEEN r.first_day AND r.last_day)`;
  const rows = await session.rows<LeavingRow>(
    `SELECT stored_no AS "windowNo", month, "isReleased", count(*) AS rows, min(day) AS "firstDay", max(day) AS "lastDay"
     FROM (SELECT stored_no, month, day, ${isReleased} AS "isReleased" FROM (
       SELECT c.stored_no, ${monthOf(storedDay)} AS month, ${numberOfDay(storedDay)} AS day
       FROM compared c WHERE c.change = 'removed') l) m
     GROUP BY stored_no, month, "isReleased" ORDER BY stored_no, month`,
    released.length === 0 ? [] : [jsonText(released)],
  );
  const byWindow = compared.map(() => new Map<number, LeavingMonth>());
  for (const { windowNo, month, isReleased: isShown, ...monthRows } of rows) {
    const months = byWindow[windowNo];
    if (months === undefined) throw new Error(`rows leave window ${windowNo}, which is not there`);
    const before = months.get(month) ?? { month, released: undefined, others: undefined };
    months.set(month, isShown ? { ...before, released: monthRows } : { ...before, others: monthRows });
  }
  return byWindow.map((months) => [...months.values()]);
}

/**
 * Decides what leaves, and marks the rows that stay in the comparison, so that they are not removed. In the order of the
 * windows; before anything is written.
 */
export async function holdLeaving(
  session: SqlSession,
  compared: readonly ComparedWindow[],
  leavingByWindow: Leaving,
  { guard, runId, atMs, holds }: LeavingRules,
): Promise<readonly SettledLeaving[]> {
  const cases = compared.map(({ window, counts: { stored } }, index) => {
    const { wellId, uwi, isWithoutContent } = window;
    const leaving = leavingByWindow[index] ?? [];
    return { window, wellId, uwi, stored, isWithoutContent, leaving, holds: holds.get(uwi) ?? noHolds };
  });
  if (cases.every(({ leaving }) => leaving.length === 0)) {
    return cases.map(({ window, leaving }) => ({ window, leaving, verdict: nothingLeaves }));
  }
  const asked = guard.allow ? [] : cases.filter((each) => !isWindowHeld(each, each.holds, guard));
  const months = asked.flatMap((each) => {
    return each.leaving.flatMap(({ month }) => (each.holds.has(month) ? [] : [{ ...each, month }]));
  });
  const before = await monthsBefore(session, months, atMs);
  const leavingOf = rowsByMonth(cases);
  const settled = cases.map((each) => {
    const verdict = decideLeaving(
      each,
      each.holds,
      (month) => {
        const key = monthKey(each.uwi, month);
        const { stored = 0, lost = 0 } = before.get(key) ?? {};
        const ofOthers = (leavingOf.get(key) ?? 0) - rowsOf(each.leaving, (one) => one === month);
        return { stored: stored - ofOthers, lost: lost + ofOthers };
      },
      { guard, runId },
    );
    return { window: each.window, leaving: each.leaving, verdict };
  });
  await keepRows(session, settled);
  return settled;
}

function monthKey(uwi: string, month: number): string {
  return `${month} ${uwi}`;
}

/** Rows that leave a month of a well, over all windows. */
function rowsByMonth(cases: readonly Pick<SettledLeaving, 'window' | 'leaving'>[]): ReadonlyMap<string, number> {
  const keyed = cases.flatMap(({ window, leaving }) =>
    leaving.map((each) => ({ each, key: monthKey(window.uwi, each.month) })),
  );
  const byMonth = grouped(keyed, ({ key }) => key);
  return new Map([...byMonth].map(([key, months]) => [key, rowsOf(months.map(({ each }) => each))]));
}

/** In some zones a production day begins a day before that of UTC, or after it. */
const zoneDays = 2;

async function monthsBefore(
  session: SqlSession,
  asked: ReadonlyArray<Pick<WellWindow, 'wellId' | 'uwi'> & Pick<LeavingMonth, 'month'>>,
  atMs: number,
): Promise<ReadonlyMap<string, MonthBefore>> {
  if (asked.length === 0) return new Map();
  const keys = [...new Set(asked.map(({ wellId }) => wellId))];
  const uwiOf = new Map(asked.map(({ wellId, uwi }) => [wellId, uwi]));
  const fromDay = asked.reduce((least, { month }) => Math.min(least, month), Infinity);
  const toDay = asked.reduce((most, { month }) => Math.max(most, daysOfMonth(month).toDay), -Infinity);
  const stored = await session.rows<{ wellId: number; month: number; rows: number }>(
    `SELECT d.well_id AS "wellId", ${monthOf(productionDay('d'))} AS month, count(*) AS rows
     FROM internal.daily_production d
     WHERE ${session.dialect.amongKeys('d.well_id', keys)} AND d.well_id IN (SELECT ${session.dialect.each('$1', 'INTEGER')})
       AND d.date >= ${instantAt((fromDay - zoneDays) * DAY_MS)} AND d.date < ${instantAt((toDay + zoneDays) * DAY_MS)}
     GROUP BY 1, 2`,
    [jsonText(keys)],
  );
  const lost = await session.rows<{ uwi: string; month: number; rows: number }>(lostRows(session, keys, atMs), [
    jsonText([...uwiOf.values()]),
  ]);
  const before = new Map<string, MonthBefore>();
  const add = (key: string, rows: Partial<MonthBefore>): void => {
    before.set(key, { stored: 0, lost: 0, ...before.get(key), ...rows });
  };
  for (const { wellId, month, rows } of stored) add(monthKey(uwiOf.get(wellId) ?? '', month), { stored: rows });
  for (const { uwi, month, rows } of lost) add(monthKey(uwi, month), { lost: rows });
  return before;
}

const productionDay = (table: string): string =>
  `coalesce(${table}.production_day, CAST(${table}.date AT TIME ZONE 'UTC' AS DATE))`;

/** Rows that left lately, are still gone, and were removed by a run that nobody allowed to. */
function lostRows({ dialect }: SqlSession, keys: readonly number[], atMs: number): string {
  const allowed = `${dialect.textAt('r.params', ['allowShrink'])} = 'true' OR ${dialect.textAt('r.params', ['releaseOf'])} IS NOT NULL`;
  return `SELECT h.uwi, ${monthOf(productionDay('h'))} AS month, count(DISTINCT h.xid) AS rows
    FROM daily_production_history h
    WHERE h.change = 'removed' AND h.noticed_at >= ${instantAt(atMs - lossesCountForDays * DAY_MS)}
      AND h.uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')})
      AND NOT EXISTS (SELECT 1 FROM run r WHERE r.run_id = h.run_id AND (${allowed}))
      AND NOT EXISTS (SELECT 1 FROM internal.daily_production d JOIN well_key k ON k.well_id = d.well_id
        WHERE ${dialect.amongKeys('d.well_id', keys)} AND k.uwi = h.uwi AND d.xid = h.xid)
    GROUP BY 1, 2`;
}

async function keepRows(session: SqlSession, settled: readonly SettledLeaving[]): Promise<void> {
  const kept = settled.flatMap(({ verdict }, index) =>
    verdict.heldDays.map(({ fromDay, toDay }) => ({ window_no: index, from_day: fromDay, to_day: toDay })),
  );
  const relation = session.dialect.relation('$1', { window_no: 'INTEGER', from_day: 'INTEGER', to_day: 'INTEGER' });
  await runOver(
    session,
    kept,
    `UPDATE compared AS c SET change = 'kept' FROM ${relation} k
     WHERE c.change = 'removed' AND c.stored_no = k.window_no
       AND ${numberOfDay(storedDay)} >= k.from_day AND ${numberOfDay(storedDay)} < k.to_day`,
  );
}
