/** The beat of the queue that works a PostgreSQL warehouse: the row of `queue_beat`, dated by the clock of the server. */
import { TakenOverError } from '../../core/base/errors.ts';
import type { Beat } from '../sql/ledger/ownership-store.ts';
import { epochMs, type SqlDatabase, type SqlSession } from '../sql/session.ts';

export function createBeatRow(database: SqlDatabase): Beat {
  return {
    ageMs: () =>
      database.transact(async (session) => {
        // The clock of a server may be set back, or the server replaced.
        await session.run('UPDATE queue_beat SET beat_at = clock_timestamp() WHERE beat_at > clock_timestamp()');
        return readBeatAgeMs(session);
      }),
    queueId: () =>
      database.transact(async (session) => {
        const [row] = await session.rows<{ queueId: string | null }>('SELECT queue_id AS "queueId" FROM queue_beat');
        return row?.queueId ?? undefined;
      }),
    isOf: async (queueId, epoch) => {
      const beat = 'SELECT 1 FROM queue_beat WHERE queue_id = $1 AND epoch = $2';
      return (await database.transact((session) => session.rows(beat, [queueId, epoch]))).length > 0;
    },
    replace: async (queueId, epoch, session) => {
      const write = async (within: SqlSession): Promise<void> => {
        const beat = 'UPDATE queue_beat SET queue_id = $1, epoch = $2, beat_at = clock_timestamp()';
        await within.run(beat, [queueId, epoch]);
      };
      await (session === undefined ? database.transact(write) : write(session));
    },
    remove: async (of) => {
      const removal = `UPDATE queue_beat SET queue_id = NULL, epoch = NULL, beat_at = NULL
        WHERE $1::VARCHAR IS NULL OR (queue_id = $1::VARCHAR AND epoch = $2::BIGINT)`;
      await database
        .transact((session) => session.run(removal, [of?.queueId ?? null, of?.epoch ?? null]))
        .catch((error: unknown) => {
          // Another queue has the warehouse, and its beat is not this one's to remove.
          if (!(error instanceof TakenOverError)) throw error;
        });
    },
  };
}

/** Milliseconds since the beat; undefined without one. */
export async function readBeatAgeMs(session: SqlSession): Promise<number | undefined> {
  const [row] = await session.rows<{ ageMs: number | null }>(
    `SELECT ${epochMs('(clock_timestamp() - beat_at)')} AS "ageMs" FROM queue_beat`,
  );
  return row?.ageMs ?? undefined;
}
