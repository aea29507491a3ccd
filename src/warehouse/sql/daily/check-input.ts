/** What the checks of daily production are given: touched days, stored rows, and a well's past and record. */
import {
  checkedFields,
  type CheckHistory,
  codeField,
  columnOfField,
  type DayRange,
  factsOf,
  firstNotBelow,
  noHistory,
  reachDays,
  type WellDays,
  type WellFacts,
  type WellTexts,
} from '../../../core/checks/check.ts';
import { daysOfRows, readDays, valuesBy } from '../../../core/checks/evaluate.ts';
import type { FactFields } from '../../port/wells.ts';
import { type CountedWindow, type DailyTables, ended } from './daily-tables.ts';
import { conflictOfRecord, doesCount } from './row-fields.ts';
import { epochMs, jsonText, numberOfDay, runOver, type SqlColumns, type SqlSession } from '../session.ts';

/** Rows of a part (G8): some 4 MB, and a quarter more at the most; the wells of one queue item in a usual morning. */
const mostRows = 30_000;

/** Parts of the wells, each of which has no more rows than that as far as is known, or is one well. Their rows lie side by side. */
export function partsOfWells(wells: readonly TouchedWell[]): ReadonlyArray<readonly TouchedWell[]> {
  const parts: TouchedWell[][] = [];
  let rows = Infinity;
  for (const well of wells.toSorted((left, right) => left.wellId - right.wellId)) {
    const { fromDay, toDay } = readDays(well);
    const expected = well.rows ?? toDay - fromDay + 1;
    if (rows + expected > mostRows) {
      parts.push([]);
      rows = 0;
    }
    parts.at(-1)?.push(well);
    rows += expected;
  }
  return parts;
}

const checkedValues = checkedFields.map(
  (field) => `coalesce(CAST(d.${columnOfField[field]} AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION))`,
);

const dayOfRow = `coalesce(d.production_day, CAST(d.date AT TIME ZONE 'UTC' AS DATE))`;

/** The rows of the days on which the findings of a well may rest; a well without one has none. */
export type CheckedDays = (well: TouchedWell) => WellDays;

/** What is read of a well is made its days when it is asked for: the evaluation of one goes on beside statements. */
export async function readCheckedDays(tables: DailyTables, wells: readonly TouchedWell[]): Promise<CheckedDays> {
  const { sql, values: bound } = tables.rowsOfDays(rangesOf(wells));
  // Most wells have one record a day, and the join took a third of the time.
  const hasTwo = await haveConflicts(tables, wells);
  const double = (value: string): string => `CAST(${value} AS DOUBLE PRECISION)`;
  // Of two records of a day the one that counts is checked: it is the last one.
  const { numbers, texts } = await tables.session.columns(
    `SELECT ${double('d.well_id')}, ${double(numberOfDay(dayOfRow))}, ${double(epochMs('d.date'))}, ${checkedValues.join(', ')}, d.${columnOfField[codeField]}
     FROM ${sql} ${hasTwo ? conflictOfRecord : ''} ORDER BY d.well_id, ${dayOfRow}, ${hasTwo ? `${doesCount}, ` : ''}d.xid`,
    bound,
  );
  const [keys = nothing, dayNumbers = nothing, instantsMs = nothing, ...columns] = numbers;
  const days = new Int32Array(dayNumbers);
  const [codes = []] = texts;
  return ({ wellId, ...touched }) => {
    const { fromDay, toDay } = readDays(touched);
    const first = firstNotBelow(keys, wellId, 0, keys.length);
    const end = firstNotBelow(keys, wellId + 1, first, keys.length);
    const [from, to] = [firstNotBelow(days, fromDay, first, end), firstNotBelow(days, toDay + 1, first, end)];
    const rows = {
      length: to - from,
      days: days.subarray(from, to),
      instantsMs: instantsMs.subarray(from, to),
      values: valuesBy((_, position) => knownOf(columns[position] ?? nothing, from, to)),
      codes: hasCode(codes, from, to) ? codes.slice(from, to) : undefined,
    };
    return daysOfRows(rows, (row, other) => row > other);
  };
}

const nothing = new Float64Array(0);

/** Whether two records of one day are known of a well. */
async function haveConflicts({ session }: DailyTables, wells: readonly TouchedWell[]): Promise<boolean> {
  const keys = wells.map(({ wellId }) => wellId);
  const { dialect } = session;
  const found = await session.rows(
    `SELECT 1 AS one FROM internal.conflicting_day
     WHERE ${dialect.amongKeys('well_id', keys)} AND well_id IN (SELECT ${dialect.each('$1', 'INTEGER')}) LIMIT 1`,
    [jsonText(keys)],
  );
  return found.length > 0;
}

/** The range of all wells together is read of each, unless it is wider than one of theirs by more: without a join, where there is one. */
const mostWider = 1 / 4;

function rangesOf(wells: readonly TouchedWell[]): ReadonlyArray<DayRange & { readonly wellId: number }> {
  const own = wells.map((well) => ({ wellId: well.wellId, ...readDays(well) }));
  const { fromDay, toDay } = rangeOfAll(own);
  const isWide = own.some((range) => toDay - fromDay > (range.toDay - range.fromDay) * (1 + mostWider));
  return isWide ? own : own.map(({ wellId }) => ({ wellId, fromDay, toDay }));
}

function rangeOfAll(ranges: readonly DayRange[]): DayRange {
  const fromDay = ranges.reduce((least, range) => Math.min(least, range.fromDay), Infinity);
  const toDay = ranges.reduce((most, range) => Math.max(most, range.toDay), -Infinity);
  return { fromDay, toDay };
}

/** The days on which a finding of these wells may change: all that are evaluated. */
export function evaluatedDays(wells: readonly TouchedWell[]): DayRange {
  const { fromDay, toDay } = rangeOfAll(wells);
  return { fromDay: fromDay - reachDays, toDay: toDay + reachDays };
}

/** Undefined without a number. */
function knownOf(values: Float64Array, from: number, to: number): Float64Array | undefined {
  for (let index = from; index < to; index += 1) if (!Number.isNaN(values[index])) return values.subarray(from, to);
  return undefined;
}

function hasCode(codes: ReadonlyArray<string | null>, from: number, to: number): boolean {
  for (let index = from; index < to; index += 1) if (codes[index] !== null) return true;
  return false;
}

// The days of which a commit has changed rows.

/** A well and the days of which rows changed. */
export interface TouchedWell extends DayRange {
  readonly wellId: number;
  readonly uwi: string;
  /** Of these days, where that is known; else one for each. */
  readonly rows?: number;
}

/** By what the comparison of the batch found (daily-tables.ts): from the first changed day of a well to its last. */
const changedRange = `
  SELECT well_id AS "wellId", min(${numberOfDay('day')}) AS "fromDay", max(${numberOfDay('day')}) AS "toDay"
  FROM (SELECT well_id, production_day AS day FROM compared WHERE change IN ('fresh', 'updated', 'replaced', 'successor')
    UNION ALL SELECT well_id, stored_day FROM compared WHERE change IN ${ended}) changed
  WHERE day IS NOT NULL GROUP BY well_id`;

/** Of the wells of which something was stored before. Nothing changed costs no statement. */
export async function touchedWells(
  { session }: DailyTables,
  windows: readonly CountedWindow[],
): Promise<readonly TouchedWell[]> {
  const known = windows.filter(({ isNew }) => !isNew);
  if (!known.some(({ inserted, updated, removed }) => inserted + updated + removed > 0)) return [];
  const touched = new Map<number, DayRange>();
  const touch = (wellId: number, fromDay: number, toDay: number): void => {
    const before = touched.get(wellId) ?? { fromDay, toDay };
    touched.set(wellId, { fromDay: Math.min(before.fromDay, fromDay), toDay: Math.max(before.toDay, toDay) });
  };
  for (const { wellId, fromDay, toDay } of await session.rows<DayRange & { readonly wellId: number }>(changedRange)) {
    touch(wellId, fromDay, toDay);
  }
  // Rows of a window of which nothing was stored are in no comparison, but for those that moved into it.
  for (const { wellId, rows, inserted, updated } of known) {
    if (inserted + updated !== rows.length) continue;
    for (const day of rows.days) touch(wellId, day, day);
  }
  const uwis = new Map(known.map(({ wellId, uwi }) => [wellId, uwi]));
  return [...touched].flatMap(([wellId, range]) => {
    const uwi = uwis.get(wellId);
    return uwi === undefined ? [] : [{ wellId, uwi, ...range }];
  });
}

// `check_history`: what the checks need of a well's past, a row a well that has any.

/** As {@link textOf} writes it. */
interface StoredHistory {
  readonly codes: Readonly<Record<string, number>>;
  readonly codesKnownTo?: number;
  /** Pairs of a day and 1 for a rate of the hours on. */
  readonly partials: ReadonlyArray<readonly [day: number, operated: number]>;
}

export async function readHistories(
  session: SqlSession,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, CheckHistory>> {
  const rows = await session.rows<{ uwi: string; history: string }>(
    `SELECT uwi, history FROM check_history WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(uwis)],
  );
  return new Map(rows.map(({ uwi, history }) => [uwi, historyOf(history)]));
}

function historyOf(text: string): CheckHistory {
  const { codes, codesKnownTo, partials } = JSON.parse(text) as StoredHistory;
  return {
    codes: new Map(Object.entries(codes)),
    codesKnownTo,
    partials: partials.map(([day, operated]) => ({ day, isOperated: operated === 1 })),
  };
}

function textOf({ codes, codesKnownTo, partials }: CheckHistory): string {
  const pairs = partials.map(({ day, isOperated }) => [day, isOperated ? 1 : 0] as const);
  return JSON.stringify({ codes: Object.fromEntries(codes), codesKnownTo, partials: pairs });
}

/** Writes those that are not as they stand. */
export async function keepHistories(
  session: SqlSession,
  histories: ReadonlyArray<{ readonly uwi: string; readonly history: CheckHistory }>,
  standing: ReadonlyMap<string, CheckHistory>,
): Promise<void> {
  const { dialect } = session;
  const rows = histories
    .filter(({ uwi, history }) => history !== (standing.get(uwi) ?? noHistory))
    .map(({ uwi, history }) => ({ uwi, history: dialect.stored(textOf(history)) }));
  const added = rows.filter(({ uwi }) => !standing.has(uwi));
  if (added.length > 0) await session.append('check_history', columns, added);
  await runOver(
    session,
    rows.filter(({ uwi }) => standing.has(uwi)),
    `UPDATE check_history AS c SET history = h.history
     FROM ${dialect.relation('$1', { uwi: 'VARCHAR', history: 'VARCHAR' })} h WHERE c.uwi = h.uwi`,
  );
}

const columns: SqlColumns<{ readonly uwi: string; readonly history: string }> = {
  uwi: ({ uwi }) => uwi,
  history: ({ history }) => history,
};

// What the stored records of wells say of them, for the checks.

/** By uwi; a well whose record is not known is absent. Without a field that is named it costs no statement. */
export async function readFacts(
  session: SqlSession,
  fields: FactFields | undefined,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, WellFacts>> {
  if (fields === undefined || uwis.length === 0) return new Map();
  const { dialect } = session;
  const textAt = (path: string | undefined): string =>
    path === undefined ? 'CAST(NULL AS VARCHAR)' : dialect.textAt('document', path.split('.'));
  const uwi = fields.uwi === undefined ? 'source_id' : `coalesce(${textAt(fields.uwi)}, source_id)`;
  const said = `${textAt(fields.type)} AS type, ${textAt(fields.status)} AS status, ${textAt(fields.lift)} AS lift`;
  const isOther = ['type', 'status', 'lift'].map((name) => `h.${name} IS DISTINCT FROM w.${name}`).join(' OR ');
  // A record changes for other reasons too: what it says is known since the last version that said something else.
  const rows = await session.rows<WellTexts & { readonly uwi: string }>(
    `SELECT uwi, min(type) AS type, min(status) AS status, min(lift) AS lift, min(zone) AS "timeZone",
       max(${numberOfDay(`CAST(known_at AT TIME ZONE 'UTC' AS DATE)`)}) AS "fromDay"
     FROM (
       SELECT w.uwi, w.type, w.status, w.lift, w.zone,
         coalesce(max(CASE WHEN ${isOther} THEN h.noticed_at END), min(h.known_from), w.changed_at) AS known_at
       FROM (SELECT source_id, ${uwi} AS uwi, ${said}, ${textAt(fields.timeZone)} AS zone, changed_at
           FROM well WHERE document IS NOT NULL) w
         LEFT JOIN (SELECT source_id, ${said}, known_from, noticed_at FROM well_history) h ON h.source_id = w.source_id
       WHERE w.uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')})
       GROUP BY w.source_id, w.uwi, w.type, w.status, w.lift, w.zone, w.changed_at) known
     GROUP BY uwi`,
    [jsonText(uwis)],
  );
  return new Map(rows.map(({ uwi: name, ...texts }) => [name, factsOf(texts)]));
}
