/** When a push sends a chunk that has room for more items (docs/design.md section 4.3). */

/** `waiting`: the reader goes on once a chunk is settled. */
export type ReaderState = 'reading' | 'waiting' | 'ended';

/**
 * While rows are read they fill the chunk. A reader that waits, or has ended, leaves what was put off: that fills it once
 * a chunk under way is settled, so it waits as long as half of the requests are under way. With nothing put off, the last
 * chunk of a file is sent at once, and one before it when nothing else is under way.
 */
export function isShortChunkDue(
  reader: ReaderState,
  { hasPutOff }: { readonly hasPutOff: boolean },
  underWay: number,
  concurrency: number,
): boolean {
  if (reader === 'reading') return false;
  if (!hasPutOff) return reader === 'ended' || underWay === 0;
  return underWay < Math.ceil(concurrency / 2);
}
