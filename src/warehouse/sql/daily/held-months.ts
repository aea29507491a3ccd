/**
 * The rows of `held_month`: the holds of daily production, read and written in the transaction of a merge
 * (core/daily/shrink-guard.ts). A batch of wells without a hold, of which none begins, costs no statement.
 */
import { grouped } from '../../../core/base/lists.ts';
import { type DayInterval, subtractDays, wholeDays } from '../../../core/daily/coverage.ts';
import {
  daysOfMonth,
  type HeldMonth,
  holdAfter,
  type HoldAfter,
  type LeavingMonth,
  type LeavingVerdict,
  type MonthRows,
  type MonthSeen,
  rowsOf,
} from '../../../core/daily/shrink-guard.ts';
import type { ByUwi, DailyProductionStore } from '../../port/daily-production.ts';
import { dayOfNumber, type InSession, jsonText, numberOfDay, runOver, type SqlSession } from '../session.ts';
import type { Noticed, WellWindow } from './daily-tables.ts';

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

export interface SettledLeaving {
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
