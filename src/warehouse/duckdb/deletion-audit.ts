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
  const [head] = await readRows<AuditHead>(connection, 'SELECT rows, hash FROM deletion_audit_head');
  return head ?? emptyHead;
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
export async function verifyAudit(connection: DuckDBConnection): Promise<AuditVerdict> {
  const check = new ChainCheck(sha256);
  // Where a seq is there twice, either may come first: the check tells.
  const result = await connection.stream(`${selectEntries} ORDER BY seq, hash`);
  for await (const rows of result.yieldConvertedRowObjects(jsonValue)) {
    const broken = firstBroken(check, rows as unknown as readonly ChainedEntry[]);
    if (broken !== undefined) return { head: check.head, broken };
  }
  return { head: check.head, broken: check.end(await readHead(connection)) };
}

function firstBroken(check: ChainCheck, rows: readonly ChainedEntry[]): BrokenRow | undefined {
  for (const row of rows) {
    const broken = check.take(row);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

const selectEntries = `SELECT seq, epoch_ms(noted_at) AS "atMs", event, run_id AS "runId", plan_id AS "planId", unit,
    requested_by AS "requestedBy", service_url AS "serviceUrl", kind, owner_id AS "ownerId", source_id AS "sourceId", outcome,
    answer, words, verification, previous_hash AS "previousHash", hash
  FROM deletion_audit`;
