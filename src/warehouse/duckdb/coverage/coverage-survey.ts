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
import type { DuckDBConnection } from '@duckdb/node-api';
import { grouped } from '../../../core/base/grouped.ts';
import type { DayInterval, WellCoverage } from '../../../core/daily/coverage.ts';
import type { CoverageQuestion, CoverageSurvey } from '../../port/coverage.ts';
import { dayOfNumber } from '../../sql/session.ts';
import { jsonText, readRows, streamRows } from '../file/sql.ts';

/** SQL of the days of [from, to) in a month, as bits: bit 1 is the first of the month. */
function bitsOf(from: string, to: string): string {
  const place = (day: string): string => `least(greatest(${day} - month, 0), day(last_day(month)))`;
  return `((1::BIGINT << ${place(to)}) - (1::BIGINT << ${place(from)}))`;
}

/** SQL of the rows of some wells, by the key of a well: the engine does not find them by `uwi`. */
function rowsOfWells(isAskedAbout: string): string {
  return `(FROM internal.daily_production SEMI JOIN (SELECT well_id FROM well_key WHERE ${isAskedAbout}) USING (well_id))`;
}

/** SQL of the months that the days [from, to) touch. */
function monthsOf(from: string, to: string): string {
  return `unnest(generate_series(date_trunc('month', ${from}), ${to} - 1, INTERVAL 1 MONTH))::DATE`;
}

/** Columns: the four kinds of days and their sum. */
const counts = ['asked', 'present', 'quarantined', 'missing', 'never_read'];

function summed(names: readonly string[]): string {
  return names.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ');
}

const askedFrom = `getvariable('asked_from')`;
const askedTo = `getvariable('asked_to')`;
/** Later days are read as well: they show whether a well has fallen silent. */
const isFromAskedDay = `production_day >= coalesce(${askedFrom}, production_day)`;

const tables = (isAskedAbout: string, rowsAskedAbout: string): readonly string[] => [
  `CREATE OR REPLACE TEMP TABLE coverage_well AS
     SELECT (row_number() OVER (ORDER BY uwi))::INTEGER AS well, uwi FROM (
       SELECT uwi FROM coverage WHERE ${isAskedAbout} UNION SELECT uwi FROM ${rowsAskedAbout}
       UNION SELECT uwi FROM quarantine WHERE ${isAskedAbout} UNION SELECT uwi FROM named_well)`,
  `CREATE OR REPLACE TEMP TABLE coverage_known AS
     SELECT well, date_trunc('month', production_day)::DATE AS month, bit_or(bit) AS known,
       bit_or(present_bit) & ~bit_or(bit - present_bit) AS present
     FROM (SELECT uwi, production_day, (1 << (day(production_day) - 1))::INTEGER AS bit, bit AS present_bit
           FROM ${rowsAskedAbout} WHERE ${isFromAskedDay}
           UNION ALL SELECT uwi, production_day, (1 << (day(production_day) - 1))::INTEGER, 0
           FROM quarantine WHERE ${isAskedAbout} AND ${isFromAskedDay})
     JOIN coverage_well USING (uwi) GROUP BY ALL`,
  `CREATE OR REPLACE TEMP TABLE coverage_part (uwi VARCHAR, first_day DATE, last_day DATE, month DATE, of_well BOOLEAN,
     ${counts.map((name) => `${name} BIGINT`).join(', ')}, after_last BIGINT)`,
];

/** No zone is further ahead of UTC: the day of an instant, or the one before it, in any zone. */
const daysAheadOfUtc = 'INTERVAL 14 HOUR';

const lowestDay = `month + bit_count((known & -known) - 1)::INTEGER`;
const highestDay = `month + floor(log2(known))::INTEGER`;

/**
 * SQL of the cells of some wells: well, month, and its days of each of the four kinds. Days after the last row of a well
 * that unverified reads alone have passed are not asked for: the next verified read decides whether they are missing.
 */
const cellsOf = (isInSlice: string): string => `
  WITH known AS (FROM coverage_known WHERE ${isInSlice}),
       well_asked AS MATERIALIZED (
         SELECT well, uwi, coalesce(${askedFrom}, first_day) AS from_day, first_day, last_day,
           CASE WHEN uwi IN (FROM plugged_well) THEN least(coalesce(last_day + 1, ${askedFrom}, ${askedTo}), ${askedTo})
                ELSE ${askedTo} END AS to_day
         FROM (FROM coverage_well WHERE ${isInSlice})
         LEFT JOIN (SELECT well, min(${lowestDay}) AS first_day, max(${highestDay}) AS last_day FROM known GROUP BY well)
         USING (well)),
       asked AS (SELECT well, from_day, to_day, ${monthsOf('from_day', 'to_day')} AS month FROM well_asked WHERE from_day < to_day),
       undecided AS (
         SELECT well, greatest(last_day + 1, read_to) AS from_day, ((read_up_to AT TIME ZONE 'UTC') + ${daysAheadOfUtc})::DATE AS to_day
         FROM well_asked JOIN (SELECT uwi, max(to_day) AS read_to FROM coverage GROUP BY uwi) USING (uwi)
         JOIN (SELECT uwi, watermark AS read_up_to FROM watermark) USING (uwi)),
       pending AS (SELECT well, from_day, to_day, ${monthsOf('from_day', 'to_day')} AS month FROM undecided WHERE from_day < to_day),
       clipped AS (SELECT well, greatest(c.from_day, w.from_day) AS from_day, least(c.to_day, w.to_day) AS to_day
                   FROM coverage c JOIN well_asked w USING (uwi)),
       read AS (SELECT well, from_day, to_day, ${monthsOf('from_day', 'to_day')} AS month FROM clipped WHERE from_day < to_day),
       part AS (SELECT well, month, ${bitsOf('from_day', 'to_day')} AS asked, 0 AS pending, 0 AS read, 0 AS known, 0 AS present FROM asked
                UNION ALL SELECT well, month, 0, ${bitsOf('from_day', 'to_day')}, 0, 0, 0 FROM pending
                UNION ALL SELECT well, month, 0, 0, ${bitsOf('from_day', 'to_day')}, 0, 0 FROM read
                UNION ALL SELECT well, month, 0, 0, 0, known, present FROM known),
       bits AS (SELECT well, month, bit_or(asked) & ~bit_or(pending) AS asked, bit_or(read) AS read, bit_or(known) AS known,
                  bit_or(present) AS present
                FROM part GROUP BY well, month HAVING bit_or(asked) & ~bit_or(pending) <> 0),
       cell AS (
         SELECT well, month, bit_count(asked) AS asked, bit_count(asked & present) AS present,
           bit_count(asked & known & ~present) AS quarantined, bit_count(asked & read & ~known) AS missing,
           bit_count(asked & ~read & ~known) AS never_read,
           CASE WHEN last_day IS NULL OR last_day >= to_day OR month < date_trunc('month', last_day) THEN 0
                ELSE bit_count(asked & read & ~known & ${bitsOf('last_day + 1', 'to_day')}) END AS after_last
         FROM bits JOIN well_asked USING (well))`;

/** Both sums in one pass: the cells are never stored. */
const sumStep = `INSERT INTO coverage_part ${cellsOf('well BETWEEN $1 AND $2')}
  SELECT uwi, first_day, last_day, month, grouping(uwi) = 0, ${summed(counts)}, ${summed(['after_last'])}
  FROM well_asked LEFT JOIN cell USING (well) GROUP BY GROUPING SETS ((uwi, first_day, last_day), (month))`;

/** Wells per slice: 20 years of them are a quarter of a million months, some 20 MB. */
const wellsInSlice = 1_000;

/** Creates the temporary tables of a survey, in the transaction that then queries them. */
export async function surveyCoverage(
  connection: DuckDBConnection,
  { uwis, fromDay, toDay, plugged = [] }: CoverageQuestion,
): Promise<CoverageSurvey> {
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE plugged_well AS SELECT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi`,
    [jsonText(plugged)],
  );
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE named_well AS SELECT DISTINCT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi`,
    [jsonText(uwis ?? [])],
  );
  await connection.run(
    `SET VARIABLE asked_from = ${fromDay === undefined ? 'NULL::DATE' : dayOfNumber(String(fromDay))}`,
  );
  await connection.run(`SET VARIABLE asked_to = ${dayOfNumber(String(toDay))}`);
  const isAskedAbout = uwis === undefined ? 'true' : 'uwi IN (FROM named_well)';
  const rowsAskedAbout = uwis === undefined ? 'internal.daily_production' : rowsOfWells('uwi IN (FROM named_well)');
  for (const table of tables(isAskedAbout, rowsAskedAbout)) await connection.run(table);
  const [{ wells } = { wells: 0 }] = await readRows<{ wells: number }>(
    connection,
    'SELECT count(*) AS wells FROM coverage_well',
  );
  for (let first = 1; first <= wells; first += wellsInSlice) {
    await connection.run(sumStep, [first, first + wellsInSlice - 1]);
  }
  return surveyOf(connection);
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
  SELECT count(*) AS wells, count(*) FILTER (first_day IS NULL) AS empty, count(*) FILTER (${holes} > 0) AS holed, ${summed(counts)}, ${summed(['after_last'])}
  FROM coverage_part WHERE of_well)`;

const months = `SELECT month, ${countColumns} FROM (
  SELECT month, ${summed(counts)} FROM coverage_part WHERE month IS NOT NULL GROUP BY month) ORDER BY month`;

const isNamed = `well IN (SELECT well FROM coverage_well WHERE uwi IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]'))))`;
const cellsByName = `${cellsOf(isNamed)} SELECT uwi, month, ${countColumns} FROM cell JOIN well_asked USING (well) ORDER BY uwi, month`;

function surveyOf(connection: DuckDBConnection): CoverageSurvey {
  return {
    totals: async () => {
      const [row] = await readRows<Awaited<ReturnType<CoverageSurvey['totals']>>>(connection, totals);
      if (row === undefined) throw new Error('a sum without a row');
      return row;
    },
    worstWells: (limit) =>
      readRows<WellCoverage>(connection, `${selectWells} ORDER BY ${worstFirst} LIMIT $1`, [limit]),
    wells: () => streamRows<WellCoverage>(connection, `${selectWells} ORDER BY uwi`),
    months: () => readRows(connection, months),
    cells: (uwis) => readRows(connection, cellsByName, [jsonText(uwis)]),
  };
}

const isListed = `uwi IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`;

/** Merged intervals of days with a row or a quarantined record. */
const knownStretches = `
  SELECT uwi, min(production_day) - DATE '1970-01-01' AS "fromDay", max(production_day) - DATE '1970-01-01' + 1 AS "toDay"
  FROM (SELECT uwi, production_day, production_day - dense_rank() OVER (PARTITION BY uwi ORDER BY production_day)::INTEGER AS island
        FROM (SELECT uwi, production_day FROM ${rowsOfWells(isListed)}
              UNION ALL SELECT uwi, production_day FROM quarantine WHERE production_day IS NOT NULL AND ${isListed}))
  GROUP BY uwi, island ORDER BY uwi, island`;

export async function readKnownDays(
  connection: DuckDBConnection,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, readonly DayInterval[]>> {
  const rows = await readRows<DayInterval & { readonly uwi: string }>(connection, knownStretches, [jsonText(uwis)]);
  return grouped(rows, ({ uwi }) => uwi);
}
