/**
 * The data of a queue item, as it stands in Redis, where others can write: checked when the item is taken. Ours has some
 * fifty characters.
 */
import { type Job as QueueJob, UnrecoverableError, Worker } from 'bullmq';
import { z } from 'zod';
import type { ChunkItem } from '../port.ts';

/** A longer payload is none of ours, and is not parsed: one of 50 MB would fill the heap of a worker. */
export const mostPayloadBytes = 4_096;

const mostIdCharacters = 200;
const idText = z.string().min(1).max(mostIdCharacters);
const wholeNumber = z.int().nonnegative();

export const runItemSchema = z.looseObject({ runId: idText });
/** What a scheduler of BullMQ adds at each tick. */
export const tickItemSchema = z.looseObject({ schedule: z.string().min(1).max(mostIdCharacters) });
export const chunkItemSchema = z.looseObject({ runId: idText, round: wholeNumber, chunk: wholeNumber });

/** An item that nothing of wellsync added: given up at once, and told without a stack. */
export class ForeignItemError extends UnrecoverableError {
  override readonly name = 'ForeignItemError';
}

/** The data of an item. Throws ForeignItemError. */
export function checkedData<Data>(job: QueueJob, schema: z.ZodType<Data>): Data {
  const found = schema.safeParse(job.data);
  if (found.success) return found.data;
  if (isTooLong(job.data)) {
    throw new ForeignItemError(`its data is longer than ${mostPayloadBytes} bytes: it is none of wellsync`);
  }
  const faults = found.error.issues.map(({ path }) => (path.length === 0 ? 'no object' : `a wrong ${path.join('.')}`));
  throw new ForeignItemError(`its data has ${[...new Set(faults)].join(', ')}: it is none of wellsync`);
}

/** Replaces a payload that is too long, so that it is never parsed. */
const tooLong = { isTooLong: true } as const;

function isTooLong(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'isTooLong' in data && data.isTooLong === true;
}

/** A worker that looks at the length of what an item holds before it is parsed. */
export class ItemWorker<Data> extends Worker<Data> {
  protected override createJob(...[stored, id]: Parameters<Worker<Data>['createJob']>): QueueJob<Data> {
    const { data, opts, name } = stored;
    if ([data, opts, name].every(isShort)) return super.createJob(stored, id);
    return super.createJob({ ...stored, data: JSON.stringify(tooLong), opts: {}, name: 'foreign' }, id);
  }
}

/** Text as Redis holds it; absent, or parsed already, it needs no look. */
function isShort(text: unknown): boolean {
  return typeof text !== 'string' || text.length <= mostPayloadBytes;
}

/** Whose work an item is, for the log; nothing of a foreign one. */
export function workOf(data: unknown): { readonly runId?: string; readonly chunk?: number } {
  const { data: found } = runItemSchema.extend({ chunk: wholeNumber.exactOptional() }).safeParse(data);
  if (found === undefined) return {};
  const { runId: id, chunk } = found;
  return { runId: id, ...(chunk === undefined ? {} : { chunk }) };
}

const longestIdShown = 80;

/** An id in a log line: of a foreign item it may be of any length. */
export function shownId(id: string | undefined): string | undefined {
  return id === undefined || id.length <= longestIdShown ? id : `${id.slice(0, longestIdShown)}…`;
}

/** The stored form of a chunk's item in Redis, where the generation is called `round`. */
export interface ChunkItemData extends Omit<ChunkItem, 'generation'> {
  readonly round: number;
}

export function dataOf({ runId, generation, chunk }: ChunkItem): ChunkItemData {
  return { runId, round: generation, chunk };
}

export function itemOf({ runId, round, chunk }: ChunkItemData): ChunkItem {
  return { runId, generation: round, chunk };
}

export function chunkItemId({ runId, generation, chunk }: ChunkItem): string {
  return `${runId}-${generation}-${chunk}`;
}
