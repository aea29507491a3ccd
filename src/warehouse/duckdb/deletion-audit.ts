/** Owns the rows of the deletion audit in DuckDB: adding them to the chain, and following it. */
import { createHash } from 'node:crypto';
import { DuckDBTimestampTZValue, type DuckDBConnection } from '@duckdb/node-api';
import {
  chain,
  ChainCheck,
  emptyHead,
  type AuditEntry,
  type AuditHead,
  type BrokenRow,
  type ChainedEntry,
} from '../../core/deletion-audit.ts';
import type { AuditVerdict } from '../cleanup.ts';
import { wordsOf } from './engine-fault.ts';
import { jsonValue } from './json-value.ts';
import { readRows } from './sql.ts';
import { appendRows } from './staging.ts';

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Adds entries at the end of the chain. One transaction writes at a time: that is what keeps the chain in order. */
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

async function readHead(connection: DuckDBConnection): Promise<AuditHead> {
  const [head = emptyHead] = await readHeads(connection);
  return head;
}

/** One, unless somebody else wrote to the warehouse. */
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

/** Row by row, so that a long audit need not be in memory. */
export async function verifyAudit(connection: DuckDBConnection, keptHash?: string): Promise<AuditVerdict> {
  const check = new ChainCheck(sha256, keptHash);
  try {
    return { broken: await followChain(connection, check), head: check.head };
  } catch (error) {
    const [words = ''] = wordsOf(error).split('\n', 1);
    if (!/^(?:Catalog|Binder) Error/.test(words)) throw error;
    return {
      broken: { seq: check.head.rows + 1, reason: `cannot be read: a table was changed (${words})` },
      head: check.head,
    };
  }
}

async function followChain(connection: DuckDBConnection, check: ChainCheck): Promise<BrokenRow | undefined> {
  // Where a seq is there twice, either may come first: the check tells.
  const result = await connection.stream(`${selectEntries} ORDER BY seq, hash`);
  for await (const rows of result.yieldConvertedRowObjects(jsonValue)) {
    const broken = firstBroken(check, rows as unknown as readonly ChainedEntry[]);
    if (broken !== undefined) return broken;
  }
  const heads = await readHeads(connection);
  // One that was put in beside the right one would have the chain fork at the next deletion.
  const atEnd = heads.map((head) => check.end(head)).find((broken) => broken !== undefined);
  return atEnd ?? (await missingOutcome(connection, check.head));
}

/** Units are settled in the transaction of their rows: one without a row shows that rows were taken away, head and all. */
async function missingOutcome(connection: DuckDBConnection, { rows }: AuditHead): Promise<BrokenRow | undefined> {
  const [lost] = await readRows<{ run_id: string; target: string }>(
    connection,
    `SELECT u.run_id, u.target FROM cleanup_plan p JOIN run_unit u USING (run_id)
     WHERE u.state IN ('done', 'held') AND NOT EXISTS (FROM deletion_audit a
       WHERE a.run_id = u.run_id AND a.unit = u.unit AND a.event = 'outcome')
     ORDER BY u.run_id, u.unit LIMIT 1`,
  );
  if (lost === undefined) return undefined;
  return { seq: rows + 1, reason: `is missing: run ${lost.run_id} settled ${lost.target}` };
}

function firstBroken(check: ChainCheck, rows: readonly ChainedEntry[]): BrokenRow | undefined {
  for (const row of rows) {
    const broken = check.take(row);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

/** A time that was changed by less than a millisecond has a fraction here, and another hash. */
const selectEntries = `SELECT seq, epoch_us(noted_at) / 1000 AS "atMs", event, run_id AS "runId", plan_id AS "planId", unit,
    requested_by AS "requestedBy", service_url AS "serviceUrl", kind, owner_id AS "ownerId", source_id AS "sourceId", outcome,
    answer, words, verification, previous_hash AS "previousHash", hash
  FROM deletion_audit`;
