/** Records that break the contract, stored with their raw JSON until a later reading covers them again. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { mostTextChars } from '../../../core/daily/record-check.ts';
import { instant, jsonText, relationOf } from '../file/sql.ts';

const entryRelation = relationOf('$1', {
  uwi: 'VARCHAR',
  unit: 'INTEGER',
  from_ms: 'BIGINT',
  to_ms: 'BIGINT',
  production_day: 'DATE',
  xid: 'VARCHAR',
  reason: 'VARCHAR',
  raw: 'VARCHAR',
});

/**
 * Deletes the entries that a complete reading covers, in the transaction of the merge (reads `merge_window` and
 * `staged_row`): entries whose window lies within its own; entries whose day lies inside it in every time zone; and
 * entries of a record that it contains, by xid or verbatim. The last two matter at the edges, where windows of two
 * nights overlap; they are all that an unverified reading deletes. Of a long record the start alone is stored, and the
 * reason has the digest of the whole.
 */
const forgetSeen = `
  DELETE FROM quarantine q USING merge_window w WHERE q.uwi = w.uwi AND (
    (w.is_verified AND q.window_from >= w.from_at AND q.window_to <= w.to_at)
    OR (w.is_verified AND q.production_day - INTERVAL 14 HOUR >= w.from_at::TIMESTAMP AND q.production_day + INTERVAL 36 HOUR <= w.to_at::TIMESTAMP)
    OR lower(q.xid) IN (SELECT s.xid::VARCHAR FROM staged_row s JOIN merge_window m USING (window_no) WHERE m.uwi = q.uwi)
    OR EXISTS (FROM quarantine_entry e WHERE e.uwi = q.uwi AND lower(e.xid) = lower(q.xid))
    OR EXISTS (FROM quarantine_entry e WHERE e.uwi = q.uwi AND e.raw = q.raw
      AND (strlen(q.raw) < ${mostTextChars} OR e.reason = q.reason)))`;

/** Replaces the entries of these windows by those of this reading. `isStored`: a well of them has entries. */
export async function replaceQuarantine(
  connection: DuckDBConnection,
  windows: readonly WindowBatch[],
  { runId, atMs, isStored }: { readonly runId: string; readonly atMs: number; readonly isStored: boolean },
): Promise<void> {
  const entries = windows.flatMap(entriesOf);
  if (entries.length === 0 && !isStored) return;
  await connection.run(`CREATE OR REPLACE TEMP TABLE quarantine_entry AS FROM ${entryRelation}`, [jsonText(entries)]);
  if (isStored) await connection.run(forgetSeen);
  await connection.run(
    `INSERT INTO quarantine
       SELECT uwi, $1, unit, ${instant('from_ms')}, ${instant('to_ms')}, production_day, xid, reason, raw, ${instant('$2')}
       FROM quarantine_entry`,
    [runId, BigInt(atMs)],
  );
}

function entriesOf({ uwi, unit, window, quarantined }: WindowBatch): readonly object[] {
  return quarantined.map(({ raw, reason, xid, day }) => ({
    uwi,
    unit,
    from_ms: window.fromMs,
    to_ms: window.toMs,
    production_day: day,
    xid,
    reason,
    raw,
  }));
}
