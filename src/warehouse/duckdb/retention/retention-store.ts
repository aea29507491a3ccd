/** Removes old rows from DuckDB, a part at a time: workers write in between, and a kill loses nothing. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Pruned, Retention, RetentionBounds } from '../../port/retention.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { instant, readRows } from '../file/sql.ts';
import { prunableKinds, type PrunableKind } from './prunable.ts';

/** Rows that one transaction removes from one table: some 50 ms. */
const rowsInStep = 20_000;

const nothingPruned: Pruned = { units: 0, plans: 0, runs: 0, pushes: 0, history: 0 };

export function createRetention(file: DatabaseFile): Retention {
  return {
    count: (bounds) => file.transact((connection) => countAll(connection, bounds)),
    step: (bounds) => file.transact((connection) => removeNext(connection, bounds)),
    prunedAtMs: () => file.transact((connection) => readMs(connection, 'coalesce(pruned_at, created_at)')),
    notePruned: (atMs) =>
      file.transact(async (connection) => {
        await connection.run(`UPDATE warehouse SET pruned_at = ${instant('$1')}`, [BigInt(atMs)]);
      }),
    historyHorizonMs: () => file.transact((connection) => readMs(connection, 'history_horizon')),
  };
}

async function countAll(connection: DuckDBConnection, bounds: RetentionBounds): Promise<Pruned> {
  let pruned = nothingPruned;
  for (const kind of prunableKinds) {
    const rows = kind.rows(bounds);
    if (rows === undefined) continue;
    const [row] = await readRows<{ rows: number }>(connection, `SELECT count(*) AS rows FROM (${rows}) old`);
    pruned = added(pruned, kind, row?.rows ?? 0);
  }
  return pruned;
}

/** The first kind with old rows: rows that refer to others go before those. */
async function removeNext(connection: DuckDBConnection, bounds: RetentionBounds): Promise<Pruned | undefined> {
  for (const kind of prunableKinds) {
    const rows = kind.rows(bounds);
    if (rows === undefined) continue;
    const { rowsChanged } = await connection.run(
      `DELETE FROM ${kind.table} WHERE rowid IN (SELECT id FROM (${rows}) old LIMIT ${rowsInStep})`,
    );
    if (rowsChanged === 0) continue;
    // In the transaction that removes the first version: no answer is ever wrong.
    if (kind.name === 'history') await moveHorizon(connection, bounds.historyMs ?? 0);
    return added(nothingPruned, kind, rowsChanged);
  }
  return undefined;
}

function added(pruned: Pruned, { name }: PrunableKind, rows: number): Pruned {
  return name === undefined ? pruned : { ...pruned, [name]: pruned[name] + rows };
}

async function moveHorizon(connection: DuckDBConnection, horizonMs: number): Promise<void> {
  await connection.run(
    `UPDATE warehouse SET history_horizon = ${instant('$1')}
     WHERE history_horizon IS NULL OR history_horizon < ${instant('$1')}`,
    [BigInt(horizonMs)],
  );
}

async function readMs(
  connection: DuckDBConnection,
  time: 'coalesce(pruned_at, created_at)' | 'history_horizon',
): Promise<number | undefined> {
  const [row] = await readRows<{ ms: number | null }>(connection, `SELECT epoch_ms(${time}) AS ms FROM warehouse`);
  return row?.ms ?? undefined;
}
