/** Removes old rows, a part at a time: workers write in between, and a kill loses nothing. */
import type { Pruned, Retention, RetentionBounds } from '../../port/retention.ts';
import { epochMs, type SqlDatabase, type SqlSession } from '../session.ts';
import { takeTurn } from '../writer-turn.ts';
import { prunableKinds, type PrunableKind } from './prunable.ts';

/** Rows that one transaction removes from one table: some 50 ms. */
const rowsInStep = 20_000;

const nothingPruned: Pruned = { units: 0, plans: 0, runs: 0, pushes: 0, history: 0 };

export function createRetention(database: SqlDatabase): Retention {
  return {
    count: (bounds) => database.transact((session) => countAll(session, bounds)),
    step: (bounds) => database.transact((session) => removeNext(session, bounds)),
    prunedAtMs: () => database.transact((session) => readMs(session, 'coalesce(pruned_at, created_at)')),
    notePruned: (atMs) =>
      database.transact(async (session) => {
        await session.run(`UPDATE warehouse SET pruned_at = $1`, [new Date(atMs)]);
      }),
    historyHorizonMs: () => database.transact((session) => readMs(session, 'history_horizon')),
  };
}

async function countAll(session: SqlSession, bounds: RetentionBounds): Promise<Pruned> {
  let pruned = nothingPruned;
  for (const kind of prunableKinds) {
    const rows = kind.rows(bounds, session.dialect.rowId);
    if (rows === undefined) continue;
    const [row] = await session.rows<{ rows: number }>(`SELECT count(*) AS rows FROM (${rows}) old`);
    pruned = added(pruned, kind, row?.rows ?? 0);
  }
  return pruned;
}

/** The first kind with old rows: rows that refer to others go before those. */
async function removeNext(session: SqlSession, bounds: RetentionBounds): Promise<Pruned | undefined> {
  await takeTurn(session, 'retention');
  const { rowId } = session.dialect;
  for (const kind of prunableKinds) {
    const rows = kind.rows(bounds, rowId);
    if (rows === undefined) continue;
    const removed = await session.run(
      `DELETE FROM ${kind.table} WHERE ${rowId} IN (SELECT id FROM (${rows}) old LIMIT ${rowsInStep})`,
    );
    if (removed === 0) continue;
    // In the transaction that removes the first version: no answer is ever wrong.
    if (kind.name === 'history') await moveHorizon(session, bounds.historyMs ?? 0);
    return added(nothingPruned, kind, removed);
  }
  return undefined;
}

function added(pruned: Pruned, { name }: PrunableKind, rows: number): Pruned {
  return name === undefined ? pruned : { ...pruned, [name]: pruned[name] + rows };
}

async function moveHorizon(session: SqlSession, horizonMs: number): Promise<void> {
  await session.run(
    `UPDATE warehouse SET history_horizon = $1
     WHERE history_horizon IS NULL OR history_horizon < $1`,
    [new Date(horizonMs)],
  );
}

async function readMs(
  session: SqlSession,
  time: 'coalesce(pruned_at, created_at)' | 'history_horizon',
): Promise<number | undefined> {
  const [row] = await session.rows<{ ms: number | null }>(`SELECT ${epochMs(time)} AS ms FROM warehouse`);
  return row?.ms ?? undefined;
}
