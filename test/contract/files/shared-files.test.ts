/** What several hosts do with one place, and with two that should be one. */
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BlockedError, PermanentError } from '../../../src/core/base/errors.ts';
import type { SharedLocation } from '../../../src/core/run/run.ts';
import { FolderStore } from '../../../src/files/folder-store.ts';
import { SharedFiles } from '../../../src/files/shared-files.ts';
import { contentOf } from './store-suite.ts';

const bytes = Buffer.from('a,b\n1,2\n');
const content = contentOf(bytes);
const dayMs = 86_400_000;
const nobody = { contents: new Set<string>(), runs: new Set<string>() };

describe('files of several hosts', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wellsync-hosts-'));
    file = path.join(folder, 'pipes.csv');
    await writeFile(file, bytes);
  });

  afterEach(() => rm(folder, { recursive: true }));

  function hostAt(
    root: string,
    warehouseId = 'warehouse-1',
    unfinishedLocations: readonly SharedLocation[] = [],
  ): SharedFiles {
    const copiesFolder = path.join(folder, 'spool');
    return new SharedFiles({
      open: async () => new FolderStore(root),
      warehouseId: async () => warehouseId,
      unfinishedLocations: async () => unfinishedLocations,
      copiesFolder,
    });
  }

  async function newPlace(): Promise<string> {
    return mkdtemp(path.join(folder, 'place-'));
  }

  /** Sets the times of every file of a warehouse back. */
  async function age(root: string, names: readonly string[], days: number): Promise<void> {
    const then = (Date.now() - days * dayMs) / 1_000;
    for (const name of names) await utimes(path.join(root, 'warehouse-1', name), then, then);
  }

  test('G11: a host with another place under the same address takes no file for another one', async () => {
    const [root, other] = [await newPlace(), await newPlace()];
    const place = await hostAt(root).put(file, content);
    await hostAt(other).put(file, content);
    await expect(hostAt(other).requireFile(place, content)).rejects.toThrow(BlockedError);
    await expect(hostAt(await newPlace()).fetch(place, content)).rejects.toThrow(/a worker of another may have it/);
    await expect(hostAt(root).requireFile(place, content)).resolves.toBeUndefined();
  });

  test('G11: a place that has lost its id gets no new one while runs have the old one', async () => {
    const root = await newPlace();
    const place = await hostAt(root).put(file, content);
    await rm(path.join(root, 'wellsync-place.json'));
    const again: unknown = await hostAt(root, 'warehouse-1', [place])
      .put(file, content)
      .catch((thrown: unknown) => thrown);
    expect(again).toBeInstanceOf(PermanentError);
    expect(again).toMatchObject({
      message: `${root} has no wellsync-place.json, and unfinished runs have an id of it`,
      hint: expect.stringContaining(`write the line {"id":"${place.id}"} as wellsync-place.json there`),
    });
    expect(await readdir(root)).not.toContain('wellsync-place.json');
    // As the hint says; or where no run has it, and runs of another place are no matter.
    await writeFile(path.join(root, 'wellsync-place.json'), `{"id":"${place.id}"}\n`);
    expect(await hostAt(root, 'warehouse-1', [place]).put(file, content)).toEqual(place);
    await rm(path.join(root, 'wellsync-place.json'));
    const elsewhere = { ...place, address: '/mnt/elsewhere' };
    expect((await hostAt(root, 'warehouse-1', [elsewhere]).put(file, content)).id).not.toBe(place.id);
  });

  test('hosts that first use a place at once agree on its id', async () => {
    const root = await newPlace();
    const places = await Promise.all([1, 2, 3, 4].map(() => hostAt(root).put(file, content)));
    expect(new Set(places.map(({ id }) => id)).size).toBe(1);
  });

  test('a file that is in the place is not sent again, unless its size is another one', async () => {
    const root = await newPlace();
    const place = await hostAt(root).put(file, content);
    await expect(hostAt(root).put(path.join(folder, 'gone.csv'), content)).resolves.toEqual(place);
    await writeFile(path.join(root, 'warehouse-1', 'content', content.sha256), 'half');
    await hostAt(root).put(file, content);
    await using fetched = await hostAt(root).fetch(place, content);
    expect(fetched.path).toContain(content.sha256);
  });

  test('G1: a file that was damaged in the place is replaced when it is put again', async () => {
    const root = await newPlace();
    const place = await hostAt(root).put(file, content);
    await writeFile(path.join(root, 'warehouse-1', 'content', content.sha256), 'a,b\n1,3\n');
    await expect(hostAt(root).fetch(place, content)).rejects.toMatchObject({
      code: 'file-damaged',
      hint: expect.stringContaining('push the file again: that replaces it'),
    });
    await hostAt(root).put(file, content);
    await using fetched = await hostAt(root).fetch(place, content);
    expect((await readFile(fetched.path)).equals(bytes)).toBe(true);
  });

  test('G11: a place that has lost its id says so, and is the same one when it is written again', async () => {
    const root = await newPlace();
    const place = await hostAt(root).put(file, content);
    const idFile = path.join(root, 'wellsync-place.json');
    const line = await readFile(idFile, 'utf8');
    await rm(idFile);
    await expect(hostAt(root).requireFile(place, content)).rejects.toThrow(BlockedError);
    await expect(hostAt(root).requireFile(place, content)).rejects.toThrow(
      `${root}, has no id. If it is the place of the run, write the line ${line.trim()} as wellsync-place.json there`,
    );
    await writeFile(idFile, '{"id":"new"}\n');
    await expect(hostAt(root).requireFile(place, content)).rejects.toThrow('has another id than the place of the run');
    await writeFile(idFile, 'lost');
    for (const use of [hostAt(root).check(), hostAt(root).put(file, content)]) {
      await expect(use).rejects.toMatchObject({
        message: `${idFile} does not hold the id of a place`,
        hint: expect.stringContaining('Remove it only where no push is unfinished'),
      });
    }
    await writeFile(idFile, line);
    await expect(hostAt(root).requireFile(place, content)).resolves.toBeUndefined();
    await expect(hostAt(root).check()).resolves.toBe(root);
  });

  test('a worker removes copies that were left on its host two days ago, and no others', async () => {
    const root = await newPlace();
    const place = await hostAt(root).put(file, content);
    const spool = path.join(folder, 'spool');
    await mkdir(spool);
    for (const [name, days] of [
      ['fetched-left.csv', 3],
      ['fetched-in-use.csv', 1],
      ['input.csv', 30],
    ] as const) {
      await writeFile(path.join(spool, name), 'rows');
      const then = (Date.now() - days * dayMs) / 1_000;
      await utimes(path.join(spool, name), then, then);
    }
    await using _ = await hostAt(root).fetch(place, content);
    expect((await readdir(spool)).toSorted()).toEqual(['fetched-in-use.csv', 'input.csv']);
  });

  test('G7: keeps a file that a run needs or that was just put, and removes it later', async () => {
    const root = await newPlace();
    const host = hostAt(root);
    const place = await host.put(file, content);
    const names = [`content/${content.sha256}`, `requested/${content.sha256}`];
    const times = { nowMs: Date.now(), rejectsBeforeMs: Date.now() - 90 * dayMs };
    const removable = async (contents: readonly string[] = []) =>
      host.removable(times, async () => ({ ...nobody, contents: new Set(contents) }));

    expect(await removable()).toEqual([]);
    await age(root, names, 2);
    expect(await removable([content.sha256])).toEqual([]);
    const found = await removable();
    expect(found).toHaveLength(2);
    expect(await hostAt(root, 'warehouse-2').removable(times, async () => nobody)).toEqual([]);

    // A run of another host begins between the look and the removal.
    await hostAt(root).put(file, content);
    await host.remove(found, times.nowMs);
    await expect(host.requireFile(place, content)).resolves.toBeUndefined();

    await age(root, names, 2);
    await host.remove(await removable(), times.nowMs);
    await expect(host.requireFile(place, content)).rejects.toThrow(PermanentError);
  });
});
