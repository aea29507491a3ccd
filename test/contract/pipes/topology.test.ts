import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { assertSameFile, identifyContent, identifyFile } from '../../../src/pipes/pipe-files.ts';
import type { TopologyReport } from '../../../src/pipes/topology.ts';
import { readText, topologyOf } from '../../support/pipes.ts';

/** Pipes as `network,id,upstream,downstream`. */
async function reportOn(pipes: readonly string[]): Promise<TopologyReport> {
  const lines = pipes.map((pipe) => `${pipe}\n`).join('');
  const { items } = await readText(`sourceNetworkId,sourceId,upstreamSourceId,downstreamSourceId\n${lines}`);
  return topologyOf(items);
}

const nothing = { count: 0, first: [] };

describe('the topology of a file', () => {
  test('a ring has no findings but its parallel pipe', async () => {
    expect(await reportOn(['N,1,a,b', 'N,2,b,c', 'N,3,c,a', 'N,4,a,b'])).toEqual({
      pipes: 4,
      nodes: 3,
      networks: 1,
      severalDates: nothing,
      duplicates: nothing,
      parallels: { count: 1, first: ['N/4'] },
      selfLoops: nothing,
      openEnds: nothing,
      deadEnds: nothing,
      unconnectedParts: nothing,
    });
  });

  test('duplicates, self-loops, open ends, dead ends and unconnected parts are counted and named', async () => {
    const report = await reportOn([
      'N,1,a,b',
      'N,2,b,a',
      'N,1,a,b',
      'N,3,c,c',
      'N,4,a,',
      'N,5,,',
      'N,6,x,y',
      'N,7,y,z',
      'M,1,a,b',
    ]);
    expect(report).toEqual({
      pipes: 8,
      nodes: 8,
      networks: 2,
      severalDates: nothing,
      duplicates: { count: 1, first: ['N/1'] },
      // In the other direction; the repeated pipe N/1 is no parallel of itself.
      parallels: { count: 1, first: ['N/2'] },
      selfLoops: { count: 1, first: ['N/3'] },
      openEnds: { count: 2, first: ['N/4', 'N/5'] },
      deadEnds: { count: 4, first: ['N/x', 'N/z', 'M/a', 'M/b'] },
      unconnectedParts: {
        count: 3,
        first: [
          { network: 'N', firstPipe: 'N/3', pipes: 1 },
          { network: 'N', firstPipe: 'N/5', pipes: 1 },
          { network: 'N', firstPipe: 'N/6', pipes: 2 },
        ],
      },
    });
  });

  test('a pipe with several dates is one pipe; its repeats have the same instant, whatever its text', async () => {
    const { items } = await readText(
      [
        'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId',
        'N,1,2024-01-01T00:00:00Z,a,b',
        'N,1,2024-02-01T00:00:00Z,a,b',
        'N,1,2024-01-01T01:00:00+0100,a,b',
        'N,2,2024-01-01T00:00:00Z,b,b',
        'N,2,2024-02-01T00:00:00Z,b,b',
        'N,2,2024-03-01T00:00:00Z,b,c',
        '',
      ].join('\n'),
    );
    expect(topologyOf(items)).toMatchObject({
      pipes: 2,
      nodes: 3,
      severalDates: { count: 2, first: ['N/1', 'N/2'] },
      duplicates: { count: 1, first: ['N/1'] },
      parallels: nothing,
      selfLoops: { count: 1, first: ['N/2'] },
      deadEnds: { count: 2, first: ['N/a', 'N/c'] },
      unconnectedParts: nothing,
    });
  });

  test('the largest part of a network is the one that others are not connected to', async () => {
    const { unconnectedParts } = await reportOn(['N,1,a,b', 'N,2,c,d', 'N,3,d,e', 'M,4,a,b']);
    expect(unconnectedParts).toEqual({ count: 1, first: [{ network: 'N', firstPipe: 'N/1', pipes: 1 }] });
  });

  test('findings count all and name the first ten', async () => {
    const { selfLoops, unconnectedParts } = await reportOn(
      Array.from({ length: 40 }, (_, id) => `N,${id},n${id},n${id}`),
    );
    expect([selfLoops.count, selfLoops.first.length]).toEqual([40, 10]);
    expect([unconnectedParts.count, unconnectedParts.first.length]).toEqual([39, 10]);
  });

  test('the count of parts equals that of a plain search', async () => {
    const edges = fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(edges, async (pairs) => {
        const report = await reportOn(pairs.map(([from, to], id) => `N,${id},n${from},n${to}`));
        expect(report.unconnectedParts.count + 1).toBe(partsBySearch(pairs));
      }),
    );
  });
});

function partsBySearch(pairs: readonly (readonly [number, number])[]): number {
  const open = new Set(pairs.flat());
  let parts = 0;
  while (open.size > 0) {
    parts += 1;
    const queue = [...open].slice(0, 1);
    for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
      open.delete(node);
      for (const pair of pairs) if (pair.includes(node)) queue.push(...pair.filter((other) => open.has(other)));
    }
  }
  return parts;
}

describe('the identity of a file', () => {
  let folder = '';
  let file = '';
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wellsync-identity-'));
    file = path.join(folder, 'pipes.csv');
    await writeFile(file, 'abc');
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  test('a file is identified by size and hash', async () => {
    expect(await identifyFile(file)).toMatchObject({
      bytes: 3,
      sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    });
    await expect(identifyFile(`${file}.gone`)).rejects.toThrow(/there is no file/);
  });

  test('a folder or a device has no identity', async () => {
    await expect(identifyFile(folder)).rejects.toMatchObject({
      name: 'UsageError',
      message: `${folder} is a folder, no file`,
    });
    await expect(identifyFile('/dev/null')).rejects.toMatchObject({ hint: expect.stringContaining('standard input') });
  });

  test('a gzip file has the content identity of its unpacked content, and is read to its end', async () => {
    const packed = `${file}.gz`;
    await writeFile(packed, gzipSync('abc'));
    const identity = await identifyFile(packed);
    const plain = await identifyFile(file);
    expect(identity.sha256).not.toBe(plain.sha256);
    expect(await identifyContent({ path: packed, name: packed }, identity)).toEqual({ bytes: 3, sha256: plain.sha256 });
    await writeFile(packed, gzipSync('abc').subarray(0, -9));
    await expect(identifyContent({ path: packed, name: packed }, identity)).rejects.toThrow(
      /cannot be unpacked: it ends before it is complete/,
    );
  });

  test('a touched file is the same file', async () => {
    const identity = await identifyFile(file);
    expect(await assertSameFile(file, identity)).toEqual(identity);
    await utimes(file, 1, 2);
    expect(await assertSameFile(file, identity)).toEqual({ ...identity, mtimeMs: 2_000 });
  });

  test('a file that grew, or has other bytes, is another file', async () => {
    const identity = await identifyFile(file);
    await writeFile(file, 'abd');
    await utimes(file, 1, 2);
    await expect(assertSameFile(file, identity)).rejects.toThrow(/changed under the run: its content is another one/);
    await writeFile(file, 'abcd');
    await expect(assertSameFile(file, identity)).rejects.toThrow(/it had 3 bytes and has 4/);
  });
});
