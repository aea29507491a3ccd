/** Targets of runs without a plan, as rows. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Targets } from '../../port/runs.ts';
import { appendRows } from '../file/append-rows.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { readRows } from '../file/sql.ts';

/** Rows held in memory before they are appended. */
const appendedAtOnce = 10_000;
/** Each query costs some milliseconds, as do those that a plan asks of each slice. */
const readAtOnce = 5_000;

/** Stores each target once, at the position of its first mention. Returns the number of distinct targets. */
export async function storeTargets(connection: DuckDBConnection, runId: string, targets: Targets): Promise<number> {
  await connection.run('CREATE OR REPLACE TEMP TABLE named_target (place BIGINT, target VARCHAR)');
  let place = 0n;
  const columns = [() => place++, (target: string) => target];
  for await (const slice of slicesOf(targets, appendedAtOnce)) {
    await appendRows(connection, 'named_target', slice, columns, 'temp');
  }
  const stored = await connection.run(
    `INSERT INTO run_target
       SELECT $1, row_number() OVER (ORDER BY first) - 1 AS place, target
       FROM (SELECT target, min(place) AS first FROM named_target GROUP BY target) ORDER BY place`,
    [runId],
  );
  return stored.rowsChanged;
}

/** Reads each slice in a transaction of its own: the caller may use the warehouse in between. */
export async function* readTargets(file: DatabaseFile, runId: string): AsyncGenerator<readonly string[]> {
  for (let place = 0; ; place += readAtOnce) {
    const rows = await file.transact((connection) =>
      readRows<{ target: string }>(
        connection,
        'SELECT target FROM run_target WHERE run_id = $1 AND place >= $2 AND place < $3 ORDER BY place',
        [runId, place, place + readAtOnce],
      ),
    );
    if (rows.length > 0) yield rows.map(({ target }) => target);
    if (rows.length < readAtOnce) return;
  }
}

export async function dropTargets(connection: DuckDBConnection, runId: string): Promise<void> {
  await connection.run('DELETE FROM run_target WHERE run_id = $1', [runId]);
}

async function* slicesOf(targets: Targets, size: number): AsyncGenerator<readonly string[]> {
  let slice: string[] = [];
  for await (const target of targets) {
    slice.push(target);
    if (slice.length < size) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}
