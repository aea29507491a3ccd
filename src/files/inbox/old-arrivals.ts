/** Files of an inbox that are done, and were kept long enough (docs/retention.md). Those that failed wait for a person. */
import { lstat, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { onDisk } from '../../core/base/file-fault.ts';
import { reportName } from '../../core/inbox/arrival.ts';
import { unlessCode } from './durable-file.ts';

/** The name that a claim gives its folder. */
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
