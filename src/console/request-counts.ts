/**
 * How often each caller asked in its minute. The plugin's own store goes by the clock of the host: one that is set back by a
 * day would keep a minute open for that day, and lock its caller out.
 */
import type { FastifyRateLimitStore } from '@fastify/rate-limit';

/** Of the callers and addresses that are counted; the one that asked longest ago goes. */
const mostKeys = 5_000;

interface Count {
  readonly sinceMs: number;
  readonly current: number;
}

type Answer = Parameters<FastifyRateLimitStore['incr']>[1];

export class RequestCounts implements FastifyRateLimitStore {
  readonly #byKey = new Map<string, Count>();

  incr(key: string, answer: Answer, windowMs = 60_000): void {
    const nowMs = performance.now();
    const known = this.#byKey.get(key);
    const isOver = known === undefined || nowMs - known.sinceMs >= windowMs;
    const count = isOver ? { sinceMs: nowMs, current: 1 } : { ...known, current: known.current + 1 };
    this.#byKey.delete(key);
    this.#byKey.set(key, count);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > mostKeys && oldest !== undefined) this.#byKey.delete(oldest);
    answer(null, { current: count.current, ttl: windowMs - (nowMs - count.sinceMs) });
  }

  child(): RequestCounts {
    return new RequestCounts();
  }
}
