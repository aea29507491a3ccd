/**
 * The metrics of all processes in Redis, each increment once (docs/design.md section 11).
 *
 *   BASE:metrics              hash: the sum of each series over all sources
 *   BASE:metric-gauges        hash: the last value of each gauge
 *   BASE:metric-source:NAME   hash: the totals that a source has reported so far
 *
 * A source reports totals, not increments: a report that comes twice, or late, adds nothing.
 */
import { randomUUID } from 'node:crypto';
import type { Observation } from '../core/run/alert.ts';
import { tryLease } from './lease.ts';
import { redisScript, runScript } from './redis/script.ts';
import type { AlertMessage, AlertStore, MetricStore } from './port.ts';
import { limitsKey, type QueueAddress } from './queue-names.ts';
import type { RedisHandle } from './redis/options.ts';

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

// Open alerts and messages that wait to be sent, in Redis: they outlive every process (docs/design.md section 11).
//
//   BASE:alerts         hash: by scope, the instant of its last look and its open alerts
//   BASE:alert-outbox   list of messages, the oldest first

/** Nobody wants to read more when a receiver is back. The oldest go first. */
const mostWaiting = 200;

/**
 * KEYS: alerts, outbox. ARGV: scope, instant of the look in ms, its troubles as an object by cause of messages in JSON
 * for the case that they are new, the most that may wait. In one step, so that a message is sent for each change and no
 * other: a new cause is appended, and one that is gone as `over`. A look that is not newer changes nothing.
 */
const recordScript = redisScript(`
local known = redis.call('HGET', KEYS[1], ARGV[1])
local state = known and cjson.decode(known) or { at = -1, open = {} }
if tonumber(ARGV[2]) <= state.at then return 0 end
local seen = cjson.decode(ARGV[3])
local open = {}
for cause, message in pairs(seen) do
  open[cause] = state.open[cause] or message
  if not state.open[cause] then redis.call('RPUSH', KEYS[2], cjson.encode({ kind = 'raised', at = tonumber(ARGV[2]), alert = message })) end
end
for cause, message in pairs(state.open) do
  if not seen[cause] then redis.call('RPUSH', KEYS[2], cjson.encode({ kind = 'over', at = tonumber(ARGV[2]), alert = message })) end
end
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[4]), -1)
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode({ at = tonumber(ARGV[2]), open = open }))
return 1`);

export function createAlertStore(redis: RedisHandle, address: QueueAddress): AlertStore {
  const base = limitsKey(address);
  const [alerts, outbox] = [`${base}:alerts`, `${base}:alert-outbox`];
  return {
    async record({ scope, atMs, troubles }: Observation) {
      const seen = Object.fromEntries(
        troubles.map((trouble) => [
          JSON.stringify(trouble.cause),
          JSON.stringify({ id: randomUUID(), atMs, ...trouble }),
        ]),
      );
      await runScript(redis, recordScript, [alerts, outbox], [scope, atMs, JSON.stringify(seen), mostWaiting]);
    },
    async sendWaiting(send) {
      await using lease = await tryLease(redis, `${base}:alert-lease`);
      if (lease === undefined) return;
      for (;;) {
        const [text] = await redis.lrange(outbox, 0, 0);
        if (text === undefined || !lease.isHeld()) return;
        if (!(await send(messageOf(text)))) return;
        await redis.lrem(outbox, 1, text);
      }
    },
  };
}

interface StoredMessage {
  readonly kind: AlertMessage['kind'];
  readonly at: number;
  /** As {@link AlertMessage}, in JSON. */
  readonly alert: string;
}

function messageOf(text: string): AlertMessage {
  const { kind, at, alert } = JSON.parse(text) as StoredMessage;
  const { atMs: raisedAtMs, ...raised } = JSON.parse(alert) as Omit<AlertMessage, 'kind' | 'atMs' | 'raisedAtMs'> & {
    readonly atMs: number;
  };
  return { ...raised, kind, atMs: at, raisedAtMs };
}
