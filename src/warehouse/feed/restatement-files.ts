/** Files of restatements: appended, never written again, so that a reader goes on after the last number that it has. */
import { AbortedError, TransientError } from '../../core/base/errors.ts';
import { makeFile } from './make-file.ts';
import type { ManifestFile } from './manifest.ts';
import type { Pass, PublisherParts } from './publisher.ts';

const rowsInFile = 100_000;

/** Files of the numbers that the manifest does not reach; with `allTables`, of those whose file was lost or damaged as well. */
export async function nextRestatements(parts: PublisherParts, pass: Pass): Promise<readonly ManifestFile[]> {
  const from = pass.stored?.manifest.lastRestatement ?? 0;
  const ranges = [
    ...(pass.allTables ? await lostRanges(parts, pass) : []),
    ...newRanges(from, await numberAll(parts, pass)),
  ];
  const written: ManifestFile[] = [];
  for (const { after, last } of ranges) {
    if (pass.signal.aborted) throw new AbortedError();
    const file = await makeFile(parts, { table: 'restatements', after, last }, {});
    // Undefined where retention.historyDays has removed all of them.
    if (file !== undefined) written.push(file);
  }
  return written;
}

interface NumberRange {
  readonly after: number;
  readonly last: number;
}

async function numberAll({ ledger }: PublisherParts, { signal }: Pass): Promise<number> {
  for (let last = -1; ;) {
    if (signal.aborted) throw new AbortedError();
    const next = await ledger.numberRestatements(rowsInFile);
    if (next === last) return last;
    last = next;
  }
}

function newRanges(from: number, last: number): readonly NumberRange[] {
  const ranges: NumberRange[] = [];
  for (let after = from; after < last; after += rowsInFile)
    ranges.push({ after, last: Math.min(after + rowsInFile, last) });
  return ranges;
}

async function lostRanges({ place, settings }: PublisherParts, { stored }: Pass): Promise<readonly NumberRange[]> {
  const lost: NumberRange[] = [];
  for (const { table, path, bytes, sha256, first = 0, last = 0 } of stored?.manifest.files ?? []) {
    if (table !== 'restatements') continue;
    try {
      await using file = await place.fetch(path, { bytes, sha256 }, settings.folder);
      if (file !== undefined) continue;
    } catch (error) {
      if (!(error instanceof TransientError && error.code === 'file-damaged')) throw error;
    }
    lost.push({ after: first - 1, last });
  }
  return lost;
}
