/** What of an embedded queue outlives its process (src/core/run/queue-state.ts). */
import type { QueueStateKind, QueueStateStore } from '../../../core/run/queue-state.ts';
import { type InSession, jsonText, type SqlDatabase, transacted } from '../session.ts';

/** How long the lines of the log of a run are kept. */
const keepLogs = `INTERVAL '7 days'`;

export function createQueueStateStore(database: SqlDatabase): QueueStateStore {
  return transacted<QueueStateStore>(database, { read, write });
}

const read: InSession<QueueStateStore['read']> = async (session, kinds, key) => {
  const rows = await session.rows<{ kind: QueueStateKind; key: string; value: string }>(
    `SELECT kind, key, CAST(value AS VARCHAR) AS value FROM queue_state
     WHERE kind IN (SELECT ${session.dialect.each('$1', 'VARCHAR')}) AND ($2::VARCHAR IS NULL OR key = $2)
     ORDER BY kind, key`,
    [jsonText(kinds), key ?? null],
  );
  return rows.map(({ value, ...entry }) => ({ ...entry, value: JSON.parse(value) as unknown }));
};

const write: InSession<QueueStateStore['write']> = async (session, changes) => {
  const { dialect } = session;
  const removed = changes.filter(({ value }) => value === undefined);
  if (removed.length > 0) {
    await session.run(
      `DELETE FROM queue_state WHERE (kind, key) IN (
         SELECT e.kind, e.key FROM ${dialect.relation('$1', { kind: 'VARCHAR', key: 'VARCHAR' })} e)`,
      [jsonText(removed)],
    );
  }
  const kept = changes.flatMap(({ kind, key, value }) =>
    value === undefined ? [] : [{ kind, key, value: JSON.stringify(value) }],
  );
  if (kept.length === 0) return;
  const fields = { kind: 'VARCHAR', key: 'VARCHAR', value: 'VARCHAR' } as const;
  await session.run(
    `INSERT INTO queue_state (kind, key, value, noted_at)
     SELECT e.kind, e.key, CAST(e.value AS JSON), ${dialect.clock} FROM ${dialect.relation('$1', fields)} e
     ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, noted_at = excluded.noted_at`,
    [jsonText(kept)],
  );
  if (kept.some(({ kind }) => kind === 'log')) {
    await session.run(`DELETE FROM queue_state WHERE kind = 'log' AND noted_at < ${dialect.clock} - ${keepLogs}`);
  }
};
