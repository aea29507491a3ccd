/** The clock of this host against that of Redis: queue delays are due by the clock of a host (docs/redis.md section 7). */
import type { RedisHandle } from './options.ts';

/** A start is refused past the first, and a remark made past the second. */
export const clockFaultMs = 5_000;
export const clockRemarkMs = 1_000;

const samples = 3;

/**
 * Milliseconds that this host is ahead of Redis; negative: behind. Of a few questions the one with the fastest answer
 * counts, and its error is at most half of the time that the answer took. `now`: milliseconds since 1970.
 */
export async function measureClock(redis: RedisHandle, now: () => number): Promise<number> {
  let best = { tookMs: Infinity, aheadMs: 0 };
  for (let sample = 0; sample < samples; sample += 1) {
    const askedAtMs = now();
    const [seconds, micros] = await redis.time();
    const tookMs = now() - askedAtMs;
    const redisMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
    if (tookMs < best.tookMs) best = { tookMs, aheadMs: Math.round(askedAtMs + tookMs / 2 - redisMs) };
  }
  return best.aheadMs;
}

/** `7 s ahead of`, `1.4 s behind`. */
export function clockWords(aheadMs: number): string {
  const seconds = Math.abs(aheadMs) / 1_000;
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
}
