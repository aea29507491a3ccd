/** The conformance suite of a store of files, for a folder and for S3 (docs/design.md section 7). */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AbortedError, TransientError, UsageError } from '../../../src/core/base/errors.ts';
import type { FileContent, FileStore } from '../../../src/files/port.ts';

export interface StoreUnderTest extends AsyncDisposable {
  readonly store: FileStore;
  /** Changes a byte of a file behind the back of the store. */
  damage(name: string): Promise<void>;
  /** Begins an upload as a process does that is killed before its end. */
  cutUpload(name: string): Promise<void>;
}

export function contentOf(bytes: Buffer): FileContent {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

async function namesIn(store: FileStore, prefix: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of store.list(prefix)) names.push(name);
  return names;
}

/** More than two parts of an upload. */
const large = Buffer.alloc(20 * 1024 * 1024 + 17, 'wellsync ');

export function describeStore(kind: string, open: () => Promise<StoreUnderTest>): void {
  describe(`a store of files in ${kind}`, () => {
    let under: StoreUnderTest;
    let store: FileStore;
    let folder: string;

    beforeEach(async () => {
      under = await open();
      ({ store } = under);
      folder = await mkdtemp(path.join(tmpdir(), 'wellsync-store-'));
    });

    afterEach(async () => {
      await under[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    });

    async function localFile(bytes: Buffer): Promise<string> {
      const file = path.join(folder, 'local.csv');
      await writeFile(file, bytes);
      return file;
    }

    async function fetched(name: string, content: FileContent): Promise<Buffer | undefined> {
      await using file = await store.fetch(name, content, path.join(folder, 'spool'));
      return file === undefined ? undefined : await readFile(file.path);
    }

    test('gives back what was written, and the last of two', async () => {
      await store.write('a/notes.json', Buffer.from('first'));
      await store.write('a/notes.json', Buffer.from('second'));
      expect(String(await store.read('a/notes.json', 100))).toBe('second');
      expect(await store.read('a/other.json', 100)).toBeUndefined();
      expect(await store.stat('a/other.json')).toBeUndefined();
      const found = await store.stat('a/notes.json');
      expect(found).toMatchObject({ name: 'a/notes.json', bytes: 6 });
      expect(Math.abs((found?.changedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
    });

    test('of several that write a new file at once one does', async () => {
      const written = await Promise.all(['a', 'b', 'c', 'd'].map((text) => store.writeNew('id', Buffer.from(text))));
      expect(written.filter(Boolean)).toHaveLength(1);
      const winner = 'abcd'[written.indexOf(true)];
      expect(String(await store.read('id', 100))).toBe(winner);
      expect(await store.writeNew('id', Buffer.from('late'))).toBe(false);
      expect(String(await store.read('id', 100))).toBe(winner);
    });

    test('G8: takes no more of a small file than it was told to', async () => {
      await store.write('id', Buffer.alloc(101));
      expect(await store.read('id', 101)).toHaveLength(101);
      await expect(store.read('id', 100)).rejects.toMatchObject({ code: 'file-damaged' });
    });

    test('G7: ends every call of a stopped work', async () => {
      await store.write('a/1', Buffer.from('one'));
      const stopped = store.under(AbortSignal.abort());
      const content = contentOf(Buffer.from('one'));
      for (const call of [
        stopped.read('a/1', 100),
        stopped.stat('a/1'),
        stopped.holds('a/1', content),
        stopped.fetch('a/1', content, path.join(folder, 'spool')),
        stopped.remove('a/1'),
        namesIn(stopped, 'a/'),
      ]) {
        await expect(call).rejects.toThrow(AbortedError);
      }
      expect(await namesIn(store, 'a/')).toEqual(['a/1']);
    });

    test('lists the files below a prefix in order, and removes them', async () => {
      for (const name of ['b/1', 'a/x/2', 'a/x/10', 'a/1', 'a/3', 'ab/1']) await store.write(name, Buffer.from(name));
      expect(await namesIn(store, 'a/')).toEqual(['a/1', 'a/3', 'a/x/10', 'a/x/2']);
      expect(await namesIn(store, 'none/')).toEqual([]);
      await store.remove('a/3');
      await store.remove('a/3');
      expect(await namesIn(store, 'a/')).toEqual(['a/1', 'a/x/10', 'a/x/2']);
    });

    test.each([
      ['an empty file', Buffer.alloc(0)],
      ['a small file', Buffer.from('a,b\n1,2\n')],
      ['a file of several parts', large],
    ])('brings %s to another host', async (_, bytes) => {
      await store.upload('content/one', await localFile(bytes), contentOf(bytes));
      expect((await fetched('content/one', contentOf(bytes)))?.equals(bytes)).toBe(true);
      expect(await readdir(path.join(folder, 'spool')).catch(() => [])).toEqual([]);
      expect(await fetched('content/two', contentOf(bytes))).toBeUndefined();
    });

    test('replaces a small file by what is expected in it alone', async () => {
      const [one, two, longer] = [Buffer.from('one'), Buffer.from('two'), Buffer.from('longer')];
      expect(await store.replace('manifest.json', one, undefined)).toBe(true);
      expect(await store.replace('manifest.json', two, undefined)).toBe(false);
      expect(await store.replace('manifest.json', two, longer)).toBe(false);
      expect(await store.replace('manifest.json', two, one)).toBe(true);
      expect(await store.replace('manifest.json', longer, one)).toBe(false);
      expect(String(await store.read('manifest.json', 100))).toBe('two');
      expect(await store.replace('other.json', two, one)).toBe(false);
      expect(await store.read('other.json', 100)).toBeUndefined();
    });

    test('G1: a file that changes while it is copied is never seen', async () => {
      const file = await localFile(large);
      await expect(store.upload('content/one', file, contentOf(Buffer.from('as it was')))).rejects.toThrow(UsageError);
      await expect(store.upload('content/one', path.join(folder, 'gone'), contentOf(large))).rejects.toThrow(
        UsageError,
      );
      expect(await namesIn(store, 'content/')).toEqual([]);
      expect(await store.endCutUploads(Date.now() + 60_000)).toBe(0);
    });

    test('an upload that is stopped leaves nothing', async () => {
      const file = await localFile(large);
      const stopped = store.under(AbortSignal.abort());
      await expect(stopped.upload('content/one', file, contentOf(large))).rejects.toThrow(AbortedError);
      expect(await namesIn(store, 'content/')).toEqual([]);
      expect(await store.endCutUploads(Date.now() + 60_000)).toBe(0);
    });

    test('G1: a file that was damaged in the store is not given out', async () => {
      const bytes = Buffer.from('a,b\n1,2\n');
      await store.upload('content/one', await localFile(bytes), contentOf(bytes));
      await under.damage('content/one');
      await expect(fetched('content/one', contentOf(bytes))).rejects.toThrow(/is not the file that was put there/);
      const longer = contentOf(Buffer.from('a,b\n1,2\n3,4\n'));
      await expect(fetched('content/one', longer)).rejects.toThrow(TransientError);
      expect(await readdir(path.join(folder, 'spool')).catch(() => [])).toEqual([]);
    });

    test('G1: knows a file whose bytes are other ones, and takes it anew', async () => {
      const bytes = Buffer.from('a,b\n1,2\n');
      expect(await store.holds('content/one', contentOf(bytes))).toBe(false);
      await store.upload('content/one', await localFile(bytes), contentOf(bytes));
      expect(await store.holds('content/one', contentOf(bytes))).toBe(true);
      expect(await store.holds('content/one', contentOf(Buffer.from('a,b\n')))).toBe(false);
      await under.damage('content/one');
      expect(await store.holds('content/one', contentOf(bytes))).toBe(false);
      await store.upload('content/one', await localFile(bytes), contentOf(bytes));
      expect((await fetched('content/one', contentOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test('ends the uploads that were cut, and no younger one', async () => {
      await under.cutUpload('content/one');
      expect(await namesIn(store, 'content/')).toEqual([]);
      expect(await store.endCutUploads(Date.now() - 60_000)).toBe(0);
      expect(await store.endCutUploads(Date.now() + 60_000)).toBe(1);
      expect(await store.endCutUploads(Date.now() + 60_000)).toBe(0);
    });
  });
}
