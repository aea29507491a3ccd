/** The file that names the owner of an inbox, on file systems that have no second names or take no change. */
import { link, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { OutageError } from '../../../src/core/base/errors.ts';
import type { InboxOwner } from '../../../src/core/pipes/inbox.ts';
import { writeExclusively, readSmall } from '../../../src/files/durable-file.ts';
import { InboxFolder } from '../../../src/files/inbox-folder.ts';
import { createOwner, readOwner, replaceOwner } from '../../../src/files/inbox-owner.ts';
import { smallDisk, smallDiskLack } from '../../support/small-disk.ts';

const owner: InboxOwner = {
  warehouseId: 'w',
  placeId: 'p',
  service: 'https://a',
  warehouse: 'duckdb:/a/w.duckdb',
  host: 'one',
  sinceMs: 0,
};

async function folderHere() {
  const root = await mkdtemp(path.join(tmpdir(), 'wellsync-owner-'));
  return { root, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) };
}

const withoutLinks = async (): Promise<void> => {
  throw Object.assign(new Error('not supported'), { code: 'ENOTSUP' });
};

describe('a file that is placed once', () => {
  test.each([
    ['with hard links', link],
    ['without hard links', withoutLinks],
  ])('G11: on a file system %s is that of one of twenty at once, and whole', async (_, linked) => {
    await using here = await folderHere();
    const file = path.join(here.root, 'owner');
    const texts = Array.from({ length: 20 }, (__, each) => `${each}`.repeat(100));
    await Promise.all(texts.map((text) => writeExclusively(file, text, linked)));
    const kept = await readSmall(file);
    expect(texts).toContain(kept);
    await writeExclusively(file, 'late', linked);
    expect(await readSmall(file)).toBe(kept);
    expect(await readdir(here.root)).toEqual(['owner']);
  });
});

test('G11: an owner that is replaced is read as the new one', async () => {
  await using here = await folderHere();
  expect(await readOwner(here.root)).toEqual({ kind: 'none' });
  await createOwner(here.root, owner);
  await createOwner(here.root, { ...owner, warehouseId: 'late' });
  expect(await readOwner(here.root)).toEqual({ kind: 'owner', owner });
  await replaceOwner(here.root, { ...owner, warehouseId: 'v' });
  expect(await readOwner(here.root)).toEqual({ kind: 'owner', owner: { ...owner, warehouseId: 'v' } });
});

const lack = smallDiskLack();
describe.skipIf(lack !== undefined)(`a read-only disk${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  test('is waited for: it gets no owner, and the one that it has can be read', async () => {
    using disk = smallDisk(1);
    const held = path.join(disk.folder, 'held');
    await createOwner(held, owner);
    disk.protect();
    expect(await readOwner(held)).toEqual({ kind: 'owner', owner });
    await expect(createOwner(path.join(disk.folder, 'new'), owner)).rejects.toThrow(OutageError);
    await expect(new InboxFolder(held).open()).rejects.toThrow(OutageError);
  });
});
