/** A PostgreSQL database with the tables of a warehouse, as the stores use it (../../sql/session.ts). */
import type { PoolClient } from 'pg';
import { UnreachableError } from '../../../core/base/errors.ts';
import { roughDurationText } from '../../../core/base/text.ts';
import type { ServiceIdentity } from '../../../core/base/service-key.ts';
import { sleep } from '../../../timers/sleep.ts';
import { type Fence, requireEpoch } from '../../sql/ledger/ownership-store.ts';
import type { SqlDatabase } from '../../sql/session.ts';
import { Connections, type ConnectionSettings } from './connections.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { PostgresSession } from './postgres-session.ts';
import { classified, isConflict, isLostConnection, sqlStateOf } from './server-fault.ts';
import { inTransaction, type TransactionOptions } from './transaction.ts';

export interface PostgresSettings extends ConnectionSettings {
  readonly service?: ServiceIdentity | undefined;
  /**
   * Longest time for which a server that does not answer is waited for, and work is done again after lost connections: a
   * failover takes some seconds.
   */
  readonly retryMs: number;
  /**
   * Whether a server that this process never reached is waited for too. Without it that is an error at once: its address
   * may be wrong.
   */
  readonly isAwaited?: boolean | undefined;
  /** Called once for each outage that is waited for. */
  readonly onWait?: ((message: string) => void) | undefined;
  /** Brings the tables to the schema of this version. */
  readonly prepare: (session: PostgresSession) => Promise<void>;
}

/** The work of other transactions in the way is short: one that meets so many of them is in a circle. */
const mostConflicts = 10;
const firstDelayMs = 25;
const longestDelayMs = 2_000;
/** A connection that is lost now and then is no outage that an operator has to hear of. */
const quietMs = 1_000;

/** undefined_table, undefined_column, datatype_mismatch, cannot_coerce, undefined_function, invalid_text_representation. */
const tableFaultStates = ['42P01', '42703', '42804', '42846', '42883', '22P02'];

const oldestRelease = 140_000;

type Work<T> = (session: PostgresSession) => Promise<T>;

export class PostgresDatabase implements SqlDatabase {
  readonly service: ServiceIdentity | undefined;
  readonly address: PostgresAddress;
  readonly connections: Connections;
  readonly #settings: PostgresSettings;
  #prepared: Promise<void> | undefined;
  /** Since the first connection that was lost after the last work that succeeded. */
  #outage: { readonly sinceMs: number; isReported: boolean } | undefined;
  #fence: Fence | undefined;

  constructor(settings: PostgresSettings) {
    this.#settings = settings;
    this.service = settings.service;
    this.address = settings.address;
    this.connections = new Connections(settings);
  }

  fence(epoch: number, onTakenOver: (error: Error) => void): () => void {
    const own = { epoch, onTakenOver };
    this.#fence = own;
    return () => {
      if (this.#fence === own) this.#fence = undefined;
    };
  }

  tableFault(error: unknown): string | undefined {
    return error instanceof Error && tableFaultStates.includes(sqlStateOf(error) ?? '') ? error.message : undefined;
  }

  async transact<T>(work: Work<T>): Promise<T> {
    return this.#classified(async () => {
      await this.#prepare();
      return this.#again(() => this.#fenced(work));
    });
  }

  async transactOnce<T>(work: Work<T>): Promise<T> {
    return this.#classified(async () => {
      await this.#prepare();
      return this.#fenced(work);
    });
  }

  /** A transaction that reads, without a migration and without the fence. May run the work again. */
  async read<T>(work: Work<T>): Promise<T> {
    return this.#classified(() => this.#again(() => this.#reading(work)));
  }

  /**
   * As {@link read}, for a statement of an operator: never runs the work again, since it hands rows on, and takes back what
   * functions of the statement did.
   */
  async readOnce<T>(work: Work<T>): Promise<T> {
    return this.#classified(() => this.#reading(work, true));
  }

  /** Runs the work without a migration and without the fence, and takes back what it did. */
  async onTrial(work: Work<void>): Promise<void> {
    return this.#classified(() => this.#again(() => this.#unfenced(work, { isTakenBack: true })));
  }

  #reading<T>(work: Work<T>, isTakenBack = false): Promise<T> {
    return this.#unfenced(work, { mode: 'READ ONLY', isTakenBack });
  }

  #unfenced<T>(work: Work<T>, options?: Pick<TransactionOptions, 'mode' | 'isTakenBack'>): Promise<T> {
    return this.#inTransaction(async (client) => work(await sessionOf(client, this.address)), options);
  }

  async #inTransaction<T>(
    work: (client: PoolClient) => Promise<T>,
    options: Pick<TransactionOptions, 'mode' | 'isTakenBack'> = {},
  ): Promise<T> {
    const { address } = this;
    const limits = { address, checkLimitMs: this.#settings.retryMs };
    const result = await inTransaction(this.connections, work, { ...options, ...limits });
    this.#outage = undefined;
    return result;
  }

  /** Cancels what a backend of the server does, over another connection. Does nothing where that fails. */
  async cancel(pid: number): Promise<void> {
    const client = await this.connections.take().catch(() => undefined);
    await client?.query('SELECT pg_cancel_backend($1)', [pid]).catch(() => undefined);
    client?.release();
  }

  async close(): Promise<void> {
    await this.connections.end();
  }

  async #fenced<T>(work: Work<T>): Promise<T> {
    return this.#inTransaction(async (client) => {
      const session = new PostgresSession(client);
      if (this.#fence !== undefined) await requireEpoch(session, this.#fence, this.service);
      return work(session);
    });
  }

  /** Once a process; again after it failed. */
  async #prepare(): Promise<void> {
    this.#prepared ??= this.#again(() => this.#unfenced(this.#settings.prepare));
    try {
      await this.#prepared;
    } catch (error) {
      this.#prepared = undefined;
      throw error;
    }
  }

  /** Conflicts and lost connections pass; every other error is that of the work. */
  async #again<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1, conflicts = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        conflicts += isConflict(error) ? 1 : 0;
        const mayPass = isLostConnection(error) ? this.#mayComeBack(error) : isConflict(error);
        if (!mayPass || conflicts > mostConflicts) throw error;
        // Two that met must not meet again.
        await sleep(Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1)) * (0.5 + Math.random()));
      }
    }
  }

  /**
   * Whether to try again after a lost connection. The time of the wait is that of the outage, not of each work that meets
   * it: what comes later in it fails at its first try, so that waits do not add up.
   */
  #mayComeBack(error: unknown): boolean {
    const { retryMs, isAwaited = false, onWait, address } = this.#settings;
    if (!this.connections.hasConnected && !isAwaited) return false;
    const now = performance.now();
    this.#outage ??= { sinceMs: now, isReported: false };
    const forMs = now - this.#outage.sinceMs;
    if (forMs > retryMs) return false;
    if (!this.#outage.isReported && forMs >= quietMs) {
      this.#outage.isReported = true;
      onWait?.(`${messageOf(classified(error, address))}: waiting for it, ${roughDurationText(retryMs)} at most.`);
    }
    return true;
  }

  async #classified<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw classified(error, this.address);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function sessionOf(client: PoolClient, { location }: PostgresAddress): Promise<PostgresSession> {
  const session = new PostgresSession(client);
  const [row] = await session.rows<ServerRelease>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS name`,
  );
  requireRelease(row, location);
  return session;
}

/** What a server says of itself: 140023 and `14.23`, for example. */
export interface ServerRelease {
  readonly number: number;
  readonly name: string;
}

/** Throws UnreachableError for a server that is older than wellsync works with. */
export function requireRelease(release: ServerRelease | undefined, location: string): void {
  if (release !== undefined && release.number >= oldestRelease) return;
  throw new UnreachableError('warehouse', `${location} is PostgreSQL ${release?.name ?? 'of an unknown version'}`, {
    hint: 'wellsync needs PostgreSQL 14 or later.',
  });
}
