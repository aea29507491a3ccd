/**
 * A survey of coverage. Days are counted as bits of their months, so that for any number of years the engine groups by
 * well and month and never by day:
 *
 *   coverage_well    the wells of the question, numbered by name
 *   coverage_known   well and month: a bit for each day with a row and no quarantined record, and for each day with
 *                    either
 *   coverage_part    sums by well, and by month of a slice of wells
 *
 * The large table is read once. Everything computed from it is computed for a slice of wells at a time, since the months
 * of all wells at once would exceed the engine's memory (G8).
 */
import { grouped } from '../../../core/base/lists.ts';
import type { DayInterval, WellCoverage } from '../../../core/daily/coverage.ts';
import type {
  CoverageQuestion,
  CoverageStore,
  CoverageSurvey,
  StaleWellsQuestion,
} from '../../port/daily-production.ts';
import { unknownOf } from '../ledger/run-units.ts';
import { readDisputedMonths, readDisputedWells, readRunEffect, readWellHistory } from './well-history.ts';
import {
  countOf,
  dayOfNumber,
  type InSession,
  jsonText,
  oneRow,
  type SqlDatabase,
  type SqlDialect,
  type SqlSession,
  type SqlValue,
  transacted,
} from '../session.ts';

const daysOfMonth = `(CAST(month + INTERVAL '1 month' AS DATE) - month)`;

/** SQL of the days of [from, to) in a month, as bits: bit 1 is the first of the month. */
function bitsOf(from: string, to: string): string {
  const bit = (day: string): string => `CAST(least(greatest(${day} - month, 0), ${daysOfMonth}) AS INTEGER)`;
  return `((1::BIGINT << ${bit(to)}) - (1::BIGINT << ${bit(from)}))`;
}

function bitOf(day: string): string {
  return `CAST(1 << (CAST(extract(day FROM ${day}) AS INTEGER) - 1) AS INTEGER)`;
}

/** Columns: the four kinds of days and their sum. */
const counts = ['asked', 'present', 'quarantined', 'missing', 'never_read'];

function summed(names: readonly string[]): string {
  return names.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ');
}

/** SQL of the first and the last asked day, the latter excluded. */
interface AskedDays {
  readonly from: string;
  readonly to: string;
}

/** SQL of a condition on a column of keys, which the rows of some wells meet. */
type OfWells = (column: string) => string;

/** That of the wells that `isNamed` in `well_key`: beside a join, for the engine to skip the rows of other wells. */
async function amongWells(session: SqlSession, isNamed: string, values?: readonly SqlValue[]): Promise<OfWells> {
  const wells = await session.rows<{ key: number }>(`SELECT well_id AS key FROM well_key WHERE ${isNamed}`, values);
  const keys = wells.map(({ key }) => key);
  return keys.length === 0 ? () => 'false' : (column) => session.dialect.amongKeys(column, keys);
}

/** The wells of the question, and what is known of their days. */
const surveyed = (isAskedAbout: string, ofWells: OfWells, { from }: AskedDays): readonly string[] => [
  `INSERT INTO coverage_well
     SELECT CAST(row_number() OVER (ORDER BY uwi) AS INTEGER), uwi, well_id FROM (
       SELECT uwi FROM coverage WHERE ${isAskedAbout}
       UNION SELECT uwi FROM well_key WHERE ${isAskedAbout} AND EXISTS (
         SELECT 1 FROM internal.daily_production stored
         WHERE stored.well_id = well_key.well_id AND ${ofWells('stored.well_id')})
       UNION SELECT uwi FROM quarantine WHERE ${isAskedAbout} UNION SELECT uwi FROM named_well) asked_about
     LEFT JOIN well_key USING (uwi)`,
  // Days after the last asked one are read as well: they show whether a well has fallen silent.
  `INSERT INTO coverage_known
     SELECT well, CAST(date_trunc('month', production_day) AS DATE), bit_or(bit), bit_or(present_bit) & ~bit_or(bit - present_bit)
     FROM (SELECT well, production_day, ${bitOf('production_day')} AS bit, ${bitOf('production_day')} AS present_bit
           FROM internal.daily_production stored JOIN coverage_well USING (well_id)
           WHERE production_day >= coalesce(${from}, production_day) AND ${ofWells('stored.well_id')}
           UNION ALL SELECT well, production_day, ${bitOf('production_day')}, 0
           FROM quarantine JOIN coverage_well USING (uwi) WHERE production_day >= coalesce(${from}, production_day)) days
     GROUP BY 1, 2`,
];

const surveyTables: Readonly<Record<string, string>> = {
  plugged_well: 'uwi VARCHAR',
  named_well: 'uwi VARCHAR',
  coverage_well: 'well INTEGER, uwi VARCHAR, well_id INTEGER',
  coverage_known: 'well INTEGER, month DATE, known INTEGER, present INTEGER',
  coverage_part: `uwi VARCHAR, first_day DATE, last_day DATE, month DATE, of_well BOOLEAN,
    ${counts.map((name) => `${name} BIGINT`).join(', ')}, after_last BIGINT`,
};

/** No zone is further ahead of UTC: the day of an instant, or the one before it, in any zone. */
const daysAheadOfUtc = `INTERVAL '14 hours'`;

/**
 * SQL of the cells of some wells: well, month, and its days of each of the four kinds. Days after the last row of a well
 * that unverified reads alone have passed are not asked for: the next verified read decides whether they are missing.
 */
const cellsOf = (dialect: SqlDialect, days: AskedDays, isInSlice: string): string => `
  WITH known AS (SELECT * FROM coverage_known WHERE ${isInSlice}),
       known_days AS (
         SELECT well, min(month + ${dialect.bitCount('(known & -known) - 1')}) AS first_day,
           max(month + ${dialect.highestBit('known')}) AS last_day
         FROM known GROUP BY well),
       well_asked AS MATERIALIZED (
         SELECT well, uwi, coalesce(${days.from}, first_day) AS from_day, first_day, last_day,
           CASE WHEN uwi IN (SELECT uwi FROM plugged_well)
                THEN least(coalesce(last_day + 1, ${days.from}, ${days.to}), ${days.to}) ELSE ${days.to} END AS to_day
         FROM (SELECT well, uwi FROM coverage_well WHERE ${isInSlice}) wells LEFT JOIN known_days USING (well)),
       asked AS (SELECT well, from_day, to_day, ${dialect.eachMonth('from_day', 'to_day - 1')} AS month FROM well_asked WHERE from_day < to_day),
       undecided AS (
         SELECT well, greatest(last_day + 1, read_to) AS from_day,
           CAST((read_up_to AT TIME ZONE 'UTC') + ${daysAheadOfUtc} AS DATE) AS to_day
         FROM well_asked JOIN (SELECT uwi, max(to_day) AS read_to FROM coverage GROUP BY uwi) reached USING (uwi)
         JOIN (SELECT uwi, watermark AS read_up_to FROM watermark) passed USING (uwi)),
       pending AS (SELECT well, from_day, to_day, ${dialect.eachMonth('from_day', 'to_day - 1')} AS month FROM undecided WHERE from_day < to_day),
       clipped AS (SELECT well, greatest(c.from_day, w.from_day) AS from_day, least(c.to_day, w.to_day) AS to_day
                   FROM coverage c JOIN well_asked w USING (uwi)),
       read AS (SELECT well, from_day, to_day, ${dialect.eachMonth('from_day', 'to_day - 1')} AS month FROM clipped WHERE from_day < to_day),
       part AS (SELECT well, month, ${bitsOf('from_day', 'to_day')} AS asked, 0 AS pending, 0 AS read, 0 AS known, 0 AS present FROM asked
                UNION ALL SELECT well, month, 0, ${bitsOf('from_day', 'to_day')}, 0, 0, 0 FROM pending
                UNION ALL SELECT well, month, 0, 0, ${bitsOf('from_day', 'to_day')}, 0, 0 FROM read
                UNION ALL SELECT well, month, 0, 0, 0, known, present FROM known),
       bits AS (SELECT well, month, bit_or(asked) & (~bit_or(pending)) AS asked, bit_or(read) AS read, bit_or(known) AS known,
                  bit_or(present) AS present
                FROM part GROUP BY well, month HAVING (bit_or(asked) & (~bit_or(pending))) <> 0),
       cell AS (
         SELECT well, month, ${dialect.bitCount('asked')} AS asked, ${dialect.bitCount('asked & present')} AS present,
           ${dialect.bitCount('asked & known & (~present)')} AS quarantined, ${dialect.bitCount('asked & read & (~known)')} AS missing,
           ${dialect.bitCount('asked & (~read) & (~known)')} AS never_read,
           CASE WHEN last_day IS NULL OR last_day >= to_day OR month < date_trunc('month', last_day) THEN 0
                ELSE ${dialect.bitCount(`asked & read & (~known) & ${bitsOf('last_day + 1', 'to_day')}`)} END AS after_last
         FROM bits JOIN well_asked USING (well))`;

/** Both sums in one pass: the cells are never stored. */
const sumStep = (dialect: SqlDialect, days: AskedDays, isInSlice: string): string => `
  INSERT INTO coverage_part ${cellsOf(dialect, days, isInSlice)}
  SELECT uwi, first_day, last_day, month, grouping(uwi) = 0, ${summed(counts)}, ${summed(['after_last'])}
  FROM well_asked LEFT JOIN cell USING (well) GROUP BY GROUPING SETS ((uwi, first_day, last_day), (month))`;

/** Wells per slice: 20 years of them are a quarter of a million months, some 20 MB. */
const wellsInSlice = 1_000;

/** Creates the temporary tables of a survey, in the transaction that then queries them. */
async function surveyCoverage(
  session: SqlSession,
  { uwis, fromDay, toDay, plugged = [] }: CoverageQuestion,
): Promise<CoverageSurvey> {
  const { dialect } = session;
  for (const [name, columns] of Object.entries(surveyTables)) {
    await session.run(dialect.temporaryTable(name, columns));
  }
  await session.run(`INSERT INTO plugged_well SELECT ${dialect.each('$1', 'VARCHAR')}`, [jsonText(plugged)]);
  await session.run(`INSERT INTO named_well SELECT DISTINCT ${dialect.each('$1', 'VARCHAR')}`, [jsonText(uwis ?? [])]);
  const days: AskedDays = {
    from: fromDay === undefined ? 'CAST(NULL AS DATE)' : `(${dayOfNumber(String(fromDay))})`,
    to: `(${dayOfNumber(String(toDay))})`,
  };
  const isAskedAbout = uwis === undefined ? 'true' : 'uwi IN (SELECT uwi FROM named_well)';
  const ofWells = uwis === undefined ? () => 'true' : await amongWells(session, isAskedAbout);
  for (const insertion of surveyed(isAskedAbout, ofWells, days)) await session.run(insertion);
  const wells = await countOf(session, 'coverage_well');
  for (let first = 1; first <= wells; first += wellsInSlice) {
    await session.run(sumStep(dialect, days, `well BETWEEN ${first} AND ${first + wellsInSlice - 1}`));
  }
  return surveyOf(session, days);
}

const countColumns = counts
  .map((name) => `${name}::BIGINT AS "${name === 'never_read' ? 'neverRead' : name}"`)
  .join(', ');
const wellColumns = `${countColumns}, after_last::BIGINT AS "missingAfterLast"`;
const selectWells = `SELECT uwi, first_day AS "firstDay", last_day AS "lastDay", ${wellColumns} FROM coverage_part WHERE of_well`;

/** SQL of core's holesOf. */
const holes = 'never_read + quarantined + missing - after_last';
/** Most holes first, then the most missing days: the wells that need attention. */
const worstFirst = `${holes} DESC, missing DESC, uwi`;

const totals = `SELECT wells, empty AS "emptyWells", holed AS "wellsWithHoles", ${wellColumns} FROM (
  SELECT count(*) AS wells, count(*) FILTER (WHERE first_day IS NULL) AS empty, count(*) FILTER (WHERE ${holes} > 0) AS holed, ${summed(counts)}, ${summed(['after_last'])}
  FROM coverage_part WHERE of_well) of_wells`;

const months = `SELECT month, ${countColumns} FROM (
  SELECT month, ${summed(counts)} FROM coverage_part WHERE month IS NOT NULL GROUP BY month) of_months ORDER BY month`;

const cellsByName = (dialect: SqlDialect, days: AskedDays): string => {
  const isNamed = `well IN (SELECT well FROM coverage_well WHERE uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')}))`;
  return `${cellsOf(dialect, days, isNamed)}
    SELECT uwi, month, ${countColumns} FROM cell JOIN well_asked USING (well) ORDER BY uwi, month`;
};

function surveyOf(session: SqlSession, days: AskedDays): CoverageSurvey {
  return {
    totals: () => oneRow(session, totals),
    worstWells: (limit) => session.rows<WellCoverage>(`${selectWells} ORDER BY ${worstFirst} LIMIT $1`, [limit]),
    wells: () => session.stream<WellCoverage>(`${selectWells} ORDER BY uwi`),
    months: () => session.rows(months),
    cells: (uwis) => session.rows(cellsByName(session.dialect, days), [jsonText(uwis)]),
  };
}

/** Merged intervals of days with a row or a quarantined record. */
const knownStretches = (dialect: SqlDialect, ofWells: OfWells): string => `
  WITH listed AS (SELECT DISTINCT ${dialect.each('$1', 'VARCHAR')} AS uwi),
       days AS (
         SELECT k.uwi, d.production_day
         FROM internal.daily_production d JOIN (SELECT well_id, uwi FROM well_key WHERE uwi IN (SELECT uwi FROM listed)) k
           ON k.well_id = d.well_id AND ${ofWells('d.well_id')}
         UNION ALL SELECT uwi, production_day FROM quarantine
         WHERE production_day IS NOT NULL AND uwi IN (SELECT uwi FROM listed))
  SELECT uwi, min(production_day) - DATE '1970-01-01' AS "fromDay", max(production_day) - DATE '1970-01-01' + 1 AS "toDay"
  FROM (SELECT uwi, production_day,
          production_day - CAST(dense_rank() OVER (PARTITION BY uwi ORDER BY production_day) AS INTEGER) AS island FROM days) islands
  GROUP BY uwi, island ORDER BY uwi, island`;

const readKnownDays: InSession<CoverageStore['knownDays']> = async (session, uwis) => {
  const { dialect } = session;
  const named = [jsonText(uwis)];
  const ofWells = await amongWells(session, `uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')})`, named);
  const rows = await session.rows<DayInterval & { readonly uwi: string }>(knownStretches(dialect, ofWells), named);
  return grouped(rows, ({ uwi }) => uwi);
};

export function createCoverageStore(database: SqlDatabase): CoverageStore {
  return {
    ...transacted<Omit<CoverageStore, 'survey' | 'knownDays'>>(database, {
      staleWells: readStaleWells,
      reachedWatermarks: readReachedWatermarks,
      unknownWells: readUnknownWells,
      traces: readTraces,
      history: readWellHistory,
      effectOf: readRunEffect,
      partlyRead: readPartlyRead,
      disputedWells: readDisputedWells,
      disputedMonths: readDisputedMonths,
    }),
    survey: (question, use) => database.transactOnce(async (session) => use(await surveyCoverage(session, question))),
    knownDays: async (uwis) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readKnownDays(session, uwis)),
  };
}

/**
 * Wells that need a look: stale ones, ones that the service does not know, and what is known of a well without a day.
 */
const unknownWells = `${unknownOf('uwi')} missed`;

/** SQL of an instant without the parts of its second. */
const toSecond = (instant: string): string => `date_trunc('second', ${instant})`;

/** SQL of the wells without a new day for long, of SQL of the members of a question. */
export function silentWells(
  dialect: SqlDialect,
  { today, warnAfterDays, plugged }: Readonly<Record<keyof StaleWellsQuestion, string>>,
): string {
  return `SELECT uwi, last_day, ${dayOfNumber(today)} - last_day - 1 AS silent_days FROM watermark
     WHERE last_day <= ${dayOfNumber(`${today} - ${warnAfterDays}`)} - 1
       AND uwi NOT IN (SELECT ${dialect.each(plugged, 'VARCHAR')})`;
}

const readStaleWells: InSession<CoverageStore['staleWells']> = (session, { today, warnAfterDays, plugged }) =>
  session.rows(
    `WITH silent AS (${silentWells(session.dialect, { today: '$1::INTEGER', warnAfterDays: '$2::INTEGER', plugged: '$3' })})
     SELECT silent.uwi, last_day AS "lastDay", silent_days AS "silentDays", count(q.raw) AS quarantined,
       ${toSecond('max(since)')} AS "unknownSince"
     FROM silent LEFT JOIN ${unknownWells} ON target = silent.uwi
     LEFT JOIN quarantine q ON q.uwi = silent.uwi AND coalesce(q.production_day > last_day, true)
     GROUP BY silent.uwi, last_day, silent_days ORDER BY last_day DESC, silent.uwi`,
    [today, warnAfterDays, jsonText(plugged)],
  );

const readUnknownWells: InSession<CoverageStore['unknownWells']> = (session) =>
  session.rows(`SELECT target AS uwi, ${toSecond('missed.since')} AS since, run_id AS "runId", last_day AS "lastDay"
     FROM ${unknownWells} LEFT JOIN watermark ON uwi = target ORDER BY missed.since DESC, target`);

const readTraces: InSession<CoverageStore['traces']> = (session, uwis) =>
  session.rows(
    `SELECT uwi, ${toSecond('watermark')} AS "readUpTo", ${toSecond('since')} AS "unknownSince"
     FROM (SELECT DISTINCT ${session.dialect.each('$1', 'VARCHAR')} AS uwi) named
     LEFT JOIN watermark USING (uwi) LEFT JOIN ${unknownWells} ON target = uwi ORDER BY uwi`,
    [jsonText(uwis)],
  );

const readPartlyRead: InSession<CoverageStore['partlyRead']> = async (session, historyFromDay) => {
  const wells = await session.rows<{ uwi: string }>(
    `SELECT uwi FROM coverage WHERE uwi NOT IN (SELECT uwi FROM watermark)
     GROUP BY uwi HAVING min(from_day) > ${dayOfNumber('$1::INTEGER')}`,
    [historyFromDay],
  );
  return wells.map(({ uwi }) => uwi);
};

/** Discrete percentiles, which both engines have: the watermark of a well, and none in between. */
const readReachedWatermarks: InSession<CoverageStore['reachedWatermarks']> = async (session, shares) => {
  const reached = shares.map(
    (share, index) =>
      `(extract(epoch FROM percentile_disc(${share}) WITHIN GROUP (ORDER BY watermark DESC)) * 1000)::DOUBLE PRECISION AS "of${index}"`,
  );
  const row = await oneRow<Record<string, number | null>>(session, `SELECT ${reached.join(', ')} FROM watermark`);
  const watermarks = shares.flatMap((_, index) => row[`of${index}`] ?? []);
  return watermarks.length === shares.length ? watermarks : undefined;
};
