/**
 * Transactions: all changes of some work, or none. A connection may be lost while the server commits: whether it did is
 * then looked up, never guessed (G1).
 *
 *   BEGIN -> work -> COMMIT -> done
 *              |        |  -> lost: pg_xact_status -> committed: done
 *              |        |                          -> aborted: the same error as for a lost connection
 *              |--------'-- error: ROLLBACK
 *              '-- of a statement that somebody else wrote: ROLLBACK, whatever it did
 */
import type { PoolClient } from 'pg';
import { UnreachableError } from '../../../core/base/errors.ts';
import { withSteps } from '../../../core/base/failpoint.ts';
import { sleep } from '../../../timers/sleep.ts';
import type { Connections, PostgresAddress } from './connections.ts';
import { classified, isLostConnection, sqlStateOf } from './server-fault.ts';

/**
 * Settings of a session that a pooler of transactions hands to many clients hold for one transaction alone. They stand in
 * one message with BEGIN. A transaction whose client is gone ends by itself, and with it its locks; waiting for the locks
 * of another one ends as well.
 */
const begin = (mode: string): string => `
  BEGIN ISOLATION LEVEL READ COMMITTED ${mode};
  SET LOCAL search_path TO public; SET LOCAL TimeZone TO 'UTC'; SET LOCAL DateStyle TO 'ISO';
  SET LOCAL IntervalStyle TO 'postgres'; SET LOCAL extra_float_digits TO 1; SET LOCAL lock_timeout TO '60s';
  SET LOCAL idle_in_transaction_session_timeout TO '60s'; SET LOCAL client_min_messages TO 'warning'`;

const steps = withSteps('transaction', {
  begin: (client: PoolClient, mode: string) => client.query(begin(mode)),
  commit: (client: PoolClient) => client.query('COMMIT'),
});

/**
 * The numbers of transactions are given out again after a failover, which begins a timeline, and after a crash: one whose
 * log had not come to the disk is then the number of somebody else. The recovery from a crash resets the statistics.
 */
const timeline = `left(pg_walfile_name(pg_current_wal_lsn()), 8)`;
/** By the clock of the server, in whatever zone. */
const started = 'extract(epoch FROM pg_postmaster_start_time())::text';
const isRecovered = `coalesce((
  SELECT stats_reset > $1::text::timestamptz
    -- A host may come back with an earlier clock.
    OR (${started} <> $2::text AND stats_reset >= pg_postmaster_start_time())
  FROM pg_stat_bgwriter), TRUE)`;
const own = `
  SELECT pg_current_xact_id_if_assigned()::text AS xid, pg_backend_pid() AS pid, ${timeline} AS timeline,
    now()::text AS begun, ${started} AS started`;

interface Transaction {
  readonly xid: string;
  readonly pid: number;
  readonly timeline: string;
  /** By the clock of the server, as that of its start. */
  readonly begun: string;
  readonly started: string;
}

export interface TransactionOptions {
  readonly address: PostgresAddress;
  /** Ends in ROLLBACK where the work succeeds too: READ ONLY lets functions write large objects and notify. */
  readonly isTakenBack?: boolean | undefined;
  readonly mode?: 'READ WRITE' | 'READ ONLY' | undefined;
  /** Longest time for which the outcome of a lost commit is looked up. */
  readonly checkLimitMs: number;
}

/**
 * Runs the work in one transaction. Throws what the work throws, the server's error, or that of the lost connection; the
 * changes stand only if it returns. Throws UnreachableError if the outcome of a commit cannot be looked up in time.
 */
export async function inTransaction<T>(
  connections: Connections,
  work: (client: PoolClient) => Promise<T>,
  { address, mode = 'READ WRITE', isTakenBack = false, checkLimitMs }: TransactionOptions,
): Promise<T> {
  const client = await connections.take();
  let isReleased = false;
  const release = (isBroken: boolean): void => {
    if (!isReleased) client.release(isBroken);
    isReleased = true;
  };
  try {
    await steps.begin(client, mode);
    const result = await work(client);
    if (isTakenBack) {
      await client.query('ROLLBACK');
      release(false);
      return result;
    }
    const { rows } = await client.query<{ [name in keyof Transaction]: Transaction[name] | null }>(own);
    try {
      // After a failed statement COMMIT succeeds as a call, and rolls back.
      const { command } = await steps.commit(client);
      if (command !== 'COMMIT') throw new Error(`the server ended the transaction with ${command}`);
    } catch (error) {
      if (!isLostConnection(error)) throw error;
      release(true);
      const [committing] = rows;
      const lookup = { address, limitMs: checkLimitMs };
      if (hasChanges(committing) && (await outcomeOf(connections, committing, lookup)) === 'aborted') throw error;
    }
    release(false);
    return result;
  } catch (error) {
    // The next holder of a connection would otherwise stand in this transaction.
    if (!isReleased)
      await client.query('ROLLBACK').then(
        () => release(false),
        () => release(true),
      );
    throw error;
  }
}

function hasChanges(transaction: object | undefined): transaction is Transaction {
  return transaction !== undefined && 'xid' in transaction && transaction.xid !== null;
}

const checkDelayMs = 50;
/** A commit that the server has begun takes less; a COMMIT that never came leaves its transaction open. */
const patienceMs = 2_000;
/** Enough to look once more after {@link patienceMs}. */
const leastCheckMs = 5_000;

/** Asks the server, over other connections, until the transaction has ended. */
async function outcomeOf(
  connections: Connections,
  lost: Transaction,
  { address, limitMs }: { readonly address: PostgresAddress; readonly limitMs: number },
): Promise<'committed' | 'aborted'> {
  const sinceMs = performance.now();
  for (let last: unknown; ; await sleep(checkDelayMs)) {
    const waitedMs = performance.now() - sinceMs;
    if (waitedMs > Math.max(limitMs, leastCheckMs)) throw outcomeUnknown(classified(last, address));
    try {
      const status = await statusOf(connections, lost, waitedMs > patienceMs);
      if (status !== 'in progress') return status;
    } catch (error) {
      if (!isLostConnection(error)) throw error;
      last = error;
    }
  }
}

/** Null for one of long ago. */
async function ownStatus(client: PoolClient, xid: string): Promise<'committed' | 'aborted' | 'in progress' | null> {
  try {
    const { rows } = await client.query<{ status: 'committed' | 'aborted' | 'in progress' | null }>(
      'SELECT pg_xact_status($1::text::xid8) AS status',
      [xid],
    );
    return rows[0]?.status ?? null;
  } catch (error) {
    // `transaction ID … is in the future`: a crash lost it.
    if (sqlStateOf(error) === '22023') return 'aborted';
    throw error;
  }
}

async function statusOf(
  connections: Connections,
  { xid, pid, timeline: before, begun, started: startedBefore }: Transaction,
  isEnded: boolean,
): Promise<'committed' | 'aborted' | 'in progress'> {
  const client = await connections.take();
  let isBroken = true;
  try {
    if (isEnded) {
      // The backend may serve another client of a pooler by now: only this very transaction is ended.
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_xid = $2::text::xid8::xid`,
        [pid, xid],
      );
    }
    // Of one transaction, so that a pooler has them answered by one server, which lives all the while.
    await client.query('BEGIN');
    const { rows: servers } = await client.query<{ now: string | null; recovered: boolean }>(
      // A standby that answers by the name of the server may not have heard of the commit yet.
      `SELECT CASE WHEN NOT pg_is_in_recovery() THEN ${timeline} END AS now, ${isRecovered} AS recovered`,
      [begun, startedBefore],
    );
    const [server] = servers;
    if (server === undefined || server.now !== before) throw outcomeUnknown();
    const status = await ownStatus(client, xid);
    await client.query('ROLLBACK');
    isBroken = false;
    if (status === null || (server.recovered && status === 'committed')) throw outcomeUnknown();
    return status;
  } finally {
    client.release(isBroken);
  }
}

/** `silence`: why the server does not tell. It is the message then, as of every work that meets the same outage. */
function outcomeUnknown(silence?: unknown): UnreachableError {
  const hint = 'Nothing is lost: the work is done again, and what was committed counts once.';
  if (silence instanceof Error) {
    const lostHint = `It was lost during a commit, and whether that was done is not known. ${hint}`;
    return new UnreachableError('warehouse', silence.message, { hint: lostHint, cause: silence });
  }
  const message = 'the connection to the warehouse was lost while it committed, and whether it did is not known';
  return new UnreachableError('warehouse', message, { hint });
}
