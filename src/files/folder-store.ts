/**
 * A shared folder, mounted on every host, as a store of files. A file is written beside the others under a name that
 * nobody looks for, and renamed into place.
 *
 * The folder itself is never made: where its disk is not mounted, files would lie on one host and no other would find
 * them.
 */
import { randomUUID } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import * as fs from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { AbortedError, UnreachableError, WellsyncError } from '../core/base/errors.ts';
import { withSteps } from '../core/base/failpoint.ts';
import { codeOf, writeReason } from '../core/base/file-fault.ts';
import { checkedBlocks, ContentCheck, damagedFile, lostPart, noneIfDamaged } from './checked-blocks.ts';
import { noLinkCodes } from './durable-file.ts';
import type { FileContent, FileStore, LocalFile, StoredFile, StoreSetting } from './port.ts';

const { link, mkdir, open, readdir, rename, rm, stat } = withSteps('folder', fs);

/** Holds what is being written. No name begins with a dot. */
const incoming = '.incoming';

export class FolderStore implements FileStore {
  readonly address: string;
  readonly #root: string;
  readonly #setting: StoreSetting;
  readonly #signal: AbortSignal | undefined;

  /** `root`: absolute path of a folder that exists. `setting`: for messages. */
  constructor(root: string, setting: StoreSetting = 'files', signal?: AbortSignal) {
    this.address = root;
    this.#root = root;
    this.#setting = setting;
    this.#signal = signal;
  }

  under(signal: AbortSignal): FolderStore {
    return new FolderStore(this.#root, this.#setting, signal);
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await this.#use(async () => this.#moveInto(name, await this.#writeIncoming([bytes])));
  }

  async writeNew(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#use(async () => {
      const written = await this.#writeIncoming([bytes]);
      try {
        return await this.#linkInto(name, written);
      } finally {
        await rm(written, { force: true });
      }
    });
  }

  async replace(name: string, bytes: Uint8Array, before: Uint8Array | undefined): Promise<boolean> {
    return this.#use(async () => {
      if (before === undefined) return this.writeNew(name, bytes);
      const written = await this.#writeIncoming([bytes]);
      // Last, so that little time is left for another one.
      const found = await this.read(name, before.length).catch(noneIfDamaged);
      if (found?.equals(before) !== true) {
        await rm(written, { force: true });
        return false;
      }
      await this.#moveInto(name, written);
      return true;
    });
  }

  async read(name: string, mostBytes: number): Promise<Buffer | undefined> {
    return this.#use(() => this.#unlessMissing(() => readSmall(this.#pathOf(name), mostBytes)));
  }

  async upload(name: string, file: string, content: FileContent): Promise<void> {
    await this.#use(async () => {
      const written = await this.#writeIncoming(checkedBlocks(file, content, this.#signal));
      const { size } = await stat(written);
      if (size === content.bytes) return this.#moveInto(name, written);
      await rm(written, { force: true });
      throw lostPart(this.#pathOf(name), content.bytes, size);
    });
  }

  /** Where the file lies: it is read in its place. */
  async fetch(name: string, content: FileContent): Promise<LocalFile | undefined> {
    const file = this.#pathOf(name);
    return this.#use(() =>
      this.#unlessMissing(async () => {
        await checkContent(file, content, this.#signal);
        return { path: file, [Symbol.asyncDispose]: async () => {} };
      }),
    );
  }

  async holds(name: string, content: FileContent): Promise<boolean> {
    return (await this.fetch(name, content).catch(noneIfDamaged)) !== undefined;
  }

  async stat(name: string): Promise<StoredFile | undefined> {
    return this.#use(() => this.#stat(name));
  }

  async *list(prefix: string): AsyncGenerator<StoredFile, void, undefined> {
    const names = await this.#use(() => this.#namesIn(prefix));
    for (const name of names) {
      const file = await this.stat(name);
      // It may have been removed since.
      if (file !== undefined) yield file;
    }
  }

  async remove(name: string): Promise<void> {
    await this.#use(() => rm(this.#pathOf(name), { force: true }));
  }

  async endCutUploads(beforeMs: number): Promise<number> {
    return this.#use(async () => {
      const folder = path.join(this.#root, incoming);
      const names = (await this.#unlessMissing(() => readdir(folder))) ?? [];
      const ages = await Promise.all(names.map((name) => this.#unlessMissing(() => stat(path.join(folder, name)))));
      const cut = names.filter((_, index) => (ages[index]?.mtimeMs ?? Infinity) < beforeMs);
      for (const name of cut) await rm(path.join(folder, name), { force: true });
      return cut.length;
    });
  }

  close(): void {}

  #pathOf(name: string): string {
    return path.join(this.#root, ...name.split('/'));
  }

  async #stat(name: string): Promise<StoredFile | undefined> {
    const found = await this.#unlessMissing(() => stat(this.#pathOf(name)));
    if (found?.isFile() !== true) return undefined;
    return { name, bytes: found.size, changedAtMs: found.mtimeMs };
  }

  async #namesIn(prefix: string): Promise<readonly string[]> {
    const folder = this.#pathOf(prefix);
    const entries = await this.#unlessMissing(() => readdir(folder, { recursive: true, withFileTypes: true }));
    const files = (entries ?? []).filter((entry) => entry.isFile());
    const names = files.map(({ parentPath, name }) => path.relative(this.#root, path.join(parentPath, name)));
    return names.map((name) => name.replaceAll(path.sep, '/')).toSorted();
  }

  /** Returns the path of the file, which is on the disk. */
  async #writeIncoming(blocks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<string> {
    const folder = path.join(this.#root, incoming);
    await mkdirInside(this.#root, folder);
    const file = path.join(folder, randomUUID());
    try {
      await using handle = await open(file, 'wx');
      for await (const block of blocks) await handle.writeFile(block);
      await handle.datasync();
      return file;
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
  }

  async #moveInto(name: string, written: string): Promise<void> {
    await this.#folderOf(name);
    await rename(written, this.#pathOf(name));
    await syncFolder(path.dirname(this.#pathOf(name)));
  }

  async #linkInto(name: string, written: string): Promise<boolean> {
    await this.#folderOf(name);
    try {
      await link(written, this.#pathOf(name));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EEXIST') return false;
      if (!noLinkCodes.includes(code)) throw error;
      if ((await this.#stat(name)) !== undefined) return false;
      await rename(written, this.#pathOf(name));
    }
    await syncFolder(path.dirname(this.#pathOf(name)));
    return true;
  }

  async #folderOf(name: string): Promise<void> {
    await mkdirInside(this.#root, path.dirname(this.#pathOf(name)));
  }

  async #unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      // Without its folder nothing is known of a file.
      await stat(this.#root);
      return undefined;
    }
  }

  async #use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#signal?.aborted === true) throw new AbortedError();
    try {
      return await work();
    } catch (error) {
      throw await this.#faultOf(error);
    }
  }

  async #faultOf(error: unknown): Promise<unknown> {
    if (error instanceof WellsyncError || !(error instanceof Error)) return error;
    if (!(await isFolder(this.#root))) return missingFolder(this.#root, this.#setting);
    const reason = writeReason(error);
    if (reason === undefined) return error;
    const message = `the folder of ${this.#setting}.url, ${this.#root}, cannot be used: ${reason}`;
    const hint = 'Let this user read and write there, and make room on its disk: the work goes on then.';
    return new UnreachableError('files', message, { hint, cause: error });
  }
}

function missingFolder(root: string, setting: StoreSetting): UnreachableError {
  return new UnreachableError('files', `there is no folder ${root}, which ${setting}.url names`, {
    hint: 'Mount its disk on this host, or make the folder: every host needs the same one.',
  });
}

async function isFolder(folder: string): Promise<boolean> {
  return (await stat(folder).catch(() => undefined))?.isDirectory() ?? false;
}

/** Makes folders below the root, and never the root. */
async function mkdirInside(root: string, folder: string): Promise<void> {
  await stat(root);
  await mkdir(folder, { recursive: true });
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync().catch(() => undefined);
}

/** Without O_NONBLOCK the opening of a pipe waits for a writer, in a thread that nothing can stop. */
async function readSmall(file: string, mostBytes: number): Promise<Buffer> {
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const found = await handle.stat();
  if (!found.isFile()) throw damagedFile(file, 'it is no regular file');
  if (found.size > mostBytes) throw damagedFile(file, `it has more than ${mostBytes} bytes`);
  return await handle.readFile();
}

async function checkContent(file: string, content: FileContent, signal: AbortSignal | undefined): Promise<void> {
  const { size } = await stat(file);
  if (size !== content.bytes) throw damagedFile(file, `it has ${size} bytes, and had ${content.bytes}`);
  const check = new ContentCheck(content);
  for await (const block of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
    if (signal?.aborted === true) throw new AbortedError();
    check.add(block as Buffer);
    await setImmediate();
  }
  if (!check.isSame()) throw damagedFile(file, 'its digest is another one');
}
