/** The days of wells that have a row and no quarantined record, for the windows that a plan gives them. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { grouped } from '../../../core/base/grouped.ts';
import type { DayInterval } from '../../../core/daily/coverage.ts';
import type { SoundDays } from '../../../core/daily/due-window.ts';
import { dayOfNumber } from '../../sql/session.ts';
import { jsonText, readRows } from '../file/sql.ts';
import { isAmongKeys } from '../file/bounds.ts';
import { namedUwis } from './well-keys.ts';

const isNamed = `uwi IN (${namedUwis})`;

interface AskedKeys {
  readonly low: number | null;
  readonly high: number | null;
  readonly count: number;
}

const askedKeys = `SELECT min(well_id) AS low, max(well_id) AS high, count(*)::INTEGER AS count FROM well_key WHERE ${isNamed}`;

/** A range with more keys of other wells than this, to one of its own, gives way to a list. */
const mostOthers = 3;

/** SQL of a condition for the engine to prune with; undefined if the wells have no keys. Wells of a plan mostly adjoin. */
async function conditionOf(connection: DuckDBConnection, uwis: readonly string[]): Promise<string | undefined> {
  const [range] = await readRows<AskedKeys>(connection, askedKeys, [jsonText(uwis)]);
  const { low = null, high = null, count = 0 } = range ?? {};
  if (low === null || high === null) return undefined;
  if (high - low < count * (mostOthers + 1)) return `well_id BETWEEN ${low} AND ${high}`;
  const keys = await readRows<{ key: number }>(connection, `SELECT well_id AS key FROM well_key WHERE ${isNamed}`, [
    jsonText(uwis),
  ]);
  return isAmongKeys(
    'well_id',
    keys.map(({ key }) => key),
  );
}

const ofDays = ({ fromDay, toDay }: DayInterval): string =>
  `production_day >= ${dayOfNumber(String(fromDay))} AND production_day < ${dayOfNumber(String(toDay))}`;

/**
 * A bit for each day of each well: a quarter of the time that stretches take. They say enough of a well with one row a day
 * and nothing in quarantine. Joined when they are few: other wells of the condition cost less than a join of every row.
 */
const daysAsBits = (isAsked: string, days: DayInterval): string => `
  WITH asked AS (SELECT well_id, uwi FROM well_key WHERE ${isNamed})
  SELECT uwi, days::VARCHAR AS days, rows > bit_count(days) OR uwi IN (SELECT uwi FROM quarantine) AS "isUnusual"
  FROM (SELECT well_id, count(*) AS rows,
          bitstring_agg(production_day - (${dayOfNumber(String(days.fromDay))}), 0, ${days.toDay - days.fromDay - 1}) AS days
        FROM internal.daily_production WHERE ${isAsked} AND ${ofDays(days)} GROUP BY well_id)
  JOIN asked USING (well_id)`;

/** A quarantined record without a day stands for the row with its xid. */
const stretches = (isAsked: string, days: DayInterval): string => `
  WITH asked AS (SELECT well_id, uwi FROM well_key WHERE ${isNamed}),
       broken AS (SELECT well_id, production_day, lower(xid) AS xid FROM quarantine JOIN asked USING (uwi)),
       stored AS (
         SELECT well_id, production_day, xid FROM internal.daily_production SEMI JOIN asked USING (well_id)
         WHERE ${isAsked} AND ${ofDays(days)}),
       unsound AS (
         SELECT well_id, production_day FROM broken WHERE production_day IS NOT NULL
         UNION SELECT s.well_id, s.production_day FROM broken b JOIN stored s
           ON b.well_id = s.well_id AND b.production_day IS NULL AND b.xid = s.xid::VARCHAR),
       daily AS (
         SELECT well_id, production_day AS day, count(*) AS rows FROM stored
         ANTI JOIN unsound USING (well_id, production_day) GROUP BY ALL)
  SELECT uwi, min(day) - DATE '1970-01-01' AS "fromDay", max(day) - DATE '1970-01-01' + 1 AS "toDay", sum(rows)::BIGINT AS rows
  FROM (SELECT *, day - row_number() OVER (PARTITION BY well_id ORDER BY day)::INTEGER AS island FROM daily)
  JOIN asked USING (well_id) GROUP BY uwi, island ORDER BY uwi, island`;

interface WellBits {
  readonly uwi: string;
  /** A character for each day, 1 for one with a row. */
  readonly days: string;
  readonly isUnusual: boolean;
}

/** Those of `days` with a row and without a quarantined record, by uwi, as intervals in order. */
export async function readSoundDays(
  connection: DuckDBConnection,
  uwis: readonly string[],
  days: DayInterval,
): Promise<ReadonlyMap<string, readonly SoundDays[]>> {
  const isAsked = await conditionOf(connection, uwis);
  if (isAsked === undefined) return new Map();
  const wells = await readRows<WellBits>(connection, daysAsBits(isAsked, days), [jsonText(uwis)]);
  const sound = new Map(wells.map((well) => [well.uwi, stretchesOf(well.days, days.fromDay)]));
  const unusual = wells.flatMap(({ uwi, isUnusual }) => (isUnusual ? [uwi] : []));
  if (unusual.length === 0) return sound;
  const rows = await readRows<SoundDays & { readonly uwi: string }>(connection, stretches(isAsked, days), [
    jsonText(unusual),
  ]);
  const exact = grouped(rows, ({ uwi }) => uwi);
  for (const uwi of unusual) {
    const stretch = exact.get(uwi) ?? [];
    sound.set(
      uwi,
      stretch.map(({ fromDay, toDay, rows: count }) => ({ fromDay, toDay, rows: count })),
    );
  }
  return sound;
}

/** The stretches of ones, each with a row a day. */
function stretchesOf(bits: string, fromDay: number): readonly SoundDays[] {
  const found: SoundDays[] = [];
  for (let from = bits.indexOf('1'); from >= 0;) {
    const end = bits.indexOf('0', from);
    const to = end < 0 ? bits.length : end;
    found.push({ fromDay: fromDay + from, toDay: fromDay + to, rows: to - from });
    from = bits.indexOf('1', to);
  }
  return found;
}
