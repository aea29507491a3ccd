/** Rejects in parts, against a file of bytes: whatever is appended, cut, killed and removed. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FolderStore } from '../../../src/files/folder-store.ts';
import { PartLog } from '../../../src/files/shared-files.ts';
import { expectForAllAsync } from '../../support/property-runs.ts';
import { bySuite } from '../../support/suite-size.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wellsync-parts-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function textOf(log: PartLog): Promise<string> {
  const blocks: Buffer[] = [];
  for await (const block of log.read()) blocks.push(block);
  return Buffer.concat(blocks).toString();
}

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'ø', '\n'), minLength: 1, maxLength: 12 });
const attempts = fc.array(fc.record({ texts: fc.array(word, { maxLength: 5 }), kept: fc.nat(5) }), {
  minLength: 1,
  maxLength: 5,
});

test('G2, G7: whatever is killed and continued, the rejects are those up to each checkpoint, once', async () => {
  let runs = 0;
  await expectForAllAsync(
    fc.asyncProperty(attempts, async (tries) => {
      const name = `rejects/run-${(runs += 1)}`;
      let durable = '';
      for (const { texts, kept } of tries) {
        const log = new PartLog(new FolderStore(folder), name);
        const bytes = Buffer.byteLength(durable);
        expect(await log.cutTo(bytes)).toBe(bytes);
        expect(await textOf(log)).toBe(durable);
        let at = bytes;
        for (const text of texts) {
          expect(await log.append(Buffer.from(text), at)).toBe(at);
          at += Buffer.byteLength(text);
        }
        expect(await log.size()).toBe(at);
        // Its process is killed behind some of its checkpoints.
        durable += texts.slice(0, kept).join('');
      }
    }),
    bySuite(30, 300),
  );
});

test('G2: a file that a system left among the parts hides none of them', async () => {
  const log = new PartLog(new FolderStore(folder), 'rejects/run');
  await log.append(Buffer.from('first'), 0);
  for (const name of ['.nfs0001', '.DS_Store', 'Thumbs.db'])
    await writeFile(path.join(folder, 'rejects/run', name), 'stray');
  await log.append(Buffer.from('second'), 5);
  expect(await log.size()).toBe(11);
  expect(await textOf(log)).toBe('firstsecond');
  expect(await log.cutTo(5)).toBe(5);
  expect(await textOf(log)).toBe('first');
});

test('G2: a part that was removed, or written by another process, is a fault and not a shorter list', async () => {
  const log = new PartLog(new FolderStore(folder), 'rejects/run');
  for (const [text, at] of [
    ['first', 0],
    ['second', 5],
    ['third', 11],
  ] as const) {
    await log.append(Buffer.from(text), at);
  }
  expect(await log.append(Buffer.from('third'), 11)).toBe(11);
  expect(await log.append(Buffer.from('other'), 11)).not.toBe(11);
  const [, second = ''] = await readdir(path.join(folder, 'rejects/run'));
  await rm(path.join(folder, 'rejects/run', second));
  expect(await log.cutTo(16)).toBe(5);
  expect(await textOf(log)).toBe('first');
});
