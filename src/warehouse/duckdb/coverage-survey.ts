/**
 * Says what the warehouse has of the days that are asked for. Days are counted as bits of their months, so that however
 * many years there are, the engine groups by well and month and never by day; and wells are taken in slices, since the
 * months of all wells at once would not fit into the engine's memory (G8):
 *
 *   coverage_well    the wells that are asked about, in order
 *   coverage_cell    well and month of one slice: its days in each of the four ways
 *   coverage_sum     the same summed by well       coverage_month   and by month, all wells together
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { DayInterval, WellCoverage } from '../../core/coverage.ts';
import type { CoverageQuestion, CoverageSurvey, MonthCoverage } from '../warehouse.ts';
import { dayOfNumber } from './coverage-ledger.ts';
import { jsonText, readRows, streamRows } from './sql.ts';

/** The days of [from, to) in a month, as bits: the first of the month is 1. */
function bitsOf(from: string, to: string): string {
  const place = (day: string): string => `least(greatest(${day} - month, 0), day(last_day(month)))`;
  return `((1::BIGINT << ${place(to)}) - (1::BIGINT << ${place(from)}))`;
}

/** The months that the days [from, to) touch. */
function monthsOf(from: string, to: string): string {
  return `unnest(generate_series(date_trunc('month', ${from}), ${to} - 1, INTERVAL 1 MONTH))::DATE`;
}

/** The four ways and their sum, as columns. */
const counts = ['asked', 'present', 'quarantined', 'missing', 'never_read'];

function summed(names: readonly string[]): string {
  return names.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ');
}

const askedFrom = `getvariable('asked_from')`;
const askedTo = `getvariable('asked_to')`;
const isAskedAbout = `(getvariable('all_wells') OR uwi IN (FROM named_well))`;
const isAskedDay = `production_day >= coalesce(${askedFrom}, production_day) AND production_day < ${askedTo}`;

const wellSteps: readonly string[] = [
  `CREATE OR REPLACE TEMP TABLE coverage_well AS
     SELECT row_number() OVER (ORDER BY uwi) AS well, uwi FROM (
       SELECT uwi FROM coverage WHERE ${isAskedAbout} UNION SELECT uwi FROM daily_production WHERE ${isAskedAbout}
       UNION SELECT uwi FROM quarantine WHERE ${isAskedAbout} UNION SELECT uwi FROM named_well)`,
  `CREATE OR REPLACE TEMP TABLE coverage_sum
     (uwi VARCHAR, first_day DATE, last_day DATE, ${counts.map((name) => `${name} BIGINT`).join(', ')}, after_last BIGINT)`,
  `CREATE OR REPLACE TEMP TABLE coverage_month (month DATE, ${counts.map((name) => `${name} BIGINT`).join(', ')})`,
];

/** The wells of a slice; the bounds of their names spare the engine the parts of the large table that hold none of them. */
const inSlice = `uwi >= $1 AND uwi <= $2 AND uwi IN (SELECT uwi FROM coverage_well)`;

/** Makes `coverage_slice` and `coverage_cell` of the wells from one name to another. */
const cellSteps: readonly string[] = [
  `CREATE OR REPLACE TEMP TABLE coverage_known AS
     SELECT uwi, date_trunc('month', production_day)::DATE AS month, bit_or(bit) AS known,
       bit_or(CASE WHEN present THEN bit ELSE 0 END) AS present, min(production_day) AS first_day, max(production_day) AS last_day
     FROM (SELECT *, 1::BIGINT << (day(production_day) - 1) AS bit FROM (
             SELECT uwi, production_day, true AS present FROM daily_production WHERE ${inSlice} AND ${isAskedDay}
             UNION ALL SELECT uwi, production_day, false FROM quarantine WHERE ${inSlice} AND ${isAskedDay}))
     GROUP BY ALL`,

  `CREATE OR REPLACE TEMP TABLE coverage_slice AS
     SELECT well, uwi, coalesce(${askedFrom}, first_day) AS from_day, first_day, last_day FROM coverage_well
     LEFT JOIN (SELECT uwi, min(first_day) AS first_day, max(last_day) AS last_day FROM coverage_known GROUP BY uwi) USING (uwi)
     WHERE uwi >= $1 AND uwi <= $2`,

  `CREATE OR REPLACE TEMP TABLE coverage_cell AS
     WITH asked AS (SELECT well, from_day, ${monthsOf('from_day', askedTo)} AS month FROM coverage_slice WHERE from_day < ${askedTo}),
          clipped AS (SELECT well, greatest(c.from_day, w.from_day) AS from_day, least(c.to_day, ${askedTo}) AS to_day
                      FROM coverage c JOIN coverage_slice w USING (uwi) WHERE uwi >= $1 AND uwi <= $2),
          read AS (SELECT well, from_day, to_day, ${monthsOf('from_day', 'to_day')} AS month FROM clipped WHERE from_day < to_day),
          part AS (SELECT well, month, ${bitsOf('from_day', askedTo)} AS asked, 0 AS read, 0 AS known, 0 AS present FROM asked
                   UNION ALL SELECT well, month, 0, ${bitsOf('from_day', 'to_day')}, 0, 0 FROM read
                   UNION ALL SELECT well, month, 0, 0, known, present FROM coverage_known JOIN coverage_slice USING (uwi)),
          cell AS (SELECT well, month, bit_or(asked) AS asked, bit_or(read) AS read, bit_or(known) AS known, bit_or(present) AS present
                   FROM part GROUP BY well, month HAVING bit_or(asked) <> 0)
     SELECT well, uwi, first_day, last_day, month, bit_count(asked) AS asked, bit_count(asked & present) AS present,
       bit_count(asked & known & ~present) AS quarantined, bit_count(asked & read & ~known) AS missing,
       bit_count(asked & ~read & ~known) AS never_read,
       CASE WHEN last_day IS NULL OR month < date_trunc('month', last_day) THEN 0
            ELSE coalesce(bit_count(asked & read & ~known & ${bitsOf('last_day + 1', askedTo)}), 0) END AS after_last
     FROM cell JOIN coverage_slice USING (well)`,
];

const sumSteps: readonly string[] = [
  `INSERT INTO coverage_sum
     SELECT uwi, any_value(w.first_day), any_value(w.last_day), ${summed(counts)}, ${summed(['after_last'])}
     FROM coverage_slice w LEFT JOIN coverage_cell USING (well, uwi) GROUP BY uwi ORDER BY uwi`,
  `INSERT INTO coverage_month SELECT month, ${summed(counts)} FROM coverage_cell GROUP BY month`,
];

/** So many wells at one time: 20 years of them are a quarter of a million months, some 20 MB. */
const wellsInSlice = 1_000;

/** Makes the temporary tables of a survey, in the transaction in which it is then asked. */
export async function surveyCoverage(
  connection: DuckDBConnection,
  { uwis, fromDay, toDay }: CoverageQuestion,
): Promise<CoverageSurvey> {
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE named_well AS SELECT DISTINCT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi`,
    [jsonText(uwis ?? [])],
  );
  await connection.run(`SET VARIABLE all_wells = ${uwis === undefined}`);
  await connection.run(
    `SET VARIABLE asked_from = ${fromDay === undefined ? 'NULL::DATE' : dayOfNumber(String(fromDay))}`,
  );
  await connection.run(`SET VARIABLE asked_to = ${dayOfNumber(String(toDay))}`);
  for (const step of wellSteps) await connection.run(step);
  for (const { first, last } of await readSlices(connection)) {
    await makeCells(connection, first, last);
    for (const step of sumSteps) await connection.run(step);
  }
  return surveyOf(connection);
}

function readSlices(
  connection: DuckDBConnection,
): Promise<ReadonlyArray<{ readonly first: string; readonly last: string }>> {
  return readRows(
    connection,
    `SELECT min(uwi) AS first, max(uwi) AS last FROM coverage_well
     GROUP BY (well - 1) // ${wellsInSlice} ORDER BY (well - 1) // ${wellsInSlice}`,
  );
}

async function makeCells(connection: DuckDBConnection, first: string, last: string): Promise<void> {
  for (const step of cellSteps) await connection.run(step, [first, last]);
}

const toldCounts = counts
  .map((name) => `${name}::BIGINT AS "${name === 'never_read' ? 'neverRead' : name}"`)
  .join(', ');
const toldWell = `uwi, first_day AS "firstDay", last_day AS "lastDay", ${toldCounts}, after_last AS "missingAfterLast"`;

/** Holes first, then what fell silent: what to look at before all else. */
const worstFirst = `never_read + quarantined + missing - after_last DESC, missing DESC, uwi`;

function surveyOf(connection: DuckDBConnection): CoverageSurvey {
  return {
    totals: async () => {
      const [row] = await readRows<Awaited<ReturnType<CoverageSurvey['totals']>>>(
        connection,
        `SELECT wells, empty AS "emptyWells", ${toldCounts}, after_last AS "missingAfterLast" FROM (
           SELECT count(*) AS wells, count(*) FILTER (first_day IS NULL) AS empty, ${summed(counts)},
             ${summed(['after_last'])} FROM coverage_sum)`,
      );
      if (row === undefined) throw new Error('a sum without a row');
      return row;
    },
    worstWells: (limit) =>
      readRows<WellCoverage>(connection, `SELECT ${toldWell} FROM coverage_sum ORDER BY ${worstFirst} LIMIT $1`, [
        limit,
      ]),
    wells: () => streamRows<WellCoverage>(connection, `SELECT ${toldWell} FROM coverage_sum ORDER BY uwi`),
    months: () =>
      readRows(
        connection,
        `SELECT month, ${toldCounts} FROM (SELECT month, ${summed(counts)} FROM coverage_month GROUP BY month) ORDER BY month`,
      ),
    cells: (uwis) => readCells(connection, uwis),
  };
}

/** A slice for each well: they may lie far apart. */
async function readCells(connection: DuckDBConnection, uwis: readonly string[]): ReturnType<CoverageSurvey['cells']> {
  const cells: (MonthCoverage & { readonly uwi: string })[] = [];
  for (const uwi of uwis) {
    await makeCells(connection, uwi, uwi);
    cells.push(
      ...(await readRows<(typeof cells)[number]>(
        connection,
        `SELECT uwi, month, ${toldCounts} FROM coverage_cell ORDER BY month`,
      )),
    );
  }
  return cells;
}

/** Neighbouring days that have a row or a quarantined record, put together. */
const knownStretches = `
  SELECT uwi, min(production_day) - DATE '1970-01-01' AS "fromDay", max(production_day) - DATE '1970-01-01' + 1 AS "toDay"
  FROM (SELECT uwi, production_day, production_day - dense_rank() OVER (PARTITION BY uwi ORDER BY production_day)::INTEGER AS island
        FROM (SELECT uwi, production_day FROM daily_production
              UNION ALL SELECT uwi, production_day FROM quarantine WHERE production_day IS NOT NULL)
        WHERE uwi IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]'))))
  GROUP BY uwi, island ORDER BY uwi, island`;

export async function readKnownDays(
  connection: DuckDBConnection,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, readonly DayInterval[]>> {
  const rows = await readRows<{ uwi: string; fromDay: number; toDay: number }>(connection, knownStretches, [
    jsonText(uwis),
  ]);
  const known = new Map<string, DayInterval[]>();
  for (const { uwi, fromDay, toDay } of rows) {
    const stretches = known.get(uwi);
    if (stretches === undefined) known.set(uwi, [{ fromDay, toDay }]);
    else stretches.push({ fromDay, toDay });
  }
  return known;
}
