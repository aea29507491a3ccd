/** Disks, by really writing: free space and permissions tell less (quotas, read-only mounts, files in the place of folders). */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, open, realpath, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { codeOf } from '../../core/base/file-fault.ts';
import { leastFreeBytes } from '../../core/alerts/alert.ts';
import { bytesText } from '../../core/base/text.ts';
import { folderOfAddress } from '../../files/shared-files.ts';
import { createApp } from '../app.ts';
import { checkFeedLocation } from '../warehouse/feed.ts';
import { checked, failed, type Finding, ok, warning } from './finding.ts';

const writtenBytes = 1e6;

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EDQUOT: 'the quota is used up',
  ENOENT: 'it takes no files',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'it is a file, and no folder',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
};

export async function checkDisk(dataDir: string): Promise<Finding> {
  const fault = await writeFault(dataDir);
  const hint = 'Set WELLSYNC_DATA_DIR (or dataDir) to a folder with room that can be written to.';
  if (fault !== undefined) return failed('disk', fault, { hint });
  const freeBytes = await freeBytesAt(dataDir);
  const free = `${bytesText(freeBytes)} free at ${dataDir}`;
  return freeBytes < leastFreeBytes ? warning('disk', free, { hint }) : ok('disk', `${free}, written to`);
}

/** Bytes that this user may still write there. */
export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(nearestFolder(folder));
  return bavail * bsize;
}

/** Writes a megabyte into the folder, or its nearest existing parent, and removes it. Why that failed, if it did. */
export async function writeFault(folder: string): Promise<string | undefined> {
  const existing = nearestFolder(folder);
  const file = path.join(existing, `.wellsync-doctor-${randomUUID()}`);
  try {
    await using handle = await open(file, 'wx', 0o600);
    await handle.write(Buffer.alloc(writtenBytes));
    await handle.sync();
    return undefined;
  } catch (error) {
    const code = codeOf(error) || String(error);
    return `${existing} cannot be written to: ${reasons[code] ?? code}`;
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
}

/** A folder that is a link leads what is written elsewhere, for whoever may replace the link. `hint`: with its target. */
export async function linkFindings(
  part: string,
  folder: string,
  hint: (target: string) => string,
): Promise<readonly Finding[]> {
  const found = await lstat(folder).catch(() => undefined);
  if (found?.isSymbolicLink() !== true) return [];
  const target = await realpath(folder).catch(() => undefined);
  if (target !== undefined)
    return [warning(part, `${folder} is a link, which leads to ${target}`, { hint: hint(target) })];
  return [
    warning(part, `${folder} is a link, which leads nowhere`, {
      hint: 'Make what it leads to, or name another folder.',
    }),
  ];
}

/** For a link that `setting` names, and that may be meant. */
export function namedItself(setting: string): (target: string) => string {
  return (target) => `Is it meant? Then name the folder itself: ${setting}: ${target}`;
}

function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(path.dirname(folder));
}

/** The places of the files that several hosts share, and of the feed, by writing, reading and removing one. */
const filesRemedy = { hint: 'See WELLSYNC_FILES_URL (or files.url), files.endpoint and the credentials.' };

const feedRemedy = { hint: 'See WELLSYNC_FEED_URL (or feed.url), feed.endpoint and the credentials.' };

/** One for files.url and one for feed.url, where they are set. */
export async function checkFiles(config: Config): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  if (config.files.url !== undefined) {
    const finding = await checked('files', filesRemedy, async () => {
      await using app = createApp(config);
      return used('files', `${await app.sharedFiles?.check()}`);
    });
    findings.push(finding, ...(await linksOf('files', config.files.url)));
  }
  if (config.feed.url !== undefined) {
    findings.push(await checked('feed', feedRemedy, async () => used('feed', await checkFeedLocation(config))));
    findings.push(...(await linksOf('feed', config.feed.url)));
  }
  return findings;
}

/** None for a store that is no folder. */
async function linksOf(part: 'files' | 'feed', url: string): Promise<readonly Finding[]> {
  const folder = folderOfAddress(url);
  return folder === undefined ? [] : linkFindings(part, path.resolve(folder), namedItself(`${part}.url`));
}

function used(part: string, address: string): Finding {
  return ok(part, `${address}: written, read and removed`);
}
