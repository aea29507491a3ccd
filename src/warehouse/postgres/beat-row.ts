/** The beat of the queue that works a PostgreSQL warehouse: the row of `queue_beat`, dated by the clock of the server. */
import { TakenOverError } from '../../core/base/errors.ts';
import type { Beat } from '../sql/ledger/ownership-store.ts';
import { epochMs, type SqlDatabase, type SqlSession } from '../sql/session.ts';

export class BeatRow implements Beat {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  async ageMs(): Promise<number | undefined> {
    return this.#database.transact(async (session) => {
      // The clock of a server may be set back, or the server replaced.
      await session.run('UPDATE queue_beat SET beat_at = clock_timestamp() WHERE beat_at > clock_timestamp()');
      const [row] = await session.rows<{ ageMs: number | null }>(
        `SELECT ${epochMs('(clock_timestamp() - beat_at)')} AS "ageMs" FROM queue_beat`,
      );
      return row?.ageMs ?? undefined;
    });
  }

  async isOf(queueId: string, epoch: number): Promise<boolean> {
    const rows = await this.#database.transact((session) =>
      session.rows('SELECT 1 FROM queue_beat WHERE queue_id = $1 AND epoch = $2', [queueId, epoch]),
    );
    return rows.length > 0;
  }

  async replace(queueId: string, epoch: number, session?: SqlSession): Promise<void> {
    const write = (within: SqlSession): Promise<number> =>
      within.run('UPDATE queue_beat SET queue_id = $1, epoch = $2, beat_at = clock_timestamp()', [queueId, epoch]);
    await (session === undefined ? this.#database.transact(write) : write(session));
  }

  async remove(of?: { readonly queueId: string; readonly epoch: number }): Promise<void> {
    const { queueId = null, epoch = null } = of ?? {};
    try {
      await this.#database.transact((session) =>
        session.run(
          `UPDATE queue_beat SET queue_id = NULL, epoch = NULL, beat_at = NULL
           WHERE $1::VARCHAR IS NULL OR (queue_id = $1::VARCHAR AND epoch = $2::BIGINT)`,
          [queueId, epoch],
        ),
      );
    } catch (error) {
      // Another queue has the warehouse, and its beat is not this one's to remove.
      if (!(error instanceof TakenOverError)) throw error;
    }
  }
}
