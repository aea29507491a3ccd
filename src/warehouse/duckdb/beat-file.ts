/** The beat of the queue that works a DuckDB file: a small file beside the database, replaced by rename. */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { UnreachableError } from '../../core/base/errors.ts';
import type { Beat } from '../sql/ledger/ownership-store.ts';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  EISDIR: 'a folder is in its place',
  ENOSPC: 'the disk is full',
  EPERM: 'permission is denied',
  EROFS: 'the disk is read-only',
};

interface WrittenBeat {
  readonly queueId: string;
  readonly epoch: number;
  /** Milliseconds since 1970, by the clock of the host of the file. */
  readonly atMs: number;
}

export class BeatFile implements Beat {
  readonly #path: string;
  readonly #now: () => number;

  /** `databasePath`: path of the DuckDB file. */
  constructor(databasePath: string, now: () => number) {
    this.#path = `${databasePath}.beat`;
    this.#now = now;
  }

  /**
   * Milliseconds since the beat. A beat from the future (the clock was set back, or the file is damaged) says nothing
   * about when it was written: its queue may live. It counts as written now, and is dated so: a living queue replaces it
   * at its next beat, and that of a dead queue becomes old like any other.
   */
  async ageMs(): Promise<number | undefined> {
    const beat = await this.#read();
    if (beat === undefined) return undefined;
    const ageMs = this.#now() - beat.atMs;
    if (ageMs >= 0) return ageMs;
    // A process that may not write here keeps the queue for living.
    await this.replace(beat.queueId, beat.epoch).catch(() => undefined);
    return 0;
  }

  /** Returns whether the last beat is of this queue and epoch. */
  async isOf(queueId: string, epoch: number): Promise<boolean> {
    const beat = await this.#read();
    return beat?.queueId === queueId && beat.epoch === epoch;
  }

  /** Throws UnreachableError('warehouse') if it cannot be written. */
  async replace(queueId: string, epoch: number): Promise<void> {
    const beat: WrittenBeat = { queueId, epoch, atMs: this.#now() };
    const draft = `${this.#path}.${randomUUID()}`;
    try {
      await writeFile(draft, JSON.stringify(beat));
      await rename(draft, this.#path);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw this.#cannotWrite(error);
    }
  }

  /** Removes the beat of this queue and epoch; without them, that of any. */
  async remove(of?: { readonly queueId: string; readonly epoch: number }): Promise<void> {
    if (of === undefined || (await this.isOf(of.queueId, of.epoch))) await rm(this.#path, { force: true });
  }

  #cannotWrite(cause: unknown): UnreachableError {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    const reason = reasons[code] ?? code;
    return new UnreachableError('warehouse', `the beat file ${this.#path} cannot be written: ${reason}`, {
      hint: 'Make room for a file of that name beside the warehouse: its queue writes one there every few seconds.',
      cause,
    });
  }

  /** An unreadable beat counts as none: the epoch alone keeps the warehouse safe. */
  async #read(): Promise<WrittenBeat | undefined> {
    try {
      const beat = JSON.parse(await readFile(this.#path, 'utf8')) as Partial<WrittenBeat>;
      const { queueId, epoch, atMs } = beat;
      if (typeof queueId !== 'string' || typeof epoch !== 'number' || typeof atMs !== 'number') return undefined;
      return { queueId, epoch, atMs };
    } catch {
      return undefined;
    }
  }
}
