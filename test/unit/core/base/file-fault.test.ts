import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/core/base/errors.ts';
import { onDisk } from '../../../../src/core/base/file-fault.ts';
import { exitCodeOfError } from '../../../../src/core/run/exit-code.ts';
import { unreadable } from '../../../../src/pipes/content.ts';

const systemError = (code: string): Error => Object.assign(new Error(`${code}: it failed, write`), { code });
const faultOf = (file: string, work: () => Promise<unknown>): Promise<unknown> =>
  onDisk(file, work).catch((error: unknown) => error);

describe('a file that cannot be used', () => {
  it.each([
    ['ENOSPC', 'the disk is full'],
    ['EDQUOT', 'the disk quota is used up'],
    ['EROFS', 'the file system is read-only'],
    ['EIO', 'the disk reports an input/output error'],
  ])('because of %s is an outage of its disk, written or read, with exit code 5', async (code, reason) => {
    const written = await faultOf('/data/x.csv', () => Promise.reject(systemError(code)));
    for (const fault of [written, unreadable(systemError(code), '/data/x.csv')]) {
      expect(fault).toMatchObject({ part: 'disk', message: `/data/x.csv cannot be used: ${reason}` });
      expect(exitCodeOfError(fault)).toBe(5);
    }
  });

  it('because a part of its path is a file is told in words, and does not pass', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-file-'));
    await writeFile(path.join(folder, 'file'), '');
    const below = path.join(folder, 'file', 'x.csv');
    const fault = await faultOf(below, () => writeFile(below, 'x'));
    expect(fault).toMatchObject({ code: 'file-denied', message: expect.stringContaining('is a file') as string });
    await rm(folder, { recursive: true });
  });

  it('for another reason stays what it is', async () => {
    const bug = new TypeError('x is not a function');
    expect(await faultOf('/x', () => Promise.reject(bug))).toBe(bug);
    expect(unreadable(systemError('ENOENT'), '/x')).toBeInstanceOf(UsageError);
  });
});
