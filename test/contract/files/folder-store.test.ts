import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { UnreachableError } from '../../../src/core/base/errors.ts';
import { FolderStore } from '../../../src/files/folder-store.ts';
import { describeStore } from './store-suite.ts';

describeStore('a folder', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'wellsync-shared-'));
  return {
    store: new FolderStore(root),
    damage: async (name) => {
      const bytes = await readFile(path.join(root, name));
      await writeFile(path.join(root, name), bytes.fill('x', 2, 3));
    },
    cutUpload: async () => {
      await mkdir(path.join(root, '.incoming'), { recursive: true });
      await writeFile(path.join(root, '.incoming', 'cut'), 'half');
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  };
});

test('G8: a pipe in the place of a small file is a fault, and waits for nobody', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'wellsync-shared-'));
  execFileSync('mkfifo', [path.join(root, 'wellsync-place.json')]);
  await expect(new FolderStore(root).read('wellsync-place.json', 100)).rejects.toThrow('it is no regular file');
  await rm(root, { recursive: true });
});

test('a folder that is not there is a fault, and is not made', async () => {
  const root = path.join(tmpdir(), 'wellsync-not-mounted');
  const store = new FolderStore(root);
  for (const use of [() => store.read('a', 100), () => store.write('a', Buffer.from('b')), () => store.stat('a')]) {
    await expect(use()).rejects.toThrow(UnreachableError);
    await expect(use()).rejects.toThrow(`there is no folder ${root}`);
  }
  await expect(stat(root)).rejects.toThrow('ENOENT');
});
