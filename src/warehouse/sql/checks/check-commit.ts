/**
 * Checks of what a commit has written, in its transaction (docs/production-data.md, Checks): the findings of the days that it may
 * have changed replace those that stand. Nothing changed costs no statement, and wells of which nothing was stored are checked
 * by what was read of them.
 */
import { grouped } from '../../../core/base/lists.ts';
import type { WellFacts } from '../../../core/checks/checked-well.ts';
import { daysOfReadings } from '../../../core/checks/counted-days.ts';
import { hoursOfDays } from '../../../core/checks/day-length.ts';
import { type DayRange, evaluate, evaluatedDays } from '../../../core/checks/evaluate.ts';
import { type CheckHistory, noHistory } from '../../../core/checks/history.ts';
import type { WellDays } from '../../../core/checks/well-days.ts';
import { dayAt } from '../../../core/time/production-day.ts';
import type { WellChecks } from '../../port/checks.ts';
import type { CountedWindow, DailyTables } from '../daily/daily-tables.ts';
import type { SqlSession } from '../session.ts';
import { observeFindings } from './check-alerts.ts';
import { partsOfWells, readCheckedDays } from './checked-rows.ts';
import { type ChangedFindings, type EvaluatedWell, readStanding, replaceFindings } from './findings.ts';
import { keepHistories, readHistories } from './history-rows.ts';
import { type TouchedWell, touchedWells } from './touched-wells.ts';
import { readFacts } from './well-facts.ts';

/** By whom, and when. */
export interface CheckedBy {
  /** Null where no run is at work. */
  readonly runId: string | null;
  /** For the alerts: the run, or a person. */
  readonly by: string;
  readonly atMs: number;
}

/** To be called once the rows are written. */
export async function checkCommit(
  tables: DailyTables,
  windows: readonly CountedWindow[],
  checks: WellChecks,
  by: CheckedBy,
): Promise<void> {
  const { session } = tables;
  const added = windows.filter(({ isNew, rows }) => isNew && rows.length > 0);
  const changed = added.length > 0 ? [await checkAdded(session, added, checks, by)] : [];
  for (const part of partsOfWells(await touchedWells(tables, windows))) {
    changed.push((await checkStored(tables, part, checks, by)).changed);
  }
  await observeFindings(session, changed, by);
}

/** The days of wells of which nothing else is stored. */
async function checkAdded(
  session: SqlSession,
  windows: readonly CountedWindow[],
  checks: WellChecks,
  by: CheckedBy,
): Promise<ChangedFindings> {
  const wells = [...grouped(windows, ({ uwi }) => uwi)];
  const facts = await readFacts(
    session,
    checks.facts,
    wells.map(([uwi]) => uwi),
  );
  const evaluated = wells.map(([uwi, own]) => {
    const days = daysOfReadings(own.map(({ rows }) => rows));
    const range = { fromDay: days.days[0] ?? 0, toDay: days.days[days.length - 1] ?? 0 };
    return evaluateWell({ uwi, days, range, facts: facts.get(uwi), history: noHistory }, checks, by);
  });
  await keepHistories(
    session,
    evaluated.filter(({ history }) => history !== noHistory),
  );
  return replaceFindings(session, evaluated, new Map(), checks.settings, by);
}

/** Evaluates what may follow from rows of these days, by what is stored. The alerts are left to the caller. */
export async function checkStored(
  tables: DailyTables,
  wells: readonly TouchedWell[],
  checks: WellChecks,
  by: CheckedBy,
): Promise<{ readonly changed: ChangedFindings; readonly findings: number }> {
  const { session } = tables;
  const uwis = wells.map(({ uwi }) => uwi);
  const stored = await readCheckedDays(tables, wells);
  const facts = await readFacts(session, checks.facts, uwis);
  const histories = await readHistories(session, uwis);
  const evaluated = wells.map(({ wellId, uwi, ...touched }) => {
    const history = histories.get(uwi) ?? noHistory;
    const own = { uwi, days: stored.get(wellId) ?? noDays, facts: facts.get(uwi), history };
    return evaluateWell({ ...own, range: evaluatedDays(touched) }, checks, by);
  });
  await keepHistories(
    session,
    evaluated.filter(({ uwi, history }) => history !== (histories.get(uwi) ?? noHistory)),
  );
  const standing = await readStanding(session, uwis);
  return {
    changed: await replaceFindings(session, evaluated, standing, checks.settings, by),
    findings: evaluated.reduce((sum, { findings }) => sum + findings.length, 0),
  };
}

const noDays = daysOfReadings([]);

interface WellToCheck {
  readonly uwi: string;
  readonly days: WellDays;
  readonly range: DayRange;
  readonly facts: WellFacts | undefined;
  readonly history: CheckHistory;
}

function evaluateWell(
  { uwi, days, range, facts, history }: WellToCheck,
  { settings }: WellChecks,
  { atMs }: CheckedBy,
): EvaluatedWell & { readonly history: CheckHistory } {
  const timeZone = facts?.timeZone ?? settings.timeZone;
  const well = { days, facts, history, today: dayAt(atMs, timeZone) ?? Infinity, hoursOf: hoursOfDays(timeZone) };
  return { uwi, range, ...evaluate(well, range, settings) };
}
