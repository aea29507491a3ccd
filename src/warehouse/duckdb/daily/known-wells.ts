/** What the warehouse knows of wells before their next window: watermarks, last days, and days without a hole. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { grouped } from '../../../core/base/grouped.ts';
import type { SoundDays } from '../../../core/daily/due-window.ts';
import type { Watermark } from '../../port/daily-production.ts';
import { dayOfNumber } from '../coverage/coverage-ledger.ts';
import { jsonText, readRows } from '../file/sql.ts';

const isNamed = `uwi IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`;

export async function readWatermarks(
  connection: DuckDBConnection,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, Watermark>> {
  const rows = await readRows<{
    uwi: string;
    watermarkMs: number;
    lastDay: number | null;
    verifiedAtMs: number | null;
  }>(
    connection,
    `SELECT uwi, epoch_ms(watermark) AS "watermarkMs", last_day - DATE '1970-01-01' AS "lastDay",
       epoch_ms(verified_at) AS "verifiedAtMs"
     FROM watermark WHERE ${isNamed}`,
    [jsonText(uwis)],
  );
  return new Map(
    rows.map(({ uwi, watermarkMs, lastDay, verifiedAtMs }) => [
      uwi,
      { watermarkMs, lastDay: lastDay ?? undefined, verifiedAtMs: verifiedAtMs ?? undefined },
    ]),
  );
}

/** Bounds for the engine to prune with: wells of one request mostly have keys close together. */
const keyBounds = `SELECT min(well_id) AS low, max(well_id) AS high FROM well_key WHERE ${isNamed}`;

/** A quarantined record without a day stands for the row with its xid. */
const soundStretches = (low: number, high: number, since: string): string => `
  WITH asked AS (SELECT well_id, uwi FROM well_key WHERE ${isNamed}),
       broken AS (SELECT well_id, production_day, lower(xid) AS xid FROM quarantine JOIN asked USING (uwi)),
       stored AS (
         SELECT well_id, production_day, xid FROM internal.daily_production SEMI JOIN asked USING (well_id)
         WHERE well_id BETWEEN ${low} AND ${high} AND production_day >= ${since}),
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

/** The days from `sinceDay` on with a row and without a quarantined record. */
export async function readSoundDays(
  connection: DuckDBConnection,
  uwis: readonly string[],
  sinceDay: number,
): Promise<ReadonlyMap<string, readonly SoundDays[]>> {
  const [{ low, high } = { low: null, high: null }] = await readRows<{ low: number | null; high: number | null }>(
    connection,
    keyBounds,
    [jsonText(uwis)],
  );
  if (low === null || high === null) return new Map();
  const stretches = soundStretches(low, high, dayOfNumber(String(sinceDay)));
  const rows = await readRows<SoundDays & { readonly uwi: string }>(connection, stretches, [jsonText(uwis)]);
  return grouped(rows, ({ uwi }) => uwi);
}
