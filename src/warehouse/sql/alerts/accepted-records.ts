/**
 * Records of the quarantine that a person accepted as they are. An acceptance is of a well, an xid and a content, and has no
 * end: such a record stays in quarantine, without an alert and without counting as quarantined, however often it is read.
 */
import { digestLead } from '../../../core/daily/record-check.ts';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import type { AlertAct } from '../../port/alerts.ts';
import { jsonText, lockRows, type SqlSession } from '../session.ts';

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
