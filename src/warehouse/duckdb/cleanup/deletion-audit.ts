/** Rows of the deletion audit in DuckDB: appending to the chain, and verifying it. */
import { createHash } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import { DuckDBTimestampTZValue } from '../file/engine.ts';
import {
  chain,
  ChainCheck,
  emptyHead,
  type AuditEntry,
  type AuditHead,
  type BrokenRow,
  type ChainedEntry,
} from '../../../core/cleanup/audit-chain.ts';
import { isOutcomeOf, type DeletionOutcome } from '../../../core/cleanup/outcome.ts';
import { targetText, type DeletionTarget } from '../../../core/cleanup/target.ts';
import type { Counts, UnitState } from '../../../core/run/run.ts';
import type { AuditVerdict } from '../../port/cleanup.ts';
import { messageOf } from '../file/engine-fault.ts';
import { jsonValue } from '../query/json-value.ts';
import { readRows } from '../file/sql.ts';
import { appendRows } from '../file/append-rows.ts';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Appends entries to the chain. Only one transaction writes at a time, which keeps the chain in order. */
export async function appendEntries(connection: DuckDBConnection, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const head = await readHead(connection);
  const linked = chain(head, entries, sha256);
  await appendRows<ChainedEntry>(connection, 'deletion_audit', linked, [
    ({ seq }) => BigInt(seq),
    ({ atMs }) => new DuckDBTimestampTZValue(BigInt(atMs) * 1_000n),
    ({ event }) => event,
    ({ runId }) => runId,
    ({ planId }) => planId,
    ({ unit }) => unit,
    ({ requestedBy }) => requestedBy,
    ({ serviceUrl }) => serviceUrl,
    ({ kind }) => kind,
    ({ ownerId }) => ownerId,
    ({ sourceId }) => sourceId,
    ({ outcome }) => outcome,
    ({ answer }) => answer,
    ({ words }) => words,
    ({ verification }) => verification,
    ({ previousHash }) => previousHash,
    ({ hash }) => hash,
  ]);
  await writeHead(connection, head, linked.at(-1));
}

export async function readHead(connection: DuckDBConnection): Promise<AuditHead> {
  const [head = emptyHead] = await readHeads(connection);
  return head;
}

/** One head, unless another program wrote to the warehouse. */
async function readHeads(connection: DuckDBConnection): Promise<readonly AuditHead[]> {
  const heads = await readRows<AuditHead>(connection, 'SELECT rows, hash FROM deletion_audit_head');
  return heads.length === 0 ? [emptyHead] : heads;
}

async function writeHead(
  connection: DuckDBConnection,
  before: AuditHead,
  last: ChainedEntry | undefined,
): Promise<void> {
  if (last === undefined) return;
  const statement =
    before.rows === 0
      ? 'INSERT INTO deletion_audit_head VALUES ($1, $2)'
      : 'UPDATE deletion_audit_head SET rows = $1, hash = $2';
  await connection.run(statement, [BigInt(last.seq), last.hash]);
}

/** Streams the rows: a long audit need not fit into memory. */
export async function verifyAudit(connection: DuckDBConnection, keptHash?: string): Promise<AuditVerdict> {
  const check = new ChainCheck(sha256, keptHash);
  try {
    return { broken: await followChain(connection, check), head: check.head };
  } catch (error) {
    const [message = ''] = messageOf(error).split('\n', 1);
    if (!/^(?:Catalog|Binder) Error/.test(message)) throw error;
    return {
      broken: { seq: check.head.rows + 1, reason: `cannot be read: a table was changed (${message})` },
      head: check.head,
    };
  }
}

async function followChain(connection: DuckDBConnection, check: ChainCheck): Promise<BrokenRow | undefined> {
  // With a duplicate seq the order is arbitrary: the check reports it.
  const result = await connection.stream(`${selectEntries} ORDER BY seq, hash`);
  for await (const rows of result.yieldConvertedRowObjects(jsonValue)) {
    const broken = firstBroken(check, rows as unknown as readonly ChainedEntry[]);
    if (broken !== undefined) return broken;
  }
  const heads = await readHeads(connection);
  // An extra head beside the right one would fork the chain at the next deletion.
  const atEnd = heads.map((head) => check.end(head)).find((broken) => broken !== undefined);
  if (atEnd === undefined && heads.length > 1)
    return { seq: check.head.rows, reason: 'is named as the last one twice' };
  return atEnd ?? (await lostOutcome(connection, check.head));
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

const cleanupRuns = `SELECT r.run_id AS "runId", max(u.unit) + 1 AS units, any_value(p.plan_id) AS "planId",
    any_value(r.finished_at) IS NOT NULL AS "isOver"
  FROM run r JOIN run_unit u USING (run_id) LEFT JOIN cleanup_plan p USING (run_id)
  WHERE r.job = 'cleanup' GROUP BY r.run_id ORDER BY r.run_id`;

/** Units per query: all units of a large run at once would exceed the engine's memory (G8). */
const unitsInSlice = 10_000;

/** The last outcome in the audit of each settled unit; of failed units only once their run is over and closed. */
const settledUnits = `
  WITH last AS (FROM deletion_audit WHERE run_id = $1 AND event = 'outcome' AND unit >= $2 AND unit < $3
                QUALIFY row_number() OVER (PARTITION BY unit ORDER BY seq DESC) = 1)
  SELECT u.target, u.state, coalesce(u.counts, '{}') AS counts, a.seq, a.outcome, a.kind, a.owner_id AS "ownerId",
    a.source_id AS "sourceId", a.plan_id AS "planId"
  FROM run_unit u LEFT JOIN last a USING (unit)
  WHERE u.run_id = $1 AND u.unit >= $2 AND u.unit < $3 AND (u.state IN ('done', 'held') OR (u.state = 'failed' AND $4))
  ORDER BY u.unit`;

/**
 * Units are settled in the transaction of their audit rows: a settled unit without a row shows that the end of the
 * chain was rewritten, including its head.
 */
async function lostOutcome(connection: DuckDBConnection, { rows }: AuditHead): Promise<BrokenRow | undefined> {
  for (const run of await readRows<CleanupRun>(connection, cleanupRuns)) {
    for (let from = 0; from < run.units; from += unitsInSlice) {
      const slice = [run.runId, from, from + unitsInSlice, run.isOver];
      const units = await readRows<SettledUnit>(connection, settledUnits, slice);
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

function firstBroken(check: ChainCheck, rows: readonly ChainedEntry[]): BrokenRow | undefined {
  for (const row of rows) {
    const broken = check.take(row);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

/** A time changed by less than a millisecond yields a fraction here, and so another hash. */
const selectEntries = `SELECT seq, epoch_us(noted_at) / 1000 AS "atMs", event, run_id AS "runId", plan_id AS "planId", unit,
    requested_by AS "requestedBy", service_url AS "serviceUrl", kind, owner_id AS "ownerId", source_id AS "sourceId", outcome,
    answer, words, verification, previous_hash AS "previousHash", hash
  FROM deletion_audit`;
