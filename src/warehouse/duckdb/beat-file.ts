/** The beat of the queue that works a DuckDB file: a small file beside the database, replaced by rename. */
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { UnreachableError } from '../../core/base/errors.ts';
import { withSteps } from '../../core/base/failpoint.ts';
import { codeOf } from '../../core/base/file-fault.ts';
import type { Beat } from '../sql/ledger/ownership-store.ts';

const { readFile, rename, rm, writeFile } = withSteps('beat', fs);

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

/**
 * `databasePath`: path of the DuckDB file. A beat from the future means that the clock was set back, or the file is damaged:
 * its queue may live. A living one replaces it at its next beat, and that of a dead one becomes old like any other.
 */
export function createBeatFile(databasePath: string, now: () => number): Beat {
  const path = `${databasePath}.beat`;
  const isOf: Beat['isOf'] = async (queueId, epoch) => {
    const beat = await readBeat(path);
    return beat?.queueId === queueId && beat.epoch === epoch;
  };
  const replace = (queueId: string, epoch: number): Promise<void> => writeBeat(path, { queueId, epoch, atMs: now() });
  return {
    isOf,
    replace,
    queueId: async () => (await readBeat(path))?.queueId,
    ageMs: async () => {
      const beat = await readBeat(path);
      if (beat === undefined) return undefined;
      const ageMs = now() - beat.atMs;
      if (ageMs >= 0) return ageMs;
      // A process that may not write here keeps the queue for living.
      await replace(beat.queueId, beat.epoch).catch(() => undefined);
      return 0;
    },
    remove: async (of) => {
      if (of === undefined || (await isOf(of.queueId, of.epoch))) await rm(path, { force: true });
    },
  };
}

async function writeBeat(path: string, beat: WrittenBeat): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, JSON.stringify(beat));
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    const code = codeOf(error) || String(error);
    throw new UnreachableError('warehouse', `the beat file ${path} cannot be written: ${reasons[code] ?? code}`, {
      hint: 'Make room for a file of that name beside the warehouse: its queue writes one there every few seconds.',
      cause: error,
    });
  }
}

/** An unreadable beat counts as none: the epoch alone keeps the warehouse safe. */
async function readBeat(path: string): Promise<WrittenBeat | undefined> {
  try {
    const { queueId, epoch, atMs } = JSON.parse(await readFile(path, 'utf8')) as Partial<WrittenBeat>;
    if (typeof queueId !== 'string' || typeof epoch !== 'number' || typeof atMs !== 'number') return undefined;
    return { queueId, epoch, atMs };
  } catch {
    return undefined;
  }
}
