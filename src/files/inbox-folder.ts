/**
 * The folder of an inbox, where every step is a rename, so that a process may die after any of them (G7):
 *
 *   NAME.csv                     dropped; a claim is the rename to
 *   working/ID/input.csv         with claim.json, its name and its run; any process may continue it
 *   done/ID/, failed/ID/         the same folder, with the file under its name, report.json and the rejected rows
 *
 * Of processes that claim one file at a time, one renames it, and the others find it gone. A rename over a network whose
 * answer is lost leaves a claim that the next look finds. Names are bytes, as the file system has them.
 */
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { PermanentError } from '../core/base/errors.ts';
import { withSteps } from '../core/base/failpoint.ts';
import { onDisk } from '../core/base/file-fault.ts';
import { parsedJson, printable } from '../core/base/text.ts';
import { isTakenName, reportName, type Sighting } from '../core/pipes/inbox.ts';
import { writeIfAbsent, readSmall, replace, syncFolder, unlessCode, writeDurably } from './durable-file.ts';

const { lstat, mkdir, readdir, rename, rm, rmdir } = withSteps('inbox', fs);

const working = 'working';
const input = 'input.csv';
const claimName = 'claim.json';

export type EndFolder = 'done' | 'failed';

/** `report.json`; its state is its first member. */
interface InboxReport extends Readonly<Record<string, unknown>> {
  readonly state: EndFolder;
}

export const ownFolders: ReadonlySet<string> = new Set([working, 'done', 'failed']);

/** A folder in `working` without a file is of a claim that was lost, or that is being made. */
const emptyClaimMs = 60_000;

export interface Arrival {
  readonly name: Buffer;
  /** Its name as text, in which nothing controls a terminal. */
  readonly shownName: string;
  readonly sighting: Sighting;
  /** When it came or changed last, by its file system. */
  readonly changedAtNs: bigint;
}

/** What lies in the folder and is no file to take, with the reason. */
interface Ignored {
  readonly shownName: string;
  readonly reason: string;
}

/** A file that was taken, with what was noted of it. */
export interface Claim extends ClaimRecord {
  readonly id: string;
  readonly folder: string;
  /** Absolute path of the file, under a plain name. */
  readonly file: string;
  readonly shownName: string;
  /** Undefined where the name leads to no regular file. */
  readonly sighting: Sighting | undefined;
  /** Where it is to end, once its report is written. */
  readonly end: EndFolder | undefined;
}

/** Throws OutageError for a disk that is full or gone, PermanentError where this user may not write. */
export class InboxFolder {
  readonly #root: string;
  readonly #guard: () => Promise<void>;

  /** `root`: absolute path. `guard` throws where this process may not use the inbox; nothing is changed then. */
  constructor(root: string, guard: () => Promise<void> = () => Promise.resolve()) {
    this.#root = root;
    this.#guard = guard;
  }

  /** Makes the folders that are missing, and the id of the inbox, which is the same on every host that mounts it. */
  async open(): Promise<string> {
    return this.#change(this.#root, async () => {
      for (const name of ownFolders) await mkdir(path.join(this.#root, name), { recursive: true });
      const file = path.join(this.#root, '.wellsync-inbox');
      if ((await readSmall(file)) === undefined) await writeIfAbsent(file, randomUUID());
      const id = (await readSmall(file)) ?? '';
      if (/^[\da-f-]{36}$/.test(id)) return id;
      throw new PermanentError('inbox-id', `${file} does not hold the id of an inbox`, {
        hint: 'Remove it while no worker is running: the next one writes another.',
      });
    });
  }

  /** What was dropped, in the order in which it came, and what lies beside it. */
  async poll(): Promise<{ readonly arrivals: readonly Arrival[]; readonly ignored: readonly Ignored[] }> {
    return onDisk(this.#root, async () => {
      const arrivals: Arrival[] = [];
      const ignored: Ignored[] = [];
      for (const name of await readdir(this.#root, { encoding: 'buffer' })) {
        const text = name.toString('utf8');
        if (ownFolders.has(text) || text.startsWith('.')) continue;
        const found = await this.#sight(this.#pathOf(name));
        // It may have been claimed, or removed, since.
        if (found === undefined) continue;
        const shownName = printable(text);
        if (found.kind === 'other') ignored.push({ shownName, reason: found.reason });
        else if (!isTakenName(text)) ignored.push({ shownName, reason: 'its name does not end in .csv or .csv.gz' });
        else arrivals.push({ name, shownName, sighting: found.sighting, changedAtNs: found.changedAtNs });
      }
      return { arrivals: arrivals.toSorted(byArrival), ignored };
    });
  }

  /** Takes a file; undefined if another process has it, or it is gone. */
  async claim({ name, sighting }: Pick<Arrival, 'name' | 'sighting'>, atMs: number): Promise<Claim | undefined> {
    return this.#change(this.#root, async () => {
      const id = `${new Date(atMs).toISOString().replaceAll(/[^\d]/g, '').slice(0, 17)}-${randomUUID().slice(0, 8)}`;
      const folder = path.join(this.#root, working, id);
      await mkdir(folder);
      try {
        await writeDurably(path.join(folder, claimName), claimText({ name, settled: sighting }), 'wx');
        await rename(this.#pathOf(name), path.join(folder, input));
      } catch (error) {
        await this.#dropEmpty(folder);
        return unlessCode('ENOENT')(error);
      }
      await syncFolder(folder);
      return this.#read(id);
    });
  }

  /** Every file that was taken and has not ended, in the order of its taking. */
  async claims(nowMs: number): Promise<readonly Claim[]> {
    return this.#change(this.#root, async () => {
      const claims: Claim[] = [];
      for (const id of (await readdir(path.join(this.#root, working))).toSorted()) {
        const claim = await this.#read(id);
        if (claim !== undefined) claims.push(claim);
        else await this.#dropOld(path.join(this.#root, working, id), nowMs);
      }
      return claims;
    });
  }

  /** How many files were taken and have not ended; changes nothing. */
  async countClaims(): Promise<number> {
    return onDisk(this.#root, async () => (await this.#all()).length);
  }

  /** Drops the ids of runs that were noted, for files whose runs are those of another warehouse. */
  async forgetRuns(): Promise<void> {
    await this.#change(this.#root, async () => {
      for (const { folder, name, settled, runId } of await this.#all()) {
        if (runId !== undefined) await replace(path.join(folder, claimName), claimText({ name, settled }));
      }
    });
  }

  async record({ folder, name, settled }: Claim, runId: string): Promise<void> {
    await this.#change(folder, () => replace(path.join(folder, claimName), claimText({ name, settled, runId })));
  }

  /** Writes the report, which decides where the file ends, whatever dies from now on. */
  async writeReport({ folder }: Claim, report: InboxReport): Promise<void> {
    const text = `${JSON.stringify(report, null, 2)}\n`;
    await this.#change(folder, () => replace(path.join(folder, reportName), text));
  }

  async writeBeside({ folder }: Claim, name: string, blocks: AsyncIterable<Buffer>): Promise<void> {
    await this.#change(folder, () => replace(path.join(folder, name), blocks));
  }

  /** Gives the file its name again and moves it, with all that lies beside it. Another process may have done so. */
  async end({ id, folder, file, name }: Claim, end: EndFolder): Promise<void> {
    const target = path.join(this.#root, end, id);
    await this.#change(target, async () => {
      await rename(file, Buffer.concat([Buffer.from(`${folder}${path.sep}`), name])).catch(unlessCode('ENOENT'));
      await rm(path.join(folder, claimName), { force: true });
      await mkdir(path.dirname(target), { recursive: true });
      await rename(folder, target).catch(unlessCode('ENOENT'));
      await syncFolder(path.dirname(target));
    });
  }

  async #change<T>(where: string, work: () => Promise<T>): Promise<T> {
    await this.#guard();
    return onDisk(where, work);
  }

  async #all(): Promise<readonly Claim[]> {
    const ids = (await readdir(path.join(this.#root, working)).catch(unlessCode('ENOENT'))) ?? [];
    const claims = await Promise.all(ids.map((id) => this.#read(id)));
    return claims.filter((claim) => claim !== undefined);
  }

  async #read(id: string): Promise<Claim | undefined> {
    const folder = path.join(this.#root, working, id);
    const file = path.join(folder, input);
    const end = endOf(await readSmall(path.join(folder, reportName)));
    const found = await this.#sight(file);
    // With its report written, the file may have its own name already.
    if (found === undefined && end === undefined) return undefined;
    const record = claimOf(await readSmall(path.join(folder, claimName)));
    const sighting = found?.kind === 'file' ? found.sighting : undefined;
    const shownName = printable(record.name.toString('utf8'));
    return { ...record, id, folder, file, shownName, sighting, end };
  }

  async #sight(file: string | Buffer) {
    const found = await lstat(file, { bigint: true }).catch(unlessCode('ENOENT', 'ENOTDIR'));
    if (found === undefined) return undefined;
    if (!found.isFile()) return { kind: 'other', reason: reasonOf(found) } as const;
    const { ino, size, mtimeNs, ctimeNs } = found;
    const sighting = { inode: String(ino), bytes: Number(size), changedAtNs: String(mtimeNs) };
    return { kind: 'file', sighting, changedAtNs: ctimeNs } as const;
  }

  async #dropOld(folder: string, nowMs: number): Promise<void> {
    const found = await lstat(folder).catch(unlessCode('ENOENT'));
    if (found?.isDirectory() === true && nowMs - found.mtimeMs > emptyClaimMs) await this.#dropEmpty(folder);
  }

  /** A folder with a file in it stays: a rename whose answer was lost has brought it. */
  async #dropEmpty(folder: string): Promise<void> {
    if ((await this.#sight(path.join(folder, input))) !== undefined) return;
    await rm(path.join(folder, claimName), { force: true });
    await rmdir(folder).catch(unlessCode('ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'));
  }

  #pathOf(name: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.#root}${path.sep}`), name]);
  }
}

function byArrival(one: Arrival, other: Arrival): number {
  if (one.changedAtNs !== other.changedAtNs) return one.changedAtNs < other.changedAtNs ? -1 : 1;
  return Buffer.compare(one.name, other.name);
}

function reasonOf(found: { isSymbolicLink(): boolean; isDirectory(): boolean }): string {
  if (found.isSymbolicLink()) return 'it is a link: only a file itself is taken';
  return found.isDirectory() ? 'it is a folder' : 'it is no regular file';
}

function endOf(report: string | undefined): EndFolder | undefined {
  if (report === undefined) return undefined;
  return /^\{\s*"state": "done"/.test(report) ? 'done' : 'failed';
}

/** What is kept beside a file of an inbox that was taken, as JSON. */
interface ClaimRecord {
  readonly name: Buffer;
  /** How the file looked when it had stopped changing. */
  readonly settled: Sighting | undefined;
  /** Id of its run, which may not exist yet. */
  readonly runId?: string;
}

/** A name need not be UTF-8: base64 keeps its bytes. */
const claimSchema = z.object({
  nameBase64: z.base64().min(1),
  settled: z.object({ inode: z.string(), bytes: z.number(), changedAtNs: z.string() }).optional(),
  runId: z.string().optional(),
});

function claimText({ name, ...rest }: ClaimRecord): string {
  return `${JSON.stringify({ name: name.toString('utf8'), nameBase64: name.toString('base64'), ...rest })}\n`;
}

/** A note that is missing or damaged loses the name of the file alone. */
function claimOf(text: string | undefined): ClaimRecord {
  const found = text === undefined ? undefined : claimSchema.safeParse(parsedJson(text)).data;
  if (found === undefined) return { name: Buffer.from('input.csv'), settled: undefined };
  const { nameBase64, settled, runId } = found;
  const name = Buffer.from(nameBase64, 'base64');
  // A name with a slash would lead out of the folder.
  const isName = !name.includes('/') && !name.includes(0) && !['.', '..'].includes(name.toString());
  return { name: isName ? name : Buffer.from('input.csv'), settled, ...(runId !== undefined && { runId }) };
}

// Files of an inbox that are done, and were kept long enough (docs/operating.md). Those that failed wait for a person.

const claimPattern = /^\d{17}-[\da-f]{8}$/;

/** Folders in `done/` of the inbox `root` whose report was written before this time, in milliseconds since 1970. */
export async function oldArrivals(root: string, beforeMs: number): Promise<readonly string[]> {
  return onDisk(root, async () => {
    const done = path.join(root, 'done');
    const names = (await readdir(done).catch(unlessCode('ENOENT'))) ?? [];
    const old: string[] = [];
    for (const name of names.filter((each) => claimPattern.test(each))) {
      const folder = path.join(done, name);
      const isFolder = (await lstat(folder).catch(unlessCode('ENOENT')))?.isDirectory() === true;
      const report = await lstat(path.join(folder, reportName)).catch(unlessCode('ENOENT', 'ENOTDIR'));
      if (isFolder && report !== undefined && report.mtimeMs < beforeMs) old.push(folder);
    }
    return old;
  });
}

/** Removes such a folder, the report last: what a process that dies leaves of it is as old as before. */
export async function removeArrival(folder: string): Promise<void> {
  await onDisk(folder, async () => {
    const names = (await readdir(folder, { encoding: 'buffer' }).catch(unlessCode('ENOENT'))) ?? [];
    const prefix = Buffer.from(`${folder}${path.sep}`);
    for (const name of names.filter((each) => each.toString('utf8') !== reportName)) {
      await rm(Buffer.concat([prefix, name]), { recursive: true, force: true });
    }
    await rm(folder, { recursive: true, force: true });
  });
}
