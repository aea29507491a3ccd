/**
 * A process whose callers send requests to URL as fast as the limiter lets them, until SIGTERM: CALLERS, PREFIX, REDIS
 * (its settings, as JSON), CONCURRENCY, RATE. Prints a line when it works. Each request tells when it was sent, in
 * milliseconds since 1970, and by how much this process was late at most, in the second or two before.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';

/** @type {typeof import('../../src/queue/redis/limiter/redis-admission.ts')} */
const { createRedisLimiter } = await import(
  new URL('../../dist/src/queue/redis/limiter/redis-admission.js', import.meta.url).href
);

const { URL: url = '', REDIS = '', PREFIX = '', CALLERS, CONCURRENCY, RATE } = process.env;
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const limiter = await createRedisLimiter({
  redis: JSON.parse(REDIS),
  prefix: PREFIX,
  service: url,
  concurrency: Number(CONCURRENCY),
  requestsPerSecond: Number(RATE),
  maxHoldMs: 60_000,
});
console.log('Working');

const delays = [0, 1].map(() => monitorEventLoopDelay({ resolution: 5 }));
for (const delay of delays) delay.enable();
setInterval(() => {
  const [oldest] = delays;
  oldest?.reset();
  delays.reverse();
}, 1_000).unref();
const lateMs = () => Math.max(...delays.map(({ max, count }) => (count === 0 ? 0 : max / 1e6)));

/** As a worker does: while Redis answers with errors, as after a failover without replicas, it asks again. */
async function enter() {
  for (;;) {
    try {
      return await limiter.enter(stop.signal);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'OutageError')) throw error;
      await setTimeout(200, undefined, { signal: stop.signal });
    }
  }
}

const callers = Array.from({ length: Number(CALLERS) }, async () => {
  for (;;) {
    const leave = await enter();
    try {
      const answer = await fetch(url, {
        headers: {
          'x-sent-at-ms': String(performance.timeOrigin + performance.now()),
          'x-late-ms': String(lateMs()),
        },
      });
      await answer.text();
      const retryAfter = Number(answer.headers.get('retry-after') ?? 0);
      if (retryAfter > 0) await limiter.pauseAll(retryAfter * 1_000);
    } finally {
      leave();
    }
  }
});
await Promise.all(callers).catch((error) => {
  if (!stop.signal.aborted) throw error;
});
await limiter.close();
