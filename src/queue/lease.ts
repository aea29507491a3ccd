/**
 * Gives an item to one worker at a time, even if the queue gave it to two: a key in Redis that expires, renewed during the
 * work. A worker that lost BullMQ's own lock does not check it (docs/queue.md section 4).
 *
 *   free -> held --(renewed in time)--> held
 *                --(expires by our own clock, or the key is another's)--> lost, and it stays lost
 *
 * Our clock starts before the request that sets the key, so this process counts the lease as lost before Redis does.
 */
import { randomUUID } from 'node:crypto';
import type { RedisHandle } from './redis/options.ts';
import { AbortedError } from '../core/base/errors.ts';
import { sleep } from '../timers/sleep.ts';
import type { ItemLease } from './port.ts';
import { redisScript, runScript } from './redis/script.ts';

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

/** KEYS: lease. ARGV: token. */
const releaseScript = redisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`);

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
  if ((await redis.set(key, token, 'PX', times.keepMs, 'NX')) !== 'OK') return undefined;
  return new HeldLease(redis, key, token, askedAtMs, times);
}

class HeldLease implements ItemLease {
  readonly #redis: RedisHandle;
  readonly #key: string;
  readonly #token: string;
  readonly #times: LeaseTimes;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #endsAtMs: number;
  #renewAtMs: number;

  constructor(redis: RedisHandle, key: string, token: string, askedAtMs: number, times: LeaseTimes) {
    this.#redis = redis;
    this.#key = key;
    this.#token = token;
    this.#times = times;
    this.#endsAtMs = askedAtMs + times.keepMs;
    this.#renewAtMs = askedAtMs + times.renewEveryMs;
    this.#timer = setInterval(() => void this.#renewInTime(), times.pollAgainMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  isHeld(): boolean {
    if (performance.now() >= this.#endsAtMs) this.#lose();
    return !this.signal.aborted;
  }

  async #renewInTime(): Promise<void> {
    const askedAtMs = performance.now();
    if (!this.isHeld() || askedAtMs < this.#renewAtMs) return;
    this.#renewAtMs = askedAtMs + this.#times.renewEveryMs;
    // During an outage Redis answers late or never: then the lease expires.
    const renewed = await runScript(this.#redis, renewScript, [this.#key], [this.#token, this.#times.keepMs]).catch(
      () => undefined,
    );
    if (renewed === 0) this.#lose();
    else if (renewed !== undefined && this.isHeld()) this.#endsAtMs = askedAtMs + this.#times.keepMs;
  }

  #lose(): void {
    clearInterval(this.#timer);
    this.#controller.abort(new AbortedError('another worker may have the item by now'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    // If this does not reach Redis, the key expires by itself.
    if (this.isHeld()) await runScript(this.#redis, releaseScript, [this.#key], [this.#token]).catch(() => undefined);
  }
}
