/** The row of a well in `watermark`: how far it was read, up to when it is verified, and its last day with a row. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { movedWatermarks, verifiedUpTo } from '../../../core/daily/watermark.ts';
import type { Watermark } from '../../port/daily-production.ts';
import { dayOfNumber } from '../../sql/session.ts';
import { instant, jsonText, readRows, relationOf } from '../file/sql.ts';
import { isAmongKeys } from './bounds.ts';
import type { CountedWindow } from './replacement.ts';

/** A window of a batch with what was known of its well before. */
interface MergedWindow extends CountedWindow {
  readonly watermark: Watermark | undefined;
}

const watermarkRelation = relationOf('$1', { uwi: 'VARCHAR', ms: 'BIGINT', verified_ms: 'BIGINT', day: 'INTEGER' });
const watermarkValues = `SELECT uwi, ${instant('ms')} AS watermark, ${dayOfNumber('day')} AS last_day,
  ${instant('verified_ms')} AS verified_at FROM ${watermarkRelation}`;

const newWatermarks = `INSERT INTO watermark (uwi, watermark, last_day, verified_at) ${watermarkValues}`;
const movedRows = `UPDATE watermark SET watermark = v.watermark, last_day = v.last_day, verified_at = v.verified_at
  FROM (${watermarkValues}) v WHERE watermark.uwi = v.uwi`;

/**
 * Moves the watermarks of the wells, in the transaction of the merge, after its rows. A well that only backfills have read
 * has no row.
 */
export async function keepWatermarks(
  connection: DuckDBConnection,
  windows: readonly MergedWindow[],
  atMs: number,
): Promise<void> {
  const before = new Map(windows.map(({ uwi, watermark }) => [uwi, watermark]));
  const currentMs = new Map(
    [...before].flatMap(([uwi, watermark]) => (watermark === undefined ? [] : [[uwi, watermark.watermarkMs] as const])),
  );
  const movedMs = movedWatermarks(currentMs, windows);
  const verifiedMs = verifiedUpTo(windows, atMs);
  const lastDays = await lastDaysAfter(connection, windows);
  const rows = [...before].flatMap(([uwi, { watermarkMs, verifiedAtMs, lastDay } = {}]) => {
    const row = {
      uwi,
      ms: movedMs.get(uwi) ?? watermarkMs,
      verified_ms: later(verifiedAtMs, verifiedMs.get(uwi)),
      day: lastDays.get(uwi),
    };
    const isSame = row.ms === watermarkMs && row.verified_ms === verifiedAtMs && row.day === lastDay;
    return row.ms === undefined || isSame ? [] : [row];
  });
  const [added, changed] = [
    rows.filter(({ uwi }) => !currentMs.has(uwi)),
    rows.filter(({ uwi }) => currentMs.has(uwi)),
  ];
  if (added.length > 0) await connection.run(newWatermarks, [jsonText(added)]);
  if (changed.length > 0) await connection.run(movedRows, [jsonText(changed)]);
}

/** A run that was overtaken by a newer one takes nothing back. */
function later(beforeMs: number | undefined, nowMs: number | undefined): number | undefined {
  return beforeMs === undefined || nowMs === undefined ? (nowMs ?? beforeMs) : Math.max(beforeMs, nowMs);
}

/**
 * The last day with a row, by uwi. Looked up in the table only if it is unknown, or if a row of the well has left or
 * changed and the reading has no row as late.
 */
async function lastDaysAfter(
  connection: DuckDBConnection,
  windows: readonly MergedWindow[],
): Promise<ReadonlyMap<string, number | undefined>> {
  const lastDays = new Map<string, number | undefined>();
  const unsure = new Map<number, string>();
  for (const window of windows) {
    const { uwi, wellId, isNew, watermark } = window;
    const newest = newestDay(window);
    const known = lastDays.get(uwi) ?? watermark?.lastDay;
    lastDays.set(uwi, Math.max(known ?? -Infinity, newest));
    const isLost = window.updated + window.removed > 0 && newest < (known ?? Infinity);
    if (!isNew && (watermark?.lastDay === undefined || isLost)) unsure.set(wellId, uwi);
  }
  for (const [uwi, day] of lastDays) if (day === -Infinity) lastDays.set(uwi, undefined);
  if (unsure.size === 0) return lastDays;
  const stored = await readLastDays(connection, [...unsure.keys()]);
  for (const [wellId, uwi] of unsure) lastDays.set(uwi, stored.get(wellId));
  return lastDays;
}

function newestDay({ rows }: MergedWindow): number {
  let newest = -Infinity;
  for (const day of rows.days) newest = Math.max(newest, day);
  return newest;
}

async function readLastDays(
  connection: DuckDBConnection,
  wellIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await readRows<{ wellId: number; day: number }>(
    connection,
    `SELECT well_id AS "wellId", max(production_day) - DATE '1970-01-01' AS day FROM internal.daily_production
     WHERE ${isAmongKeys('well_id', wellIds)} GROUP BY well_id`,
  );
  return new Map(rows.map(({ wellId, day }) => [wellId, day]));
}
