/**
 * Owns the turns at a DuckDB file. Within this process all work on a path queues up, one after another, over one handle:
 * a second one would not be kept out by the lock, which is the process's, and would ruin the file. Between processes the
 * handle is let go when idle, and now and then under load.
 *
 *   closed -> open -> work -> idle -> closed        after idleMs without work
 *                       |  -> closed -> (pause)     after maxHoldMs: whoever waits elsewhere gets a turn
 *                       |  -> closed                after an error: nothing of a broken session is used again
 */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { UnreachableError } from '../../core/errors.ts';
import { classified } from './engine-fault.ts';
import { migrate } from './migrations.ts';
import { openFile, type FileSettings, type OpenFile } from './open-file.ts';
import { inTransaction } from './sql.ts';

const idleMs = 500;
const maxHoldMs = 2_000;
/** Longer than a waiting process takes to look again, so that it finds the file free. */
const pauseMs = { min: 60, spread: 60 } as const;

type Work<T> = (connection: DuckDBConnection) => Promise<T>;

export interface DatabaseFile {
  /** `duckdb:PATH`. */
  readonly location: string;
  /** Runs the work in one transaction on a file of this version's schema. */
  transact<T>(work: Work<T>): Promise<T>;
  /** Throws UnreachableError when there is no file yet. */
  requireStored(): void;
  /** Runs the work on the file opened read-only, as it is. Throws UnreachableError when there is no file yet. */
  read<T>(work: Work<T>): Promise<T>;
  /** Lets go. The last one to do so gives up what waits for the lock, lets the work in hand end and closes the file. */
  release(): Promise<void>;
}

const filesOfThisProcess = new Map<string, { readonly turns: Turns; holders: number }>();

/** The file at a path; all who ask for the same one share it, with the settings of the first. */
export function shareDatabaseFile(settings: FileSettings): DatabaseFile {
  const path = canonicalPath(resolve(settings.path));
  const shared = filesOfThisProcess.get(path) ?? { turns: new Turns({ ...settings, path }), holders: 0 };
  filesOfThisProcess.set(path, shared);
  shared.holders += 1;
  let released: Promise<void> | undefined;

  async function release(): Promise<void> {
    shared.holders -= 1;
    if (shared.holders > 0) return;
    await shared.turns.end();
    // Only now may the path be opened anew: two handles at once must never be.
    if (shared.holders === 0) filesOfThisProcess.delete(path);
  }

  function turns(): Turns {
    if (released !== undefined) throw new Error('the warehouse was closed before this call');
    return shared.turns;
  }

  return {
    location: `duckdb:${path}`,
    transact: async (work) => turns().transact(work),
    requireStored: () => requireFile(path),
    read: async (work) => turns().read(work),
    release: () => (released ??= release()),
  };
}

/** One name for one file, through symbolic links, even where the file or its directory is yet to be made. */
function canonicalPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(canonicalPath(parent), basename(path));
  }
}

function requireFile(path: string): void {
  if (existsSync(path)) return;
  throw new UnreachableError('warehouse', `there is no warehouse at ${path} yet`, {
    hint: 'Run an export first (wellsync export daily-production), or set WELLSYNC_WAREHOUSE to where it is.',
  });
}

class Turns {
  readonly #settings: FileSettings;
  #abort = new AbortController();
  /** The end of the last piece of work that was asked for. */
  #tail: Promise<unknown> = Promise.resolve();
  #open: (OpenFile & { readonly sinceMs: number }) | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #pauseMs = 0;

  constructor(settings: FileSettings) {
    this.#settings = settings;
  }

  async transact<T>(work: Work<T>): Promise<T> {
    return this.#inTurn(async () => {
      const file = (this.#open ??= await this.#openForWriting());
      try {
        return await file.connected((connection) => inTransaction(connection, () => work(connection)));
      } catch (error) {
        await this.#close();
        throw classified(error, this.#settings.path);
      } finally {
        await this.#letGoInTime();
      }
    });
  }

  async read<T>(work: Work<T>): Promise<T> {
    return this.#inTurn(async () => {
      await this.#close();
      requireFile(this.#settings.path);
      const file = await openFile(this.#settings, 'READ_ONLY', this.#abort.signal);
      try {
        return await file.connected(work);
      } finally {
        file.close();
      }
    });
  }

  async end(): Promise<void> {
    this.#abort.abort();
    await this.#inTurn(() => this.#close());
    this.#abort = new AbortController();
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(async () => {
      clearTimeout(this.#idleTimer);
      return work();
    });
    // The caller has the error; the next in line must not.
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  async #openForWriting(): Promise<OpenFile & { readonly sinceMs: number }> {
    const { signal } = this.#abort;
    if (this.#pauseMs > 0) await delay(this.#pauseMs, undefined, { signal }).catch(() => undefined);
    this.#pauseMs = 0;
    const { path, now, log } = this.#settings;
    const file = await openFile(this.#settings, 'READ_WRITE', signal);
    try {
      const isNew = await file.connected((connection) => migrate(connection, `duckdb:${path}`, now()));
      if (isNew) log?.info({ path }, 'the warehouse has a new schema');
      return { ...file, sinceMs: performance.now() };
    } catch (error) {
      file.close();
      throw error;
    }
  }

  async #letGoInTime(): Promise<void> {
    if (this.#open === undefined) return;
    if (performance.now() - this.#open.sinceMs < maxHoldMs) {
      this.#idleTimer = setTimeout(() => void this.#inTurn(() => this.#close()), idleMs);
      return;
    }
    await this.#close();
    this.#pauseMs = pauseMs.min + Math.random() * pauseMs.spread;
  }

  async #close(): Promise<void> {
    const file = this.#open;
    this.#open = undefined;
    // Closing writes what is in the log into the file, and would do so on the event loop; asked for, it does it aside.
    // Where it fails, what was committed stays in the log for the next opening.
    await file?.connected((connection) => connection.run('CHECKPOINT')).catch(() => undefined);
    file?.close();
  }
}
