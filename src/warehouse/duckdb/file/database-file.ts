/**
 * Sessions on a DuckDB file. Within this process all work on a path queues up and shares one handle: a second handle would
 * not be blocked by the lock, which belongs to the process, and would corrupt the file. For other processes the handle is
 * released when idle, and at intervals under load.
 *
 *   closed -> open -> work -> idle -> closed        after idleMs without work
 *                       |  -> closed -> (pause)     for a process that waits: after leastHoldMs; for one that gives no
 *                       |                           sign of it (open-file.ts): after maxHoldMs
 *                       |  -> closed                after an error: nothing of a broken session is reused
 */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { canonicalPath } from './canonical-path.ts';
import { AbortedError, isBusy, OutageError, UnreachableError, WarehouseGoneError } from '../../../core/base/errors.ts';
import type { ServiceIdentity } from '../../../core/base/service-key.ts';
import { after, sleep, type Timer } from '../../../timers/sleep.ts';
import { type Fence, requireEpoch } from '../../sql/ledger/ownership-store.ts';
import type { SqlDatabase } from '../../sql/session.ts';
import { migrate, schemaVersion } from '../schema.ts';
import { classified, messageOf } from './engine.ts';
import { type AccessMode, fileAt, type FileSettings, isWaitedFor, openFile, type OpenFile } from './open-file.ts';
import { type DuckdbSession, inTransaction } from './session.ts';

const idleMs = 500;
/** Closing and opening take a tenth of it and more. */
const leastHoldMs = 1_000;
const maxHoldMs = 10_000;
/** Longer than the retry interval of a waiting process, so that it finds the file free. */
const pauseMs = { min: 60, spread: 60 } as const;

/** Settings of one handle of a shared file. */
export interface HandleSettings {
  readonly service?: ServiceIdentity | undefined;
}

type Work<T> = (session: DuckdbSession) => Promise<T>;

/** The rows that work inserts: at the most, and by its result. */
export interface AddedRows<T> {
  readonly mostRows: number;
  readonly rowsOf: (result: T) => number;
}

/** Throws where the work must not begin. */
type Guard = (file: OpenFile) => Promise<void>;

/** The file as the stores know it. Nothing that a transaction does in a file is in the way of another one. */
export interface DatabaseFile extends SqlDatabase {
  /** `duckdb:PATH`. */
  readonly location: string;
  readonly path: string;
  /**
   * Makes the file at the first call; throws WarehouseGoneError if it is removed or replaced later, also for a transaction
   * that went into the removed file; that error is passed to `onTakenOver` of a fence as well.
   */
  transact<T>(work: Work<T>): Promise<T>;
  transactOnce<T>(work: Work<T>): Promise<T>;
  /**
   * As {@link transact}, for long work that inserts daily production and lets short work go first.
   */
  addRows<T>(work: Work<T>, added: AddedRows<T>): Promise<T>;
  /** Rows that fit into the row group that the file's log has begun, behind all that {@link addRows} was asked for. */
  rowsThatFit(): number;
  /** Throws UnreachableError if the file does not exist yet. */
  requireStored(): void;
  /**
   * Runs the work on the file opened read-only, without a migration. Throws UnreachableError if the file does not exist
   * yet.
   */
  read<T>(work: Work<T>): Promise<T>;
  /** Brings the log into the file, without a migration. Throws OutageError if the disk is full or fails. */
  foldLog(): Promise<void>;
  /** Releases the handle. The last holder cancels waits for the lock, lets the running work end and closes the file. */
  release(): Promise<void>;
}

const filesOfThisProcess = new Map<string, { readonly sessions: Sessions; holders: number }>();

/** The file at a path. Callers with the same path share it, with the settings of the first. */
export function shareDatabaseFile({ service, ...settings }: FileSettings & HandleSettings): DatabaseFile {
  const path = canonicalPath(resolve(settings.path));
  const shared = filesOfThisProcess.get(path) ?? { sessions: new Sessions({ ...settings, path }), holders: 0 };
  filesOfThisProcess.set(path, shared);
  shared.holders += 1;
  let released: Promise<void> | undefined;
  let fence: Fence | undefined;

  async function release(): Promise<void> {
    shared.holders -= 1;
    if (shared.holders > 0) return;
    await shared.sessions.end();
    // Only now may the path be reopened: two open handles must never exist.
    if (shared.holders === 0) filesOfThisProcess.delete(path);
  }

  function sessions(): Sessions {
    if (released !== undefined) throw new AbortedError('the warehouse was closed before this call');
    return shared.sessions;
  }

  // Before the transaction: whoever could change the epoch waits for the file, or for this work.
  const guard: Guard = async ({ kept }) => {
    if (fence !== undefined) await requireEpoch(kept, fence, service);
  };

  const transact = async <T>(work: Work<T>, added?: AddedRows<T>): Promise<T> => {
    try {
      return await sessions().transact(guard, work, added);
    } catch (error) {
      if (error instanceof WarehouseGoneError) fence?.onTakenOver(error);
      throw error;
    }
  };

  return {
    location: `duckdb:${path}`,
    path,
    service,
    fence: (epoch, onTakenOver) => {
      const own = { epoch, onTakenOver };
      fence = own;
      return () => {
        if (fence === own) fence = undefined;
      };
    },
    transact: (work) => transact(work),
    transactOnce: (work) => transact(work),
    addRows: transact,
    rowsThatFit: () => shared.sessions.rowsThatFit,
    tableFault,
    requireStored: () => requireFile(path),
    read: async (work) => sessions().read(work),
    foldLog: async () => sessions().foldLog(),
    release: () => (released ??= release()),
  };
}

function requireFile(path: string): void {
  if (existsSync(path)) return;
  throw new UnreachableError('warehouse', `there is no warehouse at ${path} yet`, {
    hint: 'If it lies elsewhere, set WELLSYNC_WAREHOUSE to it.',
    action: { kind: 'first-export' },
  });
}

class Sessions {
  readonly #settings: FileSettings;
  #abort = new AbortController();
  readonly #line = new WorkLine();
  /** The most rows of each work that adds rows, in its order. */
  readonly #asked: number[] = [];
  #open: UsedFile | undefined;
  #idleTimer: Timer | undefined;
  #pauseMs = 0;
  /** Since when another process holds the file, as far as it was waited for. */
  #heldSinceMs: number | undefined;
  /** The file that was opened for writing first. */
  #file: string | undefined;

  constructor(settings: FileSettings) {
    this.#settings = settings;
  }

  /** Work that adds rows is long. */
  async transact<T>(guard: Guard, work: Work<T>, added?: AddedRows<T>): Promise<T> {
    if (added !== undefined) this.#asked.push(added.mostRows);
    let isAsked = added !== undefined;
    const countAsDone = (): void => {
      if (isAsked) this.#asked.shift();
      isAsked = false;
    };
    return this.#inTurn(
      async (askedAtMs) => {
        try {
          this.#requireSameFile();
          const file = (this.#open ??= await this.#openForWriting(askedAtMs));
          await guard(file);
          const result = await file.connected((session) => inTransaction(session.connection, () => work(session)));
          this.#requireSameFile();
          countAsDone();
          if (added !== undefined && file.logged.takeIn(added.rowsOf(result))) await this.#bringIn(file);
          return result;
        } catch (error) {
          await this.#close();
          throw classified(error, this.#settings.path);
        } finally {
          countAsDone();
          await this.#releaseInTime();
        }
      },
      added === undefined ? 'short' : 'long',
    );
  }

  get rowsThatFit(): number {
    return rowsThatFit(this.#open?.logged.rows ?? 0, this.#asked);
  }

  async read<T>(work: Work<T>): Promise<T> {
    return this.#inTurn(async (askedAtMs) => {
      await this.#close();
      requireFile(this.#settings.path);
      return this.#openOnce('READ_ONLY', askedAtMs, (file) => file.connected(work));
    });
  }

  /** Afterwards the file holds all that was committed, and may go without its log. The log stays where this fails. */
  async foldLog(): Promise<void> {
    const { path } = this.#settings;
    return this.#inTurn(async (askedAtMs) => {
      await this.#close();
      await this.#openOnce('READ_WRITE', askedAtMs, bringIn).catch((error: unknown) => {
        throw classified(error, path);
      });
      const bytes = statSync(`${path}.wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (bytes === 0) return;
      const message = `the warehouse ${path} cannot be used: its log stays beside it`;
      throw new OutageError('warehouse', 'warehouse-io', message);
    });
  }

  async #openOnce<T>(mode: AccessMode, askedAtMs: number, work: (file: OpenFile) => Promise<T>): Promise<T> {
    const file = await this.#opened(mode, askedAtMs);
    try {
      return await work(file);
    } finally {
      file.close();
    }
  }

  /** Work that was asked for while other work waited for the file has waited since then: no wait follows another one. */
  async #opened(mode: AccessMode, askedAtMs: number, beforeTry?: () => void): Promise<OpenFile> {
    const nowMs = performance.now();
    const waitingSinceMs = Math.max(askedAtMs, this.#heldSinceMs ?? nowMs);
    try {
      const how = { waitingSinceMs, ...(beforeTry === undefined ? {} : { beforeTry }) };
      const file = await openFile(this.#settings, mode, this.#abort.signal, how);
      this.#heldSinceMs = undefined;
      return file;
    } catch (error) {
      this.#heldSinceMs = isBusy(error) ? (this.#heldSinceMs ?? nowMs) : undefined;
      throw error;
    }
  }

  async end(): Promise<void> {
    this.#abort.abort();
    // After all work that waits, long work too.
    await this.#inTurn(() => this.#close(Math.max(lastThreads, this.#settings.threads ?? 1)), 'long');
    this.#abort = new AbortController();
  }

  #inTurn<T>(work: (askedAtMs: number) => Promise<T>, length?: WorkLength): Promise<T> {
    const askedAtMs = performance.now();
    return this.#line.do(async () => {
      this.#idleTimer?.cancel();
      return work(askedAtMs);
    }, length);
  }

  /** The engine would make a new, empty file; and one that is open goes on in a removed file without an error. */
  #requireSameFile(): void {
    const { path } = this.#settings;
    if (this.#file !== undefined && fileAt(path) !== this.#file) throw new WarehouseGoneError(path);
  }

  async #openForWriting(askedAtMs: number): Promise<UsedFile> {
    const { signal } = this.#abort;
    if (this.#pauseMs > 0) await sleep(this.#pauseMs, { signal }).catch(() => undefined);
    this.#pauseMs = 0;
    const { path, now, log, onMigrated } = this.#settings;
    const file = await this.#opened('READ_WRITE', askedAtMs, () => this.#requireSameFile());
    try {
      const found = await file.connected((session) => migrate(session, `duckdb:${path}`, now()));
      const done = found === 0 ? 'created' : 'migrated';
      if (found !== schemaVersion)
        log?.info({ path, from: found, to: schemaVersion }, `the warehouse schema was ${done}`);
      if (found !== schemaVersion && found !== 0) {
        onMigrated?.(
          `The warehouse ${path} was migrated from schema version ${found} to ${schemaVersion}: an earlier wellsync can no longer open it.`,
        );
      }
      this.#file ??= fileAt(path);
      return { ...file, sinceMs: performance.now(), logged: new LoggedRows() };
    } catch (error) {
      file.close();
      throw error;
    }
  }

  async #releaseInTime(): Promise<void> {
    if (this.#open === undefined) return;
    const openMs = performance.now() - this.#open.sinceMs;
    const isWanted = openMs >= leastHoldMs && isWaitedFor(this.#settings.path);
    if (!isWanted && openMs < maxHoldMs) {
      this.#idleTimer = after(idleMs, () => void this.#inTurn(() => this.#close()));
      return;
    }
    await this.#close();
    this.#pauseMs = pauseMs.min + Math.random() * pauseMs.spread;
  }

  /** The commit before stands, whatever comes of it: a session that it broke is not used again. */
  async #bringIn(file: UsedFile): Promise<void> {
    try {
      await bringIn(file);
    } catch (error) {
      this.#settings.log?.info(
        { err: error },
        'the log of the warehouse was not brought into its file: all commits are kept, and it is tried again',
      );
      await this.#close();
    }
  }

  async #close(threads?: number): Promise<void> {
    const file = this.#open;
    this.#open = undefined;
    if (file === undefined) return;
    // Closing writes the log into the file, and would do so on the event loop; this does it on another thread. If it
    // fails, committed data stays in the log for the next opening.
    await bringIn(file, threads).catch(() => undefined);
    file.close();
  }
}

interface UsedFile extends OpenFile {
  readonly sinceMs: number;
  /** Since it was opened. */
  readonly logged: LoggedRows;
}

/** For the last checkpoint of a process, which waits for it: each thread writes row groups of its own. */
const lastThreads = 2;

async function bringIn(file: OpenFile, threads?: number): Promise<void> {
  await file.connected(async (session) => {
    if (threads !== undefined) await session.run(`SET threads = ${threads}`);
    await session.run('CHECKPOINT');
  });
}

// When the log of a DuckDB file is brought into it while the file is open. Each time leaves row groups of its own in the
// table, the last one with what rows were left for it, and the engine writes small ones again: two as one, three as two,
// four as three, where they fit. That took 0.5 s each, in the middle of a load while no commit went on. Between two closings
// of the file there is as a rule none to write again: each is more than three quarters full, and commits take what fits it.

/** Rows of a row group of the engine. */
export const rowGroupRows = 122_880;

/** Of four such row groups the engine makes no three. */
const enoughRows = Math.ceil(0.76 * rowGroupRows);

/** Counts the rows that commits insert. Those that the engine brings in by itself are counted as well. */
export class LoggedRows {
  #rows: number;

  constructor(rows = 0) {
    this.#rows = rows;
  }

  /** Since the log was brought in. */
  get rows(): number {
    return this.#rows;
  }

  /** Returns whether the log is to be brought in behind this commit: it counts from 0 then. */
  takeIn(rows: number): boolean {
    this.#rows += rows;
    if (this.#rows < enoughRows) return false;
    this.#rows = 0;
    return true;
  }
}

/** Rows that fit behind those of the log and of the commits that wait, if each of these inserts what it may. */
export function rowsThatFit(loggedRows: number, asked: readonly number[]): number {
  const logged = new LoggedRows(loggedRows);
  for (const rows of asked) logged.takeIn(rows);
  return rowGroupRows - logged.rows;
}

/**
 * Work on a file, one piece at a time. Short work is done in the order of the calls. Long work lets short work go first:
 * the next chunk begins to read while the rows of the last ones wait to be committed, and not after them.
 */
type WorkLength = 'short' | 'long';

interface Waiting {
  readonly length: WorkLength;
  readonly sinceMs: number;
  readonly begin: () => Promise<void>;
}

/** Short work that never ends keeps long work waiting no longer than this. */
const mostOvertakenMs = 500;

export class WorkLine {
  readonly #waiting: Waiting[] = [];
  #isBusy = false;

  /** Does the work when it is its turn; settles as the work does. */
  do<T>(work: () => Promise<T>, length: WorkLength = 'short'): Promise<T> {
    const done = new Promise<T>((fulfil, reject) => {
      const begin = (): Promise<void> => work().then(fulfil, reject);
      this.#waiting.push({ length, sinceMs: performance.now(), begin });
    });
    if (!this.#isBusy) void this.#work();
    return done;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) await next.begin();
    this.#isBusy = false;
  }

  #takeNext(): Waiting | undefined {
    const overdueMs = performance.now() - mostOvertakenMs;
    const goesFirst = this.#waiting.findIndex(({ length, sinceMs }) => length === 'short' || sinceMs <= overdueMs);
    return this.#waiting.splice(Math.max(0, goesFirst), 1)[0];
  }
}

function tableFault(error: unknown): string | undefined {
  const [message = ''] = messageOf(error).split('\n', 1);
  return /^(?:Catalog|Binder) Error/.test(message) ? message : undefined;
}
