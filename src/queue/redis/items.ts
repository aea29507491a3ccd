/**
 * The data of a queue item (below), and its lease. The lease gives an item to one worker at a time, even if the queue gave it to two: a key in Redis that expires, renewed during the
 * work. A worker that lost BullMQ's own lock does not check it (docs/queue.md section 4).
 *
 *   free -> owned --(renewed in time)--> owned
 *                 --(expires by our own clock, or the key is another's)--> lost, and it stays lost
 *
 * Our clock starts before the request that sets the key, so this process counts the lease as lost before Redis does.
 */
import { randomUUID } from 'node:crypto';
import { deleteIfEqual, type RedisHandle, redisScript, runScript } from './clients.ts';
import { AbortedError } from '../../core/base/errors.ts';
import { sleep } from '../../timers/sleep.ts';
import type { ChunkItem, ItemLease } from '../port.ts';
import { type Job as QueueJob, UnrecoverableError, Worker } from 'bullmq';
import { z } from 'zod';

export interface LeaseTimes {
  /** No longer than the restart of a killed worker's item takes anyway. */
  readonly keepMs: number;
  readonly renewEveryMs: number;
  readonly pollAgainMs: number;
}

const defaultTimes: LeaseTimes = { keepMs: 10_000, renewEveryMs: 2_000, pollAgainMs: 250 };

/** KEYS: lease. ARGV: token, ms. */
const renewScript = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

/** Resolves when the key belongs to this lease. Rejects with AbortedError. */
export async function leaseItem(
  redis: RedisHandle,
  key: string,
  signal: AbortSignal,
  times: LeaseTimes = defaultTimes,
): Promise<ItemLease> {
  for (;;) {
    if (signal.aborted) throw new AbortedError();
    const lease = await tryLease(redis, key, times);
    if (lease !== undefined) return lease;
    await sleep(times.pollAgainMs, { signal }).catch(() => undefined);
  }
}

/** As {@link leaseItem}, without a wait: undefined where another has the key. */
export async function tryLease(
  redis: RedisHandle,
  key: string,
  times: LeaseTimes = defaultTimes,
): Promise<ItemLease | undefined> {
  const token = randomUUID();
  const askedAtMs = performance.now();
  const isFree = (await redis.set(key, token, 'PX', times.keepMs, 'NX')) === 'OK';
  return isFree ? keptLease({ redis, key, token }, askedAtMs, times) : undefined;
}

/** Renews the key until the lease is disposed, or lost. */
function keptLease(
  { redis, key, token }: { readonly redis: RedisHandle; readonly key: string; readonly token: string },
  takenAtMs: number,
  { keepMs, renewEveryMs, pollAgainMs }: LeaseTimes,
): ItemLease {
  const lost = new AbortController();
  const timer = setInterval(() => void renewInTime(), pollAgainMs);
  let endsAtMs = takenAtMs + keepMs;
  let renewAtMs = takenAtMs + renewEveryMs;

  function lose(): void {
    clearInterval(timer);
    lost.abort(new AbortedError('another worker may have the item by now'));
  }

  function isOwned(): boolean {
    if (performance.now() >= endsAtMs) lose();
    return !lost.signal.aborted;
  }

  async function renewInTime(): Promise<void> {
    const askedAtMs = performance.now();
    if (!isOwned() || askedAtMs < renewAtMs) return;
    renewAtMs = askedAtMs + renewEveryMs;
    // During an outage Redis answers late or never: then the lease expires.
    const renewed = await runScript(redis, renewScript, [key], [token, keepMs]).catch(() => undefined);
    if (renewed === 0) lose();
    else if (renewed !== undefined && isOwned()) endsAtMs = askedAtMs + keepMs;
  }

  return {
    signal: lost.signal,
    isOwned,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      // If this does not reach Redis, the key expires by itself.
      if (isOwned()) await runScript(redis, deleteIfEqual, [key], [token]).catch(() => undefined);
    },
  };
}

// The data of a queue item, as it stands in Redis, where others can write: checked when the item is taken. Ours has some
// fifty characters.

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
