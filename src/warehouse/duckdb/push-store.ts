/** Owns pushes in DuckDB: the checkpoint with its fence, the ledger of chunks, and the body size that a service takes. */
import { DuckDBTimestampTZValue, type DuckDBConnection } from '@duckdb/node-api';
import { AbortedError } from '../../core/errors.ts';
import { decodeCheckpoint, encodeCheckpoint, startOfPush } from '../../core/push-checkpoint.ts';
import type { KnownPush, PushedChunk, PushStore } from '../warehouse.ts';
import type { DatabaseFile } from './database-file.ts';
import { noteCounts, settleOpen } from './run-units.ts';
import { instant, readRows, wellFormed } from './sql.ts';
import { appendRows } from './staging.ts';

type Begin = Parameters<PushStore['begin']>[0];
type Step = Parameters<PushStore['save']>[0];

export function createPushStore(file: DatabaseFile): PushStore {
  return {
    begin: (push) => file.transact((connection) => begin(connection, push)),
    save: (step) => file.transact((connection) => save(connection, step)),
    find: (wanted) => file.transact((connection) => find(connection, wanted)),
    bodyLimit: (serviceUrl, sinceMs) => file.transact((connection) => readBodyLimit(connection, serviceUrl, sinceMs)),
    noteBodyLimit: ({ serviceUrl, maxBytes, foundAtMs }) =>
      file.transact(async (connection) => {
        await connection.run(`INSERT OR REPLACE INTO push_body_limit VALUES ($1, $2, ${instant('$3')})`, [
          serviceUrl,
          BigInt(maxBytes),
          BigInt(foundAtMs),
        ]);
      }),
  };
}

async function begin(connection: DuckDBConnection, push: Begin): ReturnType<PushStore['begin']> {
  const { runId, unit, fileSha256, serviceUrl, begunAtMs } = push;
  const [row] = await readRows<{ fence: number; checkpoint: string | null }>(
    connection,
    `INSERT INTO push (run_id, unit, file_sha256, fence, begun_at, service_url) VALUES ($1, $2, $3, 1, ${instant('$4')}, $5)
     ON CONFLICT DO UPDATE SET fence = push.fence + 1 RETURNING fence, checkpoint`,
    [runId, unit, fileSha256, BigInt(begunAtMs), serviceUrl],
  );
  if (row === undefined) throw new Error(`the push of run ${runId} could not be taken over`);
  const checkpoint = row.checkpoint === null ? startOfPush : decodeCheckpoint(row.checkpoint);
  return { fence: row.fence, checkpoint };
}

async function save(connection: DuckDBConnection, step: Step): Promise<void> {
  const { runId, unit, checkpoint, chunks, settled, savedAtMs } = step;
  const fileSha256 = await moveCheckpoint(connection, step);
  await appendLedger(connection, chunks, { runId, fileSha256, savedAtMs });
  await noteCounts(connection, runId, unit, checkpoint.counts);
  if (settled === undefined) return;
  await settleOpen(connection, runId, [settled]);
  await connection.run(`UPDATE push SET completed_at = ${instant('$3')} WHERE run_id = $1 AND unit = $2`, [
    runId,
    unit,
    BigInt(savedAtMs),
  ]);
}

/** Returns the content's hash. The fence is what keeps a worker that stood still from taking the checkpoint back. */
async function moveCheckpoint(connection: DuckDBConnection, step: Step): Promise<string> {
  const { runId, unit, fence, checkpoint, savedAtMs } = step;
  const [row] = await readRows<{ sha: string }>(
    connection,
    `UPDATE push SET checkpoint = $4, saved_at = ${instant('$5')}
     WHERE run_id = $1 AND unit = $2 AND fence = $3 RETURNING file_sha256 AS sha`,
    [runId, unit, fence, wellFormed(encodeCheckpoint(checkpoint)), BigInt(savedAtMs)],
  );
  if (row === undefined) throw new AbortedError('another worker has taken the push over');
  return row.sha;
}

async function appendLedger(
  connection: DuckDBConnection,
  chunks: readonly PushedChunk[],
  shared: { readonly runId: string; readonly fileSha256: string; readonly savedAtMs: number },
): Promise<void> {
  if (chunks.length === 0) return;
  const settledAt = new DuckDBTimestampTZValue(BigInt(shared.savedAtMs) * 1_000n);
  await appendRows<PushedChunk>(connection, 'push_ledger', chunks, [
    () => shared.runId,
    ({ chunk }) => chunk,
    () => shared.fileSha256,
    ({ firstLine }) => BigInt(firstLine),
    ({ lastLine }) => BigInt(lastLine),
    ({ items }) => items,
    ({ status }) => status,
    ({ attempts }) => attempts,
    () => settledAt,
  ]);
}

/** A failed or cancelled push makes none needless: its own run is taken up again, or a new one sends all of it. */
async function find(
  connection: DuckDBConnection,
  { fileSha256, serviceUrl, form }: Parameters<PushStore['find']>[0],
): Promise<KnownPush | undefined> {
  const [row] = await readRows<{ run_id: string; completed_ms: number | null; begun_ms: number }>(
    connection,
    `SELECT run_id, epoch_ms(completed_at) AS completed_ms, epoch_ms(begun_at) AS begun_ms FROM push JOIN run USING (run_id)
     WHERE file_sha256 = $1 AND coalesce(service_url = $2, true) AND (run.params->>'$.reading.form') = $3 AND (completed_at IS NOT NULL AND run.state = 'done' OR run.state IN ('queued', 'running'))
     ORDER BY begun_at DESC LIMIT 1`,
    [fileSha256, serviceUrl ?? null, form],
  );
  if (row === undefined) return undefined;
  return row.completed_ms === null
    ? { runId: row.run_id, state: 'under-way', atMs: row.begun_ms }
    : { runId: row.run_id, state: 'done', atMs: row.completed_ms };
}

async function readBodyLimit(
  connection: DuckDBConnection,
  serviceUrl: string,
  sinceMs: number,
): Promise<number | undefined> {
  const [row] = await readRows<{ max_bytes: number }>(
    connection,
    `SELECT max_bytes FROM push_body_limit WHERE service_url = $1 AND found_at >= ${instant('$2')}`,
    [serviceUrl, BigInt(sinceMs)],
  );
  return row?.max_bytes;
}
