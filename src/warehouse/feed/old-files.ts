/** Removes files of a feed that were named by no version for long enough, whatever their age. */
import type { FeedManifest } from './manifest.ts';
import type { FeedPlace } from './place.ts';

const hourMs = 3_600_000;

/** A publication that is killed leaves files that no version ever named: nobody reads them. */
const unnamedHours = 24;

/** Of this feed alone: other files in the place are left alone. */
const ownFile =
  /^(?:daily_production\/production_month=\d{4}-\d{2}|well|time_series|coverage|restatements)\/part-[\w-]+\.(?:parquet|csv)$/;

interface Keeping {
  readonly keepHours: number;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** Whether a file that was named last until `since` may go. */
export function isOver(since: string, { keepHours, nowMs }: Pick<Keeping, 'keepHours' | 'nowMs'>): boolean {
  return nowMs - Date.parse(since) >= keepHours * hourMs;
}

/**
 * To be called under the lease, with the manifest that is in place. The next version forgets the retired ones that are
 * over. Returns the number of files.
 */
export async function removeOldFiles(place: FeedPlace, manifest: FeedManifest, keeping: Keeping): Promise<number> {
  const { files, retired } = manifest;
  const over = retired.filter(({ since }) => isOver(since, keeping)).map(({ path }) => path);
  const known = new Set([...files, ...retired].map(({ path }) => path));
  const there = new Set<string>();
  const unnamed: string[] = [];
  for (const folder of ['daily_production/', 'well/', 'time_series/', 'coverage/', 'restatements/']) {
    for await (const { name, changedAtMs } of place.list(folder)) {
      there.add(name);
      const isOld = keeping.nowMs - changedAtMs >= Math.max(unnamedHours, keeping.keepHours) * hourMs;
      if (isOld && !known.has(name) && ownFile.test(name)) unnamed.push(name);
    }
  }
  const removed = [...over.filter((path) => there.has(path)), ...unnamed];
  for (const path of removed) {
    if (keeping.signal.aborted) break;
    await place.remove(path);
  }
  return removed.length;
}
