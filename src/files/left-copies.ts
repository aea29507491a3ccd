/** Copies of files of a store that killed processes of this host have left in their folder. */
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { DAY_MS } from '../core/time/window.ts';

/** The copies that a store makes for a worker begin with it. */
export const copyPrefix = 'fetched-';

/** Far longer than a push takes; one that takes longer fetches its file again. */
const keptMs = 2 * DAY_MS;

/** Removes them once they are two days old. A fault of one, or of the folder, is no error: the next worker tries again. */
export async function removeLeftCopies(folder: string, nowMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(copyPrefix))) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < nowMs - keptMs) await rm(file, { force: true }).catch(() => undefined);
  }
}
