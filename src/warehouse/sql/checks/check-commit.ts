/**
 * Checks of what a commit has written, in its transaction (docs/production-data.md, Checks): the findings of the days that it may
 * have changed replace those that stand. Nothing changed costs no statement, and wells of which nothing was stored are checked
 * by what was read of them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { grouped } from '../../../core/base/lists.ts';
import { hoursOfDays, type WellFacts } from '../../../core/checks/check.ts';
import { daysOfReadings } from '../../../core/checks/counted-days.ts';
import { type DayRange, evaluate, evaluatedDays } from '../../../core/checks/evaluate.ts';
import { type CheckHistory, noHistory } from '../../../core/checks/history.ts';
import type { WellDays } from '../../../core/checks/well-days.ts';
import { dayAt } from '../../../core/time/production-day.ts';
import type { WellChecks } from '../../port/checks.ts';
import type { CountedWindow, DailyTables } from '../daily/daily-tables.ts';
import {
  keepHistories,
  partsOfWells,
  readCheckedDays,
  readFacts,
  readHistories,
  type TouchedWell,
  touchedWells,
} from './check-input.ts';
import { type EvaluatedWell, readStanding, replaceFindings } from './findings.ts';

/** By which run, and when; null where none is at work. */
export interface CheckedBy {
  readonly runId: string | null;
  readonly atMs: number;
}

/** What {@link beginChecks} began. */
export interface BegunChecks {
  readonly checks: WellChecks;
  readonly by: CheckedBy;
  /** Of the wells of which nothing was stored. */
  readonly added: Promise<readonly CheckedWell[]>;
}

/** After so many rows, some 20 ms, the event loop has a turn: pages that came in meanwhile waited. */
const rowsPerTurn = 16_000;

/**
 * Wells of which nothing is stored are evaluated by what was read of them, beside the other statements of the commit: the event
 * loop waits for the engine most of that time.
 */
export async function beginChecks(
  { session }: DailyTables,
  windows: readonly CountedWindow[],
  checks: WellChecks,
  by: CheckedBy,
): Promise<BegunChecks> {
  const added = windows.filter(({ isNew, rows }) => isNew && rows.length > 0);
  const wells = [...grouped(added, ({ uwi }) => uwi)];
  const facts = await readFacts(
    session,
    checks.facts,
    wells.map(([uwi]) => uwi),
  );
  const evaluated = evaluateAdded(wells, facts, checks, by);
  // A commit that fails meanwhile does not wait for it.
  evaluated.catch(() => undefined);
  return { checks, by, added: evaluated };
}

async function evaluateAdded(
  wells: ReadonlyArray<readonly [uwi: string, windows: readonly CountedWindow[]]>,
  facts: ReadonlyMap<string, WellFacts>,
  checks: WellChecks,
  by: CheckedBy,
): Promise<readonly CheckedWell[]> {
  const evaluated: CheckedWell[] = [];
  let rowsOfTurn = rowsPerTurn;
  for (const [uwi, windows] of wells) {
    if (rowsOfTurn >= rowsPerTurn) {
      rowsOfTurn = 0;
      await nextTurn();
    }
    const days = daysOfReadings(windows.map(({ rows }) => rows));
    const range = { fromDay: days.days[0] ?? 0, toDay: days.days[days.length - 1] ?? 0 };
    evaluated.push(evaluateWell({ uwi, days, range, facts: facts.get(uwi), history: noHistory }, checks, by));
    rowsOfTurn += days.length;
  }
  return evaluated;
}

/** To be called once the rows are written. */
export async function commitChecks(
  tables: DailyTables,
  windows: readonly CountedWindow[],
  { checks, by, added }: BegunChecks,
): Promise<void> {
  const evaluated = await added;
  if (evaluated.length > 0) {
    const { session } = tables;
    const uwis = evaluated.map(({ uwi }) => uwi);
    await keepHistories(session, evaluated, await readHistories(session, uwis));
    await replaceFindings(session, evaluated, new Map(), checks.settings, by);
  }
  for (const part of partsOfWells(await touchedWells(tables, windows))) await checkStored(tables, part, checks, by);
}

/** Evaluates what may follow from rows of these days, by what is stored, and returns the number of findings. */
export async function checkStored(
  tables: DailyTables,
  wells: readonly TouchedWell[],
  checks: WellChecks,
  by: CheckedBy,
): Promise<number> {
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
  await keepHistories(session, evaluated, histories);
  await replaceFindings(session, evaluated, await readStanding(session, uwis), checks.settings, by);
  return evaluated.reduce((sum, { findings }) => sum + findings.length, 0);
}

const noDays = daysOfReadings([]);

interface WellToCheck {
  readonly uwi: string;
  readonly days: WellDays;
  readonly range: DayRange;
  readonly facts: WellFacts | undefined;
  readonly history: CheckHistory;
}

type CheckedWell = EvaluatedWell & { readonly history: CheckHistory };

function evaluateWell(
  { uwi, days, range, facts, history }: WellToCheck,
  { settings }: WellChecks,
  { atMs }: CheckedBy,
): CheckedWell {
  const timeZone = facts?.timeZone ?? settings.timeZone;
  const well = { days, facts, history, today: dayAt(atMs, timeZone) ?? Infinity, hoursOf: hoursOfDays(timeZone) };
  return { uwi, range, ...evaluate(well, range, settings) };
}
