/**
 * A process whose callers send requests to URL as fast as the limiter lets them, until SIGTERM: CALLERS, PREFIX, REDIS
 * (its settings, as JSON), CONCURRENCY, RATE. Prints a line when it works.
 */
import process from 'node:process';

/** @type {typeof import('../../src/queue/limiter/limiter.ts')} */
const { createLimiter } = await import(new URL('../../dist/src/queue/limiter/limiter.js', import.meta.url).href);

const { URL: url = '', REDIS = '', PREFIX = '', CALLERS, CONCURRENCY, RATE } = process.env;
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const limiter = await createLimiter({
  redis: JSON.parse(REDIS),
  prefix: PREFIX,
  service: url,
  concurrency: Number(CONCURRENCY),
  requestsPerSecond: Number(RATE),
  maxHoldMs: 60_000,
});
console.log('Working');
const callers = Array.from({ length: Number(CALLERS) }, async () => {
  while (!stop.signal.aborted) {
    const leave = await limiter.enter(stop.signal);
    try {
      const answer = await fetch(url);
      await answer.text();
      const retryAfter = Number(answer.headers.get('retry-after') ?? 0);
      if (retryAfter > 0) await limiter.pauseAll(retryAfter * 1_000);
    } finally {
      leave();
    }
  }
});
await Promise.allSettled(callers);
await limiter.close();
