/** Targets of runs without a plan, as rows. */
import type { Targets } from '../../port/runs.ts';
import type { SqlDatabase, SqlSession } from '../session.ts';

/** Rows held in memory before they are appended. */
const appendedAtOnce = 10_000;
/** Each query costs some milliseconds, as do those that a plan asks of each slice. */
const readAtOnce = 5_000;

/** Stores each target once, at the position of its first mention. Returns the number of distinct targets. */
export async function storeTargets(session: SqlSession, runId: string, targets: Targets): Promise<number> {
  await session.run(session.dialect.temporaryTable('named_target', 'place BIGINT, target VARCHAR'));
  let place = 0n;
  const columns = { place: () => place++, target: (target: string) => target };
  for await (const slice of slicesOf(targets, appendedAtOnce)) {
    await session.append('named_target', columns, slice);
  }
  return session.run(
    `INSERT INTO run_target
       SELECT CAST($1 AS VARCHAR), row_number() OVER (ORDER BY first) - 1 AS place, target
       FROM (SELECT target, min(place) AS first FROM named_target GROUP BY target) named ORDER BY place`,
    [runId],
  );
}

/** Reads each slice in a transaction of its own: the caller may use the warehouse in between. */
export async function* readTargets(database: SqlDatabase, runId: string): AsyncGenerator<readonly string[]> {
  for (let place = 0; ; place += readAtOnce) {
    const rows = await database.transact((session) =>
      session.rows<{ target: string }>(
        'SELECT target FROM run_target WHERE run_id = $1 AND place >= $2 AND place < $3 ORDER BY place',
        [runId, place, place + readAtOnce],
      ),
    );
    if (rows.length > 0) yield rows.map(({ target }) => target);
    if (rows.length < readAtOnce) return;
  }
}

export async function dropTargets(session: SqlSession, runId: string): Promise<void> {
  await session.run('DELETE FROM run_target WHERE run_id = $1', [runId]);
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
