/**
 * The stored rows that the readings of a batch lack, between the comparison and the writing of a merge: counted by month,
 * and kept where a hold stands or begins (core/daily/shrink-guard.ts). Where no row is missing, it costs no statement.
 */
import { grouped } from '../../../core/base/lists.ts';
import {
  daysOfMonth,
  decideLeaving,
  isWindowHeld,
  type LeavingMonth,
  lossesCountForDays,
  type MonthBefore,
  type MonthRows,
  nothingLeaves,
  rowsOf,
  type ShrinkGuard,
} from '../../../core/daily/shrink-guard.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { ByUwi } from '../../port/daily-production.ts';
import { instantAt, jsonText, numberOfDay, runOver, type SqlSession } from '../session.ts';
import type { ComparedCounts } from './comparison.ts';
import type { WellWindow } from './daily-tables.ts';
import { type Holds, noHolds, type SettledLeaving } from './held-months.ts';

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
