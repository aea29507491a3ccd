/** Files that get their names when they are whole. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asideOf, moveToNew, moveOver } from '../../../../src/app/warehouse/query-file.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wellsync-place-'));
});

afterAll(() => rm(folder, { recursive: true }));

async function written(file: string, content: string): Promise<string> {
  const aside = asideOf(file);
  await writeFile(aside, content);
  return aside;
}

/** As FAT answers. */
const withoutLinks = () => Promise.reject(Object.assign(new Error('no hard links'), { code: 'EPERM' }));

describe.each([
  ['where files can have two names', undefined],
  ['where they cannot', withoutLinks],
])('%s', (where, linked) => {
  test('one of several at the same time gets the name, and replaces nothing', async () => {
    const file = path.join(folder, where);
    const asides = await Promise.all(['a', 'b', 'c', 'd'].map((content) => written(file, content)));
    const placed = await Promise.all(asides.map((aside) => moveToNew(aside, file, linked)));
    expect(placed.filter(Boolean)).toHaveLength(1);
    expect(await readFile(file, 'utf8')).toBe(['a', 'b', 'c', 'd'][placed.indexOf(true)]);
    expect(await moveToNew(await written(file, 'late'), file, linked)).toBe(false);
    expect(await readFile(file, 'utf8')).not.toBe('late');
  });

  test('a file that cannot be placed leaves no empty one of its name', async () => {
    const file = path.join(folder, `${where} nor there`);
    await expect(moveToNew(asideOf(file), file, linked)).rejects.toThrow('ENOENT');
    expect(await readdir(folder)).not.toContain(path.basename(file));
  });
});

test('a file is replaced where that is wanted', async () => {
  const file = path.join(folder, 'over');
  await writeFile(file, 'old');
  await moveOver(await written(file, 'new'), file);
  expect(await readFile(file, 'utf8')).toBe('new');
});
