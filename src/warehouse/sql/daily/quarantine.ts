/** Records that break the contract, stored with their raw JSON until a later reading covers them again. */
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { digestLead, mostTextChars } from '../../../core/daily/record-check.ts';
import type { QuarantineTotals } from '../../../core/run/run.ts';
import { jsonText, lockRows, oneRow, type SqlSession } from '../session.ts';
import { summable } from './row-fields.ts';
import type { DailyTables, Noticed, WellWindow } from './daily-tables.ts';
import type { AlertAct } from '../../port/alerts.ts';

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

// Records of the quarantine that a person accepted as they are. An acceptance is of a well, an xid and a content, and has no
// end: such a record stays in quarantine, without an alert and without counting as quarantined, however often it is read.

/** Of a digest, and of the bracket that ends a reason behind it. */
const digestChars = 64;

/**
 * SQL of the content of a record `q` (`raw`, `reason`), as a SHA-256: of what the quarantine stores. Of a long record that
 * is the start alone, and its digest, which ends the reason, counts as well: two of them may begin alike.
 */
export function contentOf({ dialect }: SqlSession, q: string): string {
  const isCut = `${q}.reason LIKE '%${digestLead}${'_'.repeat(digestChars)})'`;
  return dialect.sha256(`${q}.raw || CASE WHEN ${isCut} THEN right(${q}.reason, ${digestChars + 1}) ELSE '' END`);
}

/** Characters of a content in the name of a record. */
const shownChars = 16;

/** SQL of the target of an alert of a record `q` (`uwi`, `xid`, `raw`, `reason`): `UWI XID`, or a part of its content. */
export function targetOfRecord(session: SqlSession, q: string): string {
  return `${q}.uwi || ' ' || coalesce(lower(${q}.xid), substr(${contentOf(session, q)}, 1, ${shownChars}))`;
}

/** SQL of the xid of a record `q`, empty where it cannot be read. */
export const xidOf = (q: string): string => `coalesce(lower(${q}.xid), '')`;

/** SQL of whether a record `q` (`uwi`, `xid`, `raw`, `reason`) is accepted. */
export function isAccepted(session: SqlSession, q: string): string {
  return `EXISTS (SELECT 1 FROM accepted_record ok WHERE ok.uwi = ${q}.uwi AND ok.xid = ${xidOf(q)}
    AND ok.content_sha256 = ${contentOf(session, q)})`;
}

const recordFields = { batch: 'INTEGER', uwi: 'VARCHAR', xid: 'VARCHAR', reason: 'VARCHAR', raw: 'VARCHAR' } as const;

/**
 * The batches with their accepted records counted as such, and not as quarantined (G2). After the transaction took the keys of
 * their wells: no acceptance comes between the counts and the alerts.
 */
export async function countAccepted<Batch extends WindowBatch>(
  session: SqlSession,
  batches: readonly Batch[],
): Promise<readonly Batch[]> {
  const uwis = new Set(batches.flatMap(({ uwi, quarantined }) => (quarantined.length > 0 ? [uwi] : [])));
  if (uwis.size === 0) return batches;
  const known = await session.rows<{ uwi: string }>(
    `SELECT DISTINCT uwi FROM accepted_record WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText([...uwis])],
  );
  const withAccepted = new Set(known.map(({ uwi }) => uwi));
  if (withAccepted.size === 0) return batches;
  const records = batches.flatMap(({ uwi, quarantined }, batch) =>
    withAccepted.has(uwi) ? quarantined.map(({ raw, reason, xid }) => ({ batch, uwi, xid, reason, raw })) : [],
  );
  const counted = await session.rows<{ batch: number; accepted: number }>(
    `SELECT q.batch, count(*) AS accepted FROM ${session.dialect.relation('$1', recordFields)} q
     WHERE ${isAccepted(session, 'q')} GROUP BY q.batch`,
    [jsonText(records)],
  );
  const acceptedBy = new Map(counted.map(({ batch, accepted }) => [batch, accepted]));
  return batches.map((batch, index) => {
    const accepted = acceptedBy.get(index);
    if (accepted === undefined) return batch;
    const { counts } = batch;
    return { ...batch, counts: { ...counts, quarantined: counts.quarantined - accepted, accepted } };
  });
}

/**
 * Accepts what is in quarantine under those of these alerts that are of a record and not resolved. Returns their ids: they
 * are to be resolved. Of two persons at the same time the second waits, and then finds them resolved.
 */
export async function acceptRecords(
  session: SqlSession,
  { ids, by, because, atMs }: AlertAct,
): Promise<readonly string[]> {
  const { dialect } = session;
  const named = jsonText(ids);
  const alerts = `FROM alert a WHERE a.alert_id IN (SELECT ${dialect.each('$1', 'VARCHAR')})
    AND a.kind = 'record-quarantined' AND a.state <> 'resolved'`;
  // As a commit does, and in its order: it decides by these rows what is in quarantine, and what of it is accepted.
  await lockRows(session, `SELECT 1 FROM well_key WHERE uwi IN (SELECT a.owner ${alerts}) ORDER BY well_id`, [named]);
  const found = await session.rows<{ id: string; uwi: string; xid: string; content: string }>(
    `SELECT a.alert_id AS id, q.uwi, ${xidOf('q')} AS xid, ${contentOf(session, 'q')} AS content
     FROM (SELECT a.alert_id, a.owner, a.target ${alerts}) a JOIN quarantine q ON q.uwi = a.owner
     WHERE ${targetOfRecord(session, 'q')} = a.target`,
    [named],
  );
  if (found.length === 0) return [];
  const fields = { uwi: 'VARCHAR', xid: 'VARCHAR', content: 'VARCHAR' } as const;
  await session.run(
    `INSERT INTO accepted_record (uwi, xid, content_sha256, accepted_at, accepted_by, because)
     SELECT DISTINCT f.uwi, f.xid, f.content, CAST($2 AS TIMESTAMPTZ), CAST($3 AS VARCHAR), CAST($4 AS VARCHAR)
     FROM ${dialect.relation('$1', fields)} f ON CONFLICT (uwi, xid, content_sha256) DO NOTHING`,
    [jsonText(found), new Date(atMs), by, because],
  );
  return [...new Set(found.map(({ id }) => id))];
}
