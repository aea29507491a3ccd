/** Rows of the deletion audit: appending to the chain, and verifying it. */
import { hash as hashWith } from 'node:crypto';
import {
  type AuditEntry,
  type AuditHead,
  type BrokenRow,
  chain,
  ChainCheck,
  type ChainedEntry,
  emptyHead,
} from '../../../core/cleanup/audit-chain.ts';
import { type DeletionOutcome, isOutcomeOf } from '../../../core/cleanup/outcome.ts';
import { type DeletionTarget, targetText } from '../../../core/cleanup/target.ts';
import type { Counts, UnitState } from '../../../core/run/run.ts';
import type { AuditVerdict } from '../../port/cleanup.ts';
import { columnsOf, membersOf, type SqlColumns, type SqlDatabase, type SqlSession, takeTurn } from '../session.ts';

const sha256 = (text: string): string => hashWith('sha256', text);

/** Appends entries to the chain. Writers of the audit take turns, which keeps the chain in order. */
export async function appendEntries(session: SqlSession, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await takeTurn(session, 'audit');
  const head = await readHead(session);
  const linked = chain(head, entries, sha256);
  await session.append('deletion_audit', auditColumns, linked);
  const write =
    head.rows === 0
      ? 'INSERT INTO deletion_audit_head VALUES ($1, $2)'
      : 'UPDATE deletion_audit_head SET rows = $1, hash = $2';
  const last = linked.at(-1);
  if (last !== undefined) await session.run(write, [last.seq, last.hash]);
}

/** Members of an entry in columns of their names, behind its number and its time. */
const members = [
  ...(['event', 'runId', 'planId', 'unit', 'requestedBy', 'serviceUrl', 'kind', 'ownerId', 'sourceId'] as const),
  ...(['outcome', 'answer', 'words', 'verification', 'previousHash', 'hash', 'retriedBy', 'digestVersion'] as const),
];

/** Of the table, in its order. */
const auditColumns: SqlColumns<ChainedEntry> = {
  seq: ({ seq }) => seq,
  noted_at: ({ atMs }) => new Date(atMs),
  ...columnsOf(...members),
};

export async function readHead(session: SqlSession): Promise<AuditHead> {
  const [head = emptyHead] = await readHeads(session);
  return head;
}

/** One head, unless another program wrote to the warehouse. */
async function readHeads(session: SqlSession): Promise<readonly AuditHead[]> {
  const heads = await session.rows<AuditHead>('SELECT rows, hash FROM deletion_audit_head');
  return heads.length === 0 ? [emptyHead] : heads;
}

/** Streams the rows: a long audit need not fit into memory. Nobody appends meanwhile. */
export async function verifyAudit(database: SqlDatabase, keptHash?: string): Promise<AuditVerdict> {
  let check = new ChainCheck(sha256, keptHash);
  try {
    const broken = await database.transact(async (session) => {
      check = new ChainCheck(sha256, keptHash);
      await takeTurn(session, 'audit');
      return followChain(session, check);
    });
    return { broken, head: check.head, retries: check.retries };
  } catch (error) {
    const fault = database.tableFault(error);
    if (fault === undefined) throw error;
    const reason = `cannot be read: a table was changed (${fault})`;
    return { broken: { seq: check.head.rows + 1, reason }, head: check.head, retries: check.retries };
  }
}

async function followChain(session: SqlSession, check: ChainCheck): Promise<BrokenRow | undefined> {
  // With a duplicate seq the order is arbitrary: the check reports it.
  for await (const row of session.stream<ChainedEntry>(`${selectEntries} ORDER BY seq, hash`)) {
    const broken = check.take(row);
    if (broken !== undefined) return broken;
  }
  const heads = await readHeads(session);
  // An extra head beside the right one would fork the chain at the next deletion.
  const atEnd = heads.map((head) => check.end(head)).find((broken) => broken !== undefined);
  if (atEnd === undefined && heads.length > 1)
    return { seq: check.head.rows, reason: 'is named as the last one twice' };
  return atEnd ?? (await lostOutcome(session, check.head));
}

interface CleanupRun {
  readonly runId: string;
  readonly units: number;
  /** Null if the plan is gone; the units still hold what was done. */
  readonly planId: string | null;
  readonly isOver: boolean;
}

interface SettledUnit extends DeletionTarget {
  readonly target: string;
  readonly state: UnitState;
  readonly counts: string;
  readonly seq: number | null;
  readonly outcome: DeletionOutcome | null;
  readonly planId: string;
}

const cleanupRuns = `SELECT r.run_id AS "runId", max(u.unit) + 1 AS units, max(p.plan_id) AS "planId",
    max(r.finished_at) IS NOT NULL AS "isOver"
  FROM run r JOIN run_unit u USING (run_id) LEFT JOIN cleanup_plan p USING (run_id)
  WHERE r.job = 'cleanup' GROUP BY r.run_id ORDER BY r.run_id`;

/** Units per query: all units of a large run at once would exceed the engine's memory (G8). */
const unitsInSlice = 10_000;

/** The last outcome in the audit of each settled unit; of failed units only once their run is over and closed. */
const settledUnits = `
  WITH aged AS (SELECT *, row_number() OVER (PARTITION BY unit ORDER BY seq DESC) AS age FROM deletion_audit
                WHERE run_id = $1 AND event = 'outcome' AND unit >= $2 AND unit < $3)
  SELECT u.target, u.state, coalesce(u.counts, '{}') AS counts, a.seq, a.outcome, a.kind, a.owner_id AS "ownerId",
    a.source_id AS "sourceId", a.plan_id AS "planId"
  FROM run_unit u LEFT JOIN (SELECT * FROM aged WHERE age = 1) a USING (unit)
  WHERE u.run_id = $1 AND u.unit >= $2 AND u.unit < $3 AND (u.state IN ('done', 'held') OR (u.state = 'failed' AND $4))
  ORDER BY u.unit`;

/**
 * Units are settled in the transaction of their audit rows: a settled unit without a row shows that the end of the
 * chain was rewritten, including its head.
 */
async function lostOutcome(session: SqlSession, { rows }: AuditHead): Promise<BrokenRow | undefined> {
  for (const run of await session.rows<CleanupRun>(cleanupRuns)) {
    for (let from = 0; from < run.units; from += unitsInSlice) {
      const slice = [run.runId, from, from + unitsInSlice, run.isOver];
      const units = await session.rows<SettledUnit>(settledUnits, slice);
      const broken = units.map((unit) => brokenBy(unit, run, rows)).find((row) => row !== undefined);
      if (broken !== undefined) return broken;
    }
  }
  return undefined;
}

function brokenBy(unit: SettledUnit, { runId, planId }: CleanupRun, rows: number): BrokenRow | undefined {
  const { target, seq } = unit;
  if (seq === null) return { seq: rows + 1, reason: `is missing: run ${runId} settled ${target}` };
  const isSame = targetText(unit) === target && (planId ?? unit.planId) === unit.planId;
  const settled = { state: unit.state, counts: JSON.parse(unit.counts) as Counts };
  if (isSame && isOutcomeOf(settled, unit.outcome)) return undefined;
  return { seq, reason: `says otherwise than run ${runId}, which settled ${target}` };
}

/** A time changed by less than a millisecond yields a fraction here, and so another hash. */
const selectEntries = `SELECT ${membersOf('seq', ...members)},
    CAST(CAST(extract(epoch FROM noted_at) * 1000000 AS BIGINT) / 1000.0 AS FLOAT8) AS "atMs"
  FROM deletion_audit`;
