/**
 * Reads months of wells, a slice of wells at a time: the months of all wells at once may exceed an engine's memory (G8). With
 * a moment, the volumes of each month as they were known then stand beside those of now.
 */
import { defaultRateBasis, type RateBasis, volumeNames, volumeRates } from '../../../core/daily/units.ts';
import type { MonthOfWell, MonthsQuestion, MonthStore, Volumes } from '../../port/wells.ts';
import {
  type InSession,
  instantAt,
  jsonText,
  oneRow,
  type SqlDatabase,
  type SqlDialect,
  type SqlSession,
  type SqlValue,
  transacted,
} from '../session.ts';
import { conflictOfRecord, counts } from './row-fields.ts';

/** 25 years of them are 60,000 months. */
const wellsInSlice = 200;

interface Row extends Omit<MonthOfWell, 'downtimeByCode' | 'asKnown' | keyof Volumes>, Volumes {
  readonly downtimeByCode: string | null;
  /** Of the months that changed since the moment. */
  readonly isChanged?: boolean;
  readonly knownOil?: number | null;
  readonly knownGas?: number | null;
  readonly knownWater?: number | null;
}

export function createMonthStore(database: SqlDatabase): MonthStore {
  return {
    ...transacted<Omit<MonthStore, 'months'>>(database, { rateBasis: readRateBasis, keepRateBasis }),
    months: (question, use) => database.transactOnce((session) => use(readMonths(session, question))),
  };
}

export const readRateBasis: InSession<MonthStore['rateBasis']> = async (session) =>
  (await oneRow<{ basis: RateBasis }>(session, `SELECT ${rateBasisOfWarehouse} AS basis`)).basis;

const keepRateBasis: InSession<MonthStore['keepRateBasis']> = async (session, basis) =>
  void (await session.run('UPDATE warehouse SET rate_basis = $1 WHERE rate_basis IS DISTINCT FROM $1', [basis]));

/** In the order of wells and months. To be read before the next statement. */
async function* readMonths(session: SqlSession, question: MonthsQuestion): AsyncGenerator<MonthOfWell> {
  const { uwis, after, limit = Infinity } = question;
  const named = (uwis === undefined ? await knownWells(session) : [...new Set(uwis)].toSorted(byBytes)).filter(
    (uwi) => after === undefined || byBytes(uwi, after.uwi) >= 0,
  );
  let left = limit;
  for (let first = 0; first < named.length && left > 0; first += wellsInSlice) {
    const slice = named.slice(first, first + wellsInSlice);
    const stored = await storedRows(session, slice);
    for await (const row of session.stream<Row>(
      ...statementOf(session.dialect, slice, stored, { ...question, limit: left }),
    )) {
      left -= 1;
      yield monthOfRow(row, question.knownAtMs !== undefined);
    }
  }
}

/** Those of which a month may be known: with a row, at any time, or a quarantined record. */
async function knownWells(session: SqlSession): Promise<readonly string[]> {
  const rows = await session.rows<{ uwi: string }>(
    'SELECT uwi FROM well_key UNION SELECT uwi FROM quarantine ORDER BY uwi',
  );
  return rows.map(({ uwi }) => uwi);
}

/** The order of both engines. */
function byBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

/**
 * The stored rows of the wells, for the engine to skip those of others: as relations of daily production, whose view finds
 * them by name alone. `ofSlice` is one of all records.
 */
async function storedRows(session: SqlSession, slice: readonly string[]): Promise<string> {
  const named = `uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
  const keys = await session.rows<{ key: number }>(`SELECT well_id AS key FROM well_key WHERE ${named}`, [
    jsonText(slice),
  ]);
  const isOfSlice =
    keys.length === 0
      ? 'false'
      : session.dialect.amongKeys(
          'd.well_id',
          keys.map(({ key }) => key),
        );
  const columns = ['xid', 'production_day', ...rateColumns, 'downtime_code', 'changed_at'];
  return `(SELECT k.uwi, ${columns.map((name) => `d.${name}`).join(', ')}, ${counts}
    FROM internal.daily_production d JOIN well_key k ON k.well_id = d.well_id
      ${conflictOfRecord}
    WHERE ${isOfSlice})`;
}

const rateColumns = [...Object.values(volumeRates), 'downtime_hours'];

function statementOf(
  dialect: SqlDialect,
  slice: readonly string[],
  stored: string,
  { knownAtMs, after, limit }: MonthsQuestion,
): readonly [sql: string, values: readonly SqlValue[]] {
  const values: SqlValue[] = [];
  const parameter = (value: SqlValue): string => `$${values.push(value)}`;
  // Constants, which an engine takes to each table.
  const isInSlice = `uwi IN (${slice.map((uwi) => parameter(uwi)).join(', ')})`;
  const rows = { counting: `(SELECT * FROM ${stored} stored WHERE counts)`, all: stored };
  const isBehind =
    after === undefined
      ? ''
      : `WHERE (uwi, production_month) > (${parameter(after.uwi)}, ${parameter(after.month)}::DATE)`;
  const end = limit === undefined || limit === Infinity ? '' : `LIMIT ${parameter(limit)}`;
  const now = `SELECT * FROM (${monthsOf(dialect, rows)}) months WHERE ${isInSlice}`;
  const months = knownAtMs === undefined ? `(${now}) m` : withKnown(now, stored, isInSlice, instantAt(knownAtMs));
  const known = knownAtMs === undefined ? [] : ['is_changed AS "isChanged"', ...knownColumns];
  const columns = [
    'uwi',
    'production_month AS month',
    'days_present AS "daysPresent"',
    'days_missing AS "daysMissing"',
    'days_quarantined AS "daysQuarantined"',
    'hours_on AS "hoursOn"',
    'oil, gas, water',
    'water_injected AS "waterInjected"',
    'gas_injected AS "gasInjected"',
    'downtime_hours AS "downtimeHours"',
    'downtime_by_code AS "downtimeByCode"',
    ...known,
  ];
  return [`SELECT ${columns.join(', ')} FROM ${months} ${isBehind} ORDER BY uwi, production_month ${end}`, values];
}

/** The volumes that are compared: those of every well. */
const compared = ['oil', 'gas', 'water'] as const;
const knownColumns = compared.map((name) => `known_${name} AS "known${name.charAt(0).toUpperCase()}${name.slice(1)}"`);

/**
 * SQL of the months of now and those of then. Only months of which a row came, changed or left since are computed again. One
 * record of a day counted then: the one that counts now, if it was there, else the one that was known last.
 */
function withKnown(now: string, stored: string, isInSlice: string, moment: string): string {
  const rates = [...Object.values(volumeRates).slice(0, compared.length), 'downtime_hours'];
  const columns = `uwi, xid, production_day, ${rates.join(', ')}`;
  const ofDay = `production_day IS NOT NULL AND ${isInSlice}`;
  const countsNow = `EXISTS (SELECT 1 FROM internal.conflicting_day c JOIN well_key k ON k.well_id = c.well_id
    WHERE k.uwi = s.uwi AND c.production_day = s.production_day AND c.xid = s.xid)`;
  return `(
    WITH changed AS (
      SELECT uwi, ${monthOf('production_day')} AS production_month FROM daily_production_history
      WHERE noticed_at > ${moment} AND ${ofDay}
      UNION SELECT uwi, ${monthOf('production_day')} FROM ${stored} now_stored WHERE changed_at > ${moment} AND ${ofDay}),
    stood AS (
      SELECT v.*, c.production_month FROM (
        SELECT ${columns}, changed_at AS known_from FROM ${stored} still WHERE changed_at <= ${moment} AND ${ofDay}
        UNION ALL SELECT ${columns}, known_from FROM daily_production_history
        WHERE known_from <= ${moment} AND noticed_at > ${moment} AND ${ofDay}) v
      JOIN changed c ON c.uwi = v.uwi AND c.production_month = ${monthOf('v.production_day')}),
    ranked AS (
      SELECT s.*, row_number() OVER (PARTITION BY uwi, production_day
        ORDER BY CASE WHEN ${countsNow} THEN 0 ELSE 1 END, known_from DESC, xid DESC) AS rank FROM stood s),
    known AS (
      SELECT uwi, production_month, ${compared.map((name) => `sum(${volumeOf(volumeRates[name], rateBasisOfWarehouse)}) + 0 AS known_${name}`).join(', ')}
      FROM ranked WHERE rank = 1 GROUP BY 1, 2)
    SELECT coalesce(m.uwi, b.uwi) AS uwi, coalesce(m.production_month, b.production_month) AS production_month,
      ${['present', 'missing', 'quarantined'].map((kind) => `coalesce(days_${kind}, 0) AS days_${kind}`).join(', ')},
      hours_on, ${volumeNames.join(', ')}, downtime_hours, downtime_by_code, b.uwi IS NOT NULL AS is_changed,
      ${compared.map((name) => `known_${name}`).join(', ')}
    FROM (${now}) m FULL JOIN (
      SELECT c.uwi, c.production_month, ${compared.map((name) => `known_${name}`).join(', ')} FROM changed c
      LEFT JOIN known k ON k.uwi = c.uwi AND k.production_month = c.production_month) b
    ON b.uwi = m.uwi AND b.production_month = m.production_month) m`;
}

function monthOfRow(row: Row, isCompared: boolean): MonthOfWell {
  const { downtimeByCode, isChanged = false, knownOil, knownGas, knownWater, ...month } = row;
  const codes = downtimeByCode === null ? null : (JSON.parse(downtimeByCode) as Readonly<Record<string, number>>);
  const { oil, gas, water } = row;
  const known = { oil: knownOil ?? null, gas: knownGas ?? null, water: knownWater ?? null };
  const asKnown = isChanged ? known : { oil, gas, water };
  return { ...month, downtimeByCode: codes, ...(isCompared ? { asKnown } : {}) };
}

// SQL of the view `monthly_production`: a row a well and month of which a day is known, by the record of each day that
// counts. A day without a row adds nothing to a sum, and is counted as what coverage calls it (coverage-survey.ts).
//
// A row is read once, with the month and the code of its downtime; days are bits of their months. Conditions on `uwi` reach
// every table, and no condition on the month reaches the coverage: the first known day of a well decides what is missing.

/** Hours of a day in which the well was down, 0 to 24 whatever came; null where none came. A rate is per 24 hours, on days of 23 and 25 as well. */
const hoursDown = 'CASE WHEN downtime_hours IS NOT NULL THEN least(greatest(downtime_hours, 0), 24) END';

/** The volume of a day: its rate, or as much of it as the well was on; null without a rate. As {@link summable}, in sums. */
function volumeOf(rate: string, basis: string): string {
  const bounded = `least(greatest(${rate}, -1e290), 1e290)`;
  const share = `CASE WHEN ${basis} = 'operated-day' THEN (24 - coalesce(${hoursDown}, 0)) / 24 ELSE 1 END`;
  return `CASE WHEN ${rate} IS NOT NULL THEN ${bounded} * ${share} END`;
}

const rateBasisOfWarehouse = `(SELECT coalesce(rate_basis, '${defaultRateBasis}') FROM warehouse)`;

const dayBit = `1 << (CAST(extract(day FROM production_day) AS INTEGER) - 1)`;
const monthOf = (day: string): string => `CAST(date_trunc('month', CAST(${day} AS TIMESTAMP)) AS DATE)`;
const volumes = Object.entries(volumeRates);

type Dialect = Pick<SqlDialect, 'eachMonth' | 'bitCount'>;

export const monthlyProduction = 'monthly_production';

export function monthlyProductionView(dialect: Dialect): string {
  return `CREATE VIEW ${monthlyProduction} AS ${monthsOf(dialect, { counting: 'production_day', all: 'daily_production' })}`;
}

/** SQL of relations with the columns of daily production: the record of each day that counts, and all records. */
interface DailyRows {
  readonly counting: string;
  readonly all: string;
}

/** The days of [from_day, to_day) in the month, as bits: bit 1 is the first of the month. */
function bitsInMonth(): string {
  const length = `(CAST(production_month + INTERVAL '1 month' AS DATE) - production_month)`;
  const bit = (day: string): string => `CAST(least(greatest(${day} - production_month, 0), ${length}) AS INTEGER)`;
  return `((1::BIGINT << ${bit('to_day')}) - (1::BIGINT << ${bit('from_day')}))`;
}

/** SQL of the months of these rows, and of the days of all wells that are quarantined or covered. */
const monthsOf = ({ eachMonth, bitCount }: Dialect, { counting, all }: DailyRows): string => `
  WITH produced AS (
    SELECT uwi, ${monthOf('production_day')} AS production_month, coalesce(downtime_code, '') AS code,
      bit_or(CAST(${dayBit} AS BIGINT)) AS stored, count(*) AS days, sum(${hoursDown}) AS downtime_hours,
      ${volumes.map(([volume, rate]) => `sum(${volumeOf(rate, rateBasisOfWarehouse)}) AS ${volume}`).join(', ')}
    FROM ${counting} counting WHERE production_day IS NOT NULL GROUP BY 1, 2, 3),
  broken AS (
    SELECT uwi, ${monthOf('production_day')} AS production_month, bit_or(CAST(${dayBit} AS BIGINT)) AS quarantined
    FROM quarantine WHERE production_day IS NOT NULL GROUP BY 1, 2),
  first_known AS (
    SELECT uwi, min(first_day) AS first_day FROM (
      SELECT uwi, min(production_day) AS first_day FROM ${all} every GROUP BY 1
      UNION ALL SELECT uwi, min(production_day) FROM quarantine GROUP BY 1) known GROUP BY 1),
  accounted AS (
    SELECT c.uwi, greatest(c.from_day, k.first_day) AS from_day, c.to_day
    FROM coverage c JOIN first_known k ON k.uwi = c.uwi WHERE c.to_day > k.first_day),
  covered AS (SELECT uwi, from_day, to_day, ${eachMonth('from_day', 'to_day - 1')} AS production_month FROM accounted),
  part AS (
    SELECT uwi, production_month, code, stored, 0::BIGINT AS quarantined, 0::BIGINT AS covered, days, downtime_hours,
      ${volumes.map(([volume]) => volume).join(', ')} FROM produced
    UNION ALL
    SELECT uwi, production_month, NULL, 0, quarantined, 0, 0, NULL, ${volumes.map(() => 'NULL').join(', ')} FROM broken
    UNION ALL
    SELECT uwi, production_month, NULL, 0, 0, ${bitsInMonth()}, 0, NULL, ${volumes.map(() => 'NULL').join(', ')} FROM covered)
  SELECT uwi, production_month,
    ${bitCount('bit_or(stored) & ~bit_or(quarantined)')} AS days_present,
    ${bitCount('bit_or(covered) & ~(bit_or(stored) | bit_or(quarantined))')} AS days_missing,
    ${bitCount('bit_or(quarantined)')} AS days_quarantined,
    CASE WHEN sum(days) > 0 THEN 24.0::DOUBLE PRECISION * sum(days) - coalesce(sum(downtime_hours), 0) END AS hours_on,
    ${volumes.map(([volume]) => `sum(${volume}) + 0 AS ${volume}`).join(', ')},
    sum(downtime_hours) AS downtime_hours,
    CASE WHEN sum(days) > 0 THEN CAST('{' || coalesce(string_agg(CAST(to_json(code) AS VARCHAR) || ':' ||
      CAST(to_json(downtime_hours) AS VARCHAR), ',' ORDER BY code) FILTER (WHERE downtime_hours > 0), '') || '}' AS JSON) END AS downtime_by_code
  FROM part GROUP BY 1, 2`;
