/**
 * The working process of a PostgreSQL warehouse, by a session of the server of its own: it holds an advisory lock, which is
 * free once the session has ended, and listens for the word of other hosts. Behind a pool that hands sessions on, the lock
 * stays taken: then the beat alone tells.
 */
import { TakenOverError } from '../../core/base/errors.ts';
import type { Presence } from '../../core/run/warehouse-queue.ts';
import { sleep } from '../../timers/sleep.ts';
import type { Beat } from '../sql/ledger/ownership-store.ts';
import { epochMs, type SqlDatabase, type SqlSession } from '../sql/session.ts';
import type { SingleConnection } from './server/connections.ts';
import type { PostgresDatabase } from './server/postgres-database.ts';
import { classified } from './server/server-fault.ts';

/** Any number, the same for every process: the first half of the lock's key; the second is of the queue. */
const lockClass = 722_580;
const channel = 'wellsync_work';
/** Shorter than another process waits before it takes a lock that is free for a death (src/queue/embedded/peers.ts). */
const retryMs = 500;

export function createPresence(database: PostgresDatabase): Presence {
  return {
    keep: async (queueId, onWoken) => {
      const kept = new KeptPresence(database, queueId, onWoken);
      await kept.begin();
      return kept;
    },
    isGone: (queueId) =>
      database.transact(async (session) => {
        const held = await session.rows(
          `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${lockClass}::OID AND objsubid = 2
             AND objid = (hashtext($1)::BIGINT & 4294967295)::OID
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
          [queueId],
        );
        return held.length === 0;
      }),
    wake: () => database.transact(async (session) => void (await session.rows(`SELECT pg_notify('${channel}', '')`))),
  };
}

class KeptPresence {
  readonly #database: PostgresDatabase;
  readonly #queueId: string;
  readonly #onWoken: () => void;
  #client: SingleConnection | undefined;
  #isEnded = false;

  constructor(database: PostgresDatabase, queueId: string, onWoken: () => void) {
    this.#database = database;
    this.#queueId = queueId;
    this.#onWoken = onWoken;
  }

  async begin(): Promise<void> {
    const { connections, address } = this.#database;
    const client = await connections.single().catch((error: unknown) => {
      throw classified(error, address);
    });
    client.on('error', () => undefined);
    client.on('notification', this.#onWoken);
    try {
      // Nothing is asked over it for hours.
      await client.query('SET idle_session_timeout = 0');
      await client.query(`LISTEN ${channel}`);
      if (!(await this.#takeLock(client))) void this.#takeLater(client);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw classified(error, address);
    }
    // From here on: a connection that was lost before is the caller's to make again.
    client.on('end', () => void this.#beginAgain());
    client.unref();
    this.#client = client;
    // Ended meanwhile: a session left open would say that the process lives.
    if (this.#isEnded) await this.end();
  }

  async #takeLock(client: SingleConnection): Promise<boolean> {
    const lock = 'SELECT pg_try_advisory_lock($1::INTEGER, hashtext($2)) AS taken';
    const { rows } = await client.query<{ readonly taken: boolean }>(lock, [lockClass, this.#queueId]);
    return rows[0]?.taken === true;
  }

  /** A session that this process has lost holds it until the server, or a pool, sees that: no other process takes it. */
  async #takeLater(client: SingleConnection): Promise<void> {
    try {
      do await sleep(retryMs, { ref: false });
      while (!this.#isEnded && !(await this.#takeLock(client)));
    } catch {
      // The end of its connection begins again.
    }
  }

  /** After a lost connection; what came meanwhile was told to nobody. */
  async #beginAgain(): Promise<void> {
    this.#client = undefined;
    while (!this.#isOver()) {
      await sleep(retryMs, { ref: false });
      if (!this.#isOver()) await this.begin().catch(() => undefined);
    }
    if (!this.#isEnded) this.#onWoken();
  }

  #isOver(): boolean {
    return this.#isEnded || this.#client !== undefined;
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    this.#client?.ref();
    await this.#client?.end().catch(() => undefined);
  }
}

// The beat of the queue that works a PostgreSQL warehouse: the row of `queue_beat`, dated by the clock of the server.

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
