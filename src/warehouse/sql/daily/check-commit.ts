/**
 * Checks of what a commit has written, in its transaction (docs/production-data.md, Checks): the findings of the days that it may
 * have changed replace those that stand. Nothing changed costs no statement, and wells of which nothing was stored are checked
 * by what was read of them. Then what stands, for readers.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { grouped } from '../../../core/base/lists.ts';
import {
  type CheckHistory,
  type DayRange,
  hoursOfDays,
  type HoursOfDay,
  noHistory,
  type WellDays,
  type WellFacts,
} from '../../../core/checks/check.ts';
import { daysOfReadings, evaluate } from '../../../core/checks/evaluate.ts';
import { dayAt } from '../../../core/time/production-day.ts';
import type { CheckStore, FindingFilter, FindingRow, WellChecks } from '../../port/wells.ts';
import type { CountedWindow, DailyTables, WithinTables } from './daily-tables.ts';
import {
  type EvaluatedWell,
  markChanged,
  observeFindings,
  readStanding,
  readSummaries,
  replaceFindings,
} from './findings.ts';
import type { CheckSummary } from '../../../core/checks/check-alert.ts';
import { epochMs, jsonText, oneRow, type SqlDatabase, type SqlSession, type SqlValue } from '../session.ts';
import {
  type CheckedDays,
  evaluatedDays,
  keepHistories,
  partsOfWells,
  readCheckedDays,
  readFacts,
  readHistories,
  type TouchedWell,
  touchedWells,
} from './check-input.ts';

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

/** Some milliseconds before V8 has compiled the checks, as in a morning: otherwise the commit's next statement waited. */
const rowsPerTurnBeside = 300;

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
  const calendar = calendarAt(by.atMs);
  let rowsOfTurn = rowsPerTurn;
  for (const [uwi, windows] of wells) {
    if (rowsOfTurn >= rowsPerTurn) {
      rowsOfTurn = 0;
      await nextTurn();
    }
    const days = daysOfReadings(windows.map(({ rows }) => rows));
    const touched = { fromDay: days.days[0] ?? 0, toDay: days.days[days.length - 1] ?? 0 };
    evaluated.push(evaluateWell({ uwi, days, touched, facts: facts.get(uwi), history: noHistory }, checks, calendar));
    rowsOfTurn += days.length;
  }
  return evaluated;
}

/** Wells of which rows were changed: those of the first part are evaluated beside the statements that follow. */
interface ChangedChecks {
  readonly past: WellsPast;
  readonly evaluated: Promise<readonly CheckedWell[]>;
  readonly others: ReadonlyArray<readonly TouchedWell[]>;
}

/** To be called once the rows are written. */
export async function beginChanged(
  tables: DailyTables,
  windows: readonly CountedWindow[],
  { checks, by }: BegunChecks,
): Promise<ChangedChecks> {
  const [first = [], ...others] = partsOfWells(await touchedWells(tables, windows));
  if (first.length === 0) return { past: nothingKnown, evaluated: Promise.resolve([]), others };
  const past = await readPast(tables.session, first, checks);
  const days = await readCheckedDays(tables, first);
  const evaluated = evaluateStored(first, days, past, checks, by, rowsPerTurnBeside);
  // As in beginChecks.
  evaluated.catch(() => undefined);
  return { past, evaluated, others };
}

/** Writes the findings, last in the commit. */
export async function commitChecks(
  tables: DailyTables,
  { checks, by, added }: BegunChecks,
  changed: ChangedChecks,
): Promise<void> {
  const { session } = tables;
  const ofAdded = await added;
  if (ofAdded.length > 0) {
    const uwis = ofAdded.map(({ uwi }) => uwi);
    const past = { ...nothingKnown, histories: await readHistories(session, uwis) };
    await keepFindings(session, ofAdded, past, checks, by);
  }
  const ofChanged = await changed.evaluated;
  if (ofChanged.length > 0) await keepFindings(session, ofChanged, changed.past, checks, by);
  for (const part of changed.others) await checkStored(tables, part, checks, by);
}

/** Evaluates what may follow from rows of these days, by what is stored, and returns the number of findings. */
async function checkStored(
  tables: DailyTables,
  wells: readonly TouchedWell[],
  checks: WellChecks,
  by: CheckedBy,
): Promise<number> {
  const past = await readPast(tables.session, wells, checks);
  const days = await readCheckedDays(tables, wells);
  const evaluated = await evaluateStored(wells, days, past, checks, by, rowsPerTurn);
  await keepFindings(tables.session, evaluated, past, checks, by);
  return evaluated.reduce((sum, { findings }) => sum + findings.length, 0);
}

/** What is known of wells beside their rows, by uwi. */
interface WellsPast {
  readonly facts: ReadonlyMap<string, WellFacts>;
  readonly histories: ReadonlyMap<string, CheckHistory>;
  readonly standing: Awaited<ReturnType<typeof readStanding>>;
}

const nothingKnown: WellsPast = { facts: new Map(), histories: new Map(), standing: new Map() };

async function readPast(session: SqlSession, wells: readonly TouchedWell[], checks: WellChecks): Promise<WellsPast> {
  const uwis = wells.map(({ uwi }) => uwi);
  const facts = await readFacts(session, checks.facts, uwis);
  const histories = await readHistories(session, uwis);
  return { facts, histories, standing: await readStanding(session, uwis, evaluatedDays(wells)) };
}

/** Holds the rows of its part, of which one is in memory at a time. */
async function evaluateStored(
  wells: readonly TouchedWell[],
  daysOf: CheckedDays,
  { facts, histories }: WellsPast,
  checks: WellChecks,
  by: CheckedBy,
  perTurn: number,
): Promise<readonly CheckedWell[]> {
  const evaluated: CheckedWell[] = [];
  const calendar = calendarAt(by.atMs);
  let rowsOfTurn = perTurn;
  for (const touched of wells) {
    if (rowsOfTurn >= perTurn) {
      rowsOfTurn = 0;
      await nextTurn();
    }
    const { uwi } = touched;
    const days = daysOf(touched);
    const own = { uwi, days, facts: facts.get(uwi), history: histories.get(uwi) ?? noHistory };
    evaluated.push(evaluateWell({ ...own, touched }, checks, calendar));
    rowsOfTurn += days.length;
  }
  return evaluated;
}

async function keepFindings(
  session: SqlSession,
  evaluated: readonly CheckedWell[],
  { histories, standing }: Omit<WellsPast, 'facts'>,
  { settings }: WellChecks,
  by: CheckedBy,
): Promise<void> {
  await keepHistories(session, evaluated, histories);
  await replaceFindings(session, evaluated, standing, settings, by);
}

interface WellToCheck {
  readonly uwi: string;
  readonly days: WellDays;
  readonly touched: DayRange;
  readonly facts: WellFacts | undefined;
  readonly history: CheckHistory;
}

type CheckedWell = EvaluatedWell & { readonly history: CheckHistory };

function evaluateWell(
  { uwi, days, touched, facts, history }: WellToCheck,
  { settings }: WellChecks,
  calendar: Calendar,
): CheckedWell {
  const well = { days, facts, history, ...calendar(facts?.timeZone ?? settings.timeZone) };
  return { uwi, ...evaluate(well, touched, settings) };
}

/** What day it is in a zone, and how long its days are. */
type Calendar = (timeZone: string) => { readonly today: number; readonly hoursOf: HoursOfDay };

/** Most wells have the zone of the others. */
function calendarAt(instantMs: number): Calendar {
  const known = new Map<string, ReturnType<Calendar>>();
  return (timeZone) => {
    const found = known.get(timeZone);
    if (found !== undefined) return found;
    const made = { today: dayAt(instantMs, timeZone) ?? Infinity, hoursOf: hoursOfDays(timeZone) };
    known.set(timeZone, made);
    return made;
  };
}

// The findings that stand, for readers, and the evaluation of what is stored.

export function createCheckStore(database: SqlDatabase, engine: WithinTables): CheckStore {
  return {
    wells: ({ after = '', limit, uwis }) =>
      database.transact(async (session) => {
        const named = uwis === undefined ? 'true' : `uwi IN (SELECT ${session.dialect.each('$3', 'VARCHAR')})`;
        const rows = await session.rows<{ uwi: string }>(
          `SELECT uwi FROM well_key WHERE uwi > $1 AND ${named} ORDER BY uwi LIMIT $2`,
          [after, limit, ...(uwis === undefined ? [] : [jsonText(uwis)])],
        );
        return rows.map(({ uwi }) => uwi);
      }),
    evaluate: (uwis, checks, by) => engine.within((tables) => evaluateAll(tables, uwis, checks, by)),
    summaries: (filter) =>
      database.transact((session) => {
        const values: SqlValue[] = [];
        return readSummaries<CheckSummary>(session, conditionOf(session, filter, values), values);
      }),
    findings: (filter) => database.transact((session) => readFindings(session, filter)),
  };
}

/** As many days as any well has, and more. */
const anyDay: DayRange = { fromDay: -1_000_000, toDay: 4_000_000 };

/** As {@link CheckStore.evaluate}, in the transaction of the tables. */
export async function evaluateAll(
  tables: DailyTables,
  uwis: readonly string[],
  checks: WellChecks,
  by: string,
): Promise<{ readonly days: number; readonly findings: number }> {
  const { session } = tables;
  if (uwis.length === 0) return { days: 0, findings: 0 };
  // Commits of these wells wait meanwhile.
  const keys = await session.rows<{ uwi: string; wellId: number }>(tables.keys.known, [jsonText(uwis)]);
  const { atMs } = await oneRow<{ atMs: number }>(session, `SELECT ${epochMs(session.dialect.clock)} AS "atMs"`);
  const rows = await countRows(tables, keys);
  let findings = 0;
  // What stands of days without a row goes too.
  const wells = keys.map((key): TouchedWell => ({ ...key, ...anyDay, rows: rows.get(key.wellId) ?? 0 }));
  for (const part of partsOfWells(wells)) {
    findings += await checkStored(tables, part, checks, { runId: null, atMs });
  }
  // Alerts of them all are made anew, also of a well whose findings are as before.
  await markChanged(session, uwis);
  const named = { sql: `SELECT ${session.dialect.each('$1', 'VARCHAR')}`, values: [jsonText(uwis)] };
  while (await observeFindings(session, named, { by, atMs }));
  return { days: [...rows.values()].reduce((sum, count) => sum + count, 0), findings };
}

async function countRows(
  tables: DailyTables,
  keys: ReadonlyArray<{ readonly wellId: number }>,
): Promise<ReadonlyMap<number, number>> {
  const { sql, values } = tables.rowsOfDays(keys.map(({ wellId }) => ({ wellId, ...anyDay })));
  const counts = await tables.session.rows<{ wellId: number; rows: number }>(
    `SELECT d.well_id AS "wellId", count(*) AS rows FROM ${sql} GROUP BY d.well_id`,
    values,
  );
  return new Map(counts.map(({ wellId, rows }) => [wellId, rows]));
}

/** SQL of the condition of a filter, whose values are added to `values`. */
function conditionOf({ dialect }: SqlSession, { checks, uwis }: FindingFilter, values: SqlValue[]): string {
  const among = (column: string, names: readonly string[] | undefined): readonly string[] =>
    names === undefined ? [] : [`${column} IN (SELECT ${dialect.each(`$${values.push(jsonText(names))}`, 'VARCHAR')})`];
  return ['true', ...among('"check"', checks), ...among('uwi', uwis)].join(' AND ');
}

function readFindings(
  session: SqlSession,
  { limit, ...filter }: FindingFilter & { readonly limit: number },
): Promise<readonly FindingRow[]> {
  const values: SqlValue[] = [];
  const condition = conditionOf(session, filter, values);
  return session.rows(
    `SELECT "check", uwi, production_day AS day, field, value, expected, severity, run_id AS "runId",
       found_at AS "foundAt"
     FROM check_result WHERE ${condition} ORDER BY "check", uwi, production_day LIMIT $${values.push(limit)}`,
    values,
  );
}
