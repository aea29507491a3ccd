/** Small files that are whole after a crash, and faults of the system that are none. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import path from 'node:path';
import { withSteps } from '../core/base/failpoint.ts';

const { link, open, rename, rm } = withSteps('files', fs);

/** Handles a fault of the system: passes over these codes, and throws any other. */
export function unlessCode(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  };
}

const mostSmallBytes = 64 * 1024;

/** A pipe in the place of the file does not hold the process up. */
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The beginning of a file that we wrote; undefined without one. */
export async function readSmall(file: string): Promise<string | undefined> {
  const handle = await open(file, readFlags).catch(unlessCode('ENOENT', 'ENOTDIR'));
  if (handle === undefined) return undefined;
  await using opened = handle;
  const { bytesRead, buffer } = await opened.read(Buffer.alloc(mostSmallBytes), 0, mostSmallBytes, 0);
  return buffer.toString('utf8', 0, bytesRead);
}

type Content = string | AsyncIterable<Buffer>;

/** The bytes are on the disk when it resolves. */
export async function writeDurably(file: string, content: Content, flags: string): Promise<void> {
  await using handle = await open(file, flags);
  if (typeof content === 'string') await handle.writeFile(content);
  else for await (const block of content) await handle.write(block);
  await handle.sync();
}

/** Calls `publish` with a name aside, under which `write` has written the content; the name is gone afterwards. */
export async function withAside(
  file: string,
  write: (aside: string) => Promise<void>,
  publish: (aside: string) => Promise<void>,
): Promise<void> {
  const aside = path.join(path.dirname(file), `.${randomUUID()}.part`);
  try {
    await write(aside);
    await publish(aside);
  } finally {
    await rm(aside, { force: true });
  }
}

function writing(content: Content): (aside: string) => Promise<void> {
  return (aside) => writeDurably(aside, content, 'wx');
}

/** Of processes that write it at once, the first one's stays. */
export async function writeIfAbsent(file: string, text: string): Promise<void> {
  await withAside(file, writing(text), async (aside) => {
    await link(aside, file).catch(unlessCode('EEXIST', ...noLinkCodes));
    // A file system without second names: a process at the same moment may replace it once more.
    if ((await readSmall(file)) === undefined) await rename(aside, file);
  });
}

/** Places the file unless one is there; of processes at once, one does. `linked` gives a file its second name. */
export async function writeExclusively(file: string, text: string, linked = link): Promise<void> {
  await withAside(file, writing(text), (aside) =>
    linked(aside, file).catch((error: NodeJS.ErrnoException) =>
      noLinkCodes.includes(error.code ?? '') ? takeName(aside, file) : unlessCode('EEXIST')(error),
    ),
  );
  await syncFolder(path.dirname(file));
}

/** Takes the name by an empty file, which the other one then replaces. */
async function takeName(aside: string, file: string): Promise<void> {
  try {
    await (await open(file, 'wx')).close();
  } catch (error) {
    return unlessCode('EEXIST')(error);
  }
  await rename(aside, file);
}

/** What file systems without second names answer, as FAT and some of networks. */
export const noLinkCodes = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Writes the file aside and renames it: a reader sees the old one or the new one, whole. */
export async function replace(file: string, content: Content): Promise<void> {
  await withAside(file, writing(content), (aside) => rename(aside, file));
  await syncFolder(path.dirname(file));
}

/** The names in it; not every file system can. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(unlessCode('ENOENT', 'EACCES', 'EISDIR', 'EPERM'));
  if (handle === undefined) return;
  await using opened = handle;
  await opened.sync().catch(unlessCode('EINVAL', 'ENOTSUP', 'EISDIR', 'EPERM'));
}
