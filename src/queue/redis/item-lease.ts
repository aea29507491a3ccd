/**
 * Gives an item to one worker at a time, even if the queue gave it to two: a key in Redis that expires, renewed during the
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
import type { ItemLease } from '../port.ts';

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
