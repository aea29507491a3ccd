/**
 * Watches a Redis that a worker cannot use: from the first fault on it tries a write, about once a second, until one
 * succeeds. Meanwhile the workers pause: BullMQ asks a Redis that answers with errors again and again without a pause.
 */
import { Redis } from 'ioredis';
import type { OutageRecord } from '../core/base/outage.ts';
import { redisOutage } from './redis-fault.ts';
import { lastingOptions } from './redis.ts';
import { sleep } from '../timers/sleep.ts';

const tryEveryMs = 1_000;
/** The write is of this process alone, and ends by itself. */
const keptMs = 1_000;

interface RedisWatchContext {
  readonly url: string;
  readonly prefix: string;
  readonly outages: OutageRecord;
  readonly onDown: () => void;
  readonly onUp: () => void;
}

export class RedisWatch {
  readonly #context: RedisWatchContext;
  readonly #closed = new AbortController();
  #over: Promise<void> | undefined;

  constructor(context: RedisWatchContext) {
    this.#context = context;
  }

  get isDown(): boolean {
    return this.#over !== undefined;
  }

  /** Takes note of an error of a call; returns whether it is of a state of Redis that passes. */
  note(error: unknown): boolean {
    const outage = redisOutage(error);
    if (outage === undefined) return false;
    this.#begin(outage.message);
    return true;
  }

  /** Resolves when Redis takes writes again, or the signal aborts; at once where no trouble is known. */
  async over(signal: AbortSignal): Promise<void> {
    if (this.#over === undefined || signal.aborted) return;
    const waiting = new AbortController();
    const aborted = sleep(Infinity, { signal: AbortSignal.any([signal, waiting.signal]) });
    await Promise.race([this.#over, aborted.catch(() => undefined)]);
    waiting.abort();
  }

  close(): void {
    this.#closed.abort();
  }

  #begin(reason: string): void {
    if (this.#closed.signal.aborted) return;
    this.#context.outages.down('redis', reason);
    if (this.#over !== undefined) return;
    this.#context.onDown();
    this.#over = this.#tryUntilUp().then(() => {
      this.#over = undefined;
      if (this.#closed.signal.aborted) return;
      this.#context.outages.up('redis');
      this.#context.onUp();
    });
  }

  async #tryUntilUp(): Promise<void> {
    const { signal } = this.#closed;
    const { url, prefix, outages } = this.#context;
    // Fails at once while there is no connection, and connects again by itself.
    const redis = new Redis(url, { ...lastingOptions, enableOfflineQueue: false, commandTimeout: tryEveryMs });
    let reason: string | undefined;
    redis.on('error', (error: Error) => (reason = redisOutage(error)?.message));
    try {
      for (;;) {
        await sleep(tryEveryMs, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        try {
          await redis.set(`${prefix}:write-check`, '1', 'PX', keptMs);
          return;
        } catch (error) {
          outages.down('redis', reason ?? redisOutage(error)?.message ?? 'Redis does not answer');
        }
      }
    } finally {
      redis.disconnect();
    }
  }
}
