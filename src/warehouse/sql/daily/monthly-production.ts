/**
 * SQL of the view `monthly_production`: a row a well and month of which a day is known, by the record of each day that
 * counts. A day without a row adds nothing to a sum, and is counted as what coverage calls it (coverage-survey.ts).
 *
 * A row is read once, with the month and the code of its downtime; days are bits of their months. Conditions on `uwi` reach
 * every table, and no condition on the month reaches the coverage: the first known day of a well decides what is missing.
 */
import { defaultRateBasis, volumeRates } from '../../../core/daily/rate-basis.ts';
import type { SqlDialect } from '../session.ts';

/** Hours of a day in which the well was down, 0 to 24 whatever came; null where none came. A rate is per 24 hours, on days of 23 and 25 as well. */
const hoursDown = 'CASE WHEN downtime_hours IS NOT NULL THEN least(greatest(downtime_hours, 0), 24) END';

/** The volume of a day: its rate, or as much of it as the well was on; null without a rate. As {@link summable}, in sums. */
export function volumeOf(rate: string, basis: string): string {
  const bounded = `least(greatest(${rate}, -1e290), 1e290)`;
  const share = `CASE WHEN ${basis} = 'operated-day' THEN (24 - coalesce(${hoursDown}, 0)) / 24 ELSE 1 END`;
  return `CASE WHEN ${rate} IS NOT NULL THEN ${bounded} * ${share} END`;
}

export const rateBasisOfWarehouse = `(SELECT coalesce(rate_basis, '${defaultRateBasis}') FROM warehouse)`;

const dayBit = `1 << (CAST(extract(day FROM production_day) AS INTEGER) - 1)`;
export const monthOf = (day: string): string => `CAST(date_trunc('month', CAST(${day} AS TIMESTAMP)) AS DATE)`;
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
export const monthsOf = ({ eachMonth, bitCount }: Dialect, { counting, all }: DailyRows): string => `
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
