/** Records that break the contract, stored with their raw JSON until a later reading covers them again. */
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { mostTextChars } from '../../../core/daily/record-check.ts';
import type { QuarantineTotals } from '../../../core/run/run.ts';
import { jsonText, oneRow, type SqlSession } from '../session.ts';
import { summable } from './row-fields.ts';
import type { DailyTables, Noticed, WellWindow } from './daily-tables.ts';

/** Instants and days are text. */
const entryFields = {
  uwi: 'VARCHAR',
  unit: 'INTEGER',
  window_from: 'VARCHAR',
  window_to: 'VARCHAR',
  production_day: 'VARCHAR',
  xid: 'VARCHAR',
  reason: 'VARCHAR',
  raw: 'VARCHAR',
  oil: 'VARCHAR',
  gas: 'VARCHAR',
  water: 'VARCHAR',
} as const;

/**
 * Deletes the entries that a complete reading covers, in the transaction of the merge (reads `merge_window` and
 * `staged_row`, where all rows of a well with entries stand): entries whose window lies within its own; entries whose day
 * lies inside it in every time zone; and entries of a record that it contains, by xid or verbatim. The last two matter at
 * the edges, where windows of two nights overlap; they are all that an unverified reading deletes. Of a long record the
 * start alone is stored, and the reason has the digest of the whole.
 */
const forgetSeen = (entries: string, byteLength: (text: string) => string): string => `
  DELETE FROM quarantine AS q USING merge_window AS w WHERE q.uwi = w.uwi AND (
    (w.is_verified AND q.window_from >= w.from_at AND q.window_to <= w.to_at)
    OR (w.is_verified AND q.production_day - INTERVAL '14 hours' >= CAST(w.from_at AS TIMESTAMP)
      AND q.production_day + INTERVAL '36 hours' <= CAST(w.to_at AS TIMESTAMP))
    OR lower(q.xid) IN (SELECT CAST(s.xid AS VARCHAR) FROM staged_row s JOIN merge_window m ON m.window_no = s.window_no
      WHERE m.uwi = q.uwi)
    OR EXISTS (SELECT 1 FROM ${entries} e WHERE e.uwi = q.uwi AND lower(e.xid) = lower(q.xid))
    OR EXISTS (SELECT 1 FROM ${entries} e WHERE e.uwi = q.uwi AND e.raw = q.raw
      AND (${byteLength('q.raw')} < ${mostTextChars} OR e.reason = q.reason)))`;

const rateOf = (phase: string): string => `CAST(${phase} AS DOUBLE PRECISION)`;

/** Replaces the entries of these windows by those of this reading. */
export async function replaceQuarantine(
  { session, byteLength }: DailyTables,
  windows: readonly WellWindow[],
  { runId, atMs }: Noticed,
): Promise<void> {
  const entries = distinctRecords(windows).flatMap((window) => entriesOf(window, atMs));
  const relation = session.dialect.relation('$1', entryFields);
  if (windows.some(({ isQuarantined }) => isQuarantined)) {
    await session.run(forgetSeen(relation, byteLength), [jsonText(entries)]);
  }
  if (entries.length === 0) return;
  await session.run(
    `INSERT INTO quarantine
         (uwi, run_id, unit, window_from, window_to, production_day, xid, reason, raw, oil_rate, gas_rate, water_rate, noticed_at)
       SELECT uwi, $2, unit, CAST(window_from AS TIMESTAMPTZ), CAST(window_to AS TIMESTAMPTZ),
         CAST(production_day AS DATE), xid, reason, raw, ${rateOf('oil')}, ${rateOf('gas')}, ${rateOf('water')}, $3
       FROM ${relation} e`,
    [jsonText(entries), runId, new Date(atMs)],
  );
}

/**
 * What stands in quarantine of the targets of a run, as wells; undefined for nothing. A record at an edge of two windows is one.
 * Of a run that was not done, of the targets that it read.
 */
export async function readQuarantineTotals(
  session: SqlSession,
  runId: string,
  { isDone }: { readonly isDone: boolean },
): Promise<QuarantineTotals | undefined> {
  const withoutUnit = isDone ? 'UNION SELECT target FROM run_target WHERE run_id = $1' : '';
  const sum = (rate: string): string => `coalesce(sum(${summable(rate)}), 0)`;
  const totals = await oneRow<QuarantineTotals>(
    session,
    `SELECT count(*) AS records, ${sum('oil')} AS oil, ${sum('gas')} AS gas, ${sum('water')} AS water,
       count(*) FILTER (WHERE oil IS NULL OR gas IS NULL OR water IS NULL) AS unread
     FROM (SELECT min(q.oil_rate) AS oil, min(q.gas_rate) AS gas, min(q.water_rate) AS water FROM quarantine q
       WHERE q.uwi IN (SELECT target FROM run_unit WHERE run_id = $1 AND state <> 'cancelled' ${withoutUnit})
       GROUP BY q.uwi, coalesce(lower(q.xid), q.raw)) r`,
    [runId],
  );
  return totals.records === 0 ? undefined : totals;
}

/** Parts of a read have a record in common whose day is not known, or at an edge: it is stored with the first of them. */
function distinctRecords(windows: readonly WellWindow[]): readonly WellWindow[] {
  const seen = new Set<object>();
  return windows.map((window) => {
    const quarantined = window.quarantined.filter((record) => !seen.has(record));
    for (const record of quarantined) seen.add(record);
    return { ...window, quarantined };
  });
}

/**
 * Of a window that reaches beyond `atMs`, an entry has the part until then, as those of a nightly read have: no later read
 * would reach so far for long, and a record without a day would stand as long.
 */
function entriesOf({ uwi, unit, window, quarantined }: WindowBatch, atMs: number): readonly object[] {
  const toMs = window.fromMs < atMs ? Math.min(window.toMs, atMs) : window.toMs;
  return quarantined.map(({ raw, reason, xid, day, rates }) => ({
    uwi,
    unit,
    window_from: new Date(window.fromMs).toISOString(),
    window_to: new Date(toMs).toISOString(),
    production_day: day,
    xid,
    reason,
    raw,
    ...rates,
  }));
}
