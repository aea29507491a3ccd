/**
 * The metrics of all processes in Redis, each increment once (docs/design.md section 11).
 *
 *   BASE:metrics              hash: the sum of each series over all sources
 *   BASE:metric-gauges        hash: the last value of each gauge
 *   BASE:metric-source:NAME   hash: the totals that a source has reported so far
 *
 * A source reports totals, not increments: a report that comes twice, or late, adds nothing.
 */
import { redisScript, runScript } from './clients.ts';
import type { MetricStore } from '../port.ts';
import { limitsKey, type QueueAddress } from './queue-names.ts';
import type { RedisHandle } from './clients.ts';

/** Longer than a run may be retried with the default of retention.unitDays, and than a process is suspended. */
const keepSourceMs = 40 * 86_400_000;

/**
 * KEYS: sums, totals of the source. ARGV: how long the totals are kept, ms; then series and total in turn. Adds to each
 * sum what its total exceeds the last one of the source. A total of 0 makes the series known.
 */
const raiseScript = redisScript(`
for i = 2, #ARGV, 2 do
  local known = redis.call('HGET', KEYS[2], ARGV[i])
  local increment = tonumber(ARGV[i + 1]) - tonumber(known or '0')
  if increment > 0 or not known then
    redis.call('HINCRBYFLOAT', KEYS[1], ARGV[i], string.format('%.17g', math.max(increment, 0)))
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  end
end
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return 1`);

export function createMetricStore(redis: RedisHandle, address: QueueAddress): MetricStore {
  const base = limitsKey(address);
  const [sums, gauges] = [`${base}:metrics`, `${base}:metric-gauges`];
  return {
    async raise(source, totals) {
      if (totals.size === 0) return;
      const values = [...totals].flatMap(([series, total]) => [series, String(total)]);
      await runScript(redis, raiseScript, [sums, `${base}:metric-source:${source}`], [keepSourceMs, ...values]);
    },
    async set(values) {
      if (values.size > 0) await redis.hset(gauges, Object.fromEntries(values));
    },
    async read() {
      const [counted, measured] = await Promise.all([redis.hgetall(sums), redis.hgetall(gauges)]);
      return { sums: numbers(counted), gauges: numbers(measured) };
    },
  };
}

function numbers(fields: Readonly<Record<string, string>>): ReadonlyMap<string, number> {
  return new Map(Object.entries(fields).map(([series, value]) => [series, Number(value)]));
}
