/**
 * Open alerts and messages that wait to be sent, in Redis: they outlive every process (docs/design.md section 11).
 *
 *   BASE:alerts         hash: by scope, the instant of its last look and its open alerts
 *   BASE:alert-outbox   list of messages, the oldest first
 */
import { randomUUID } from 'node:crypto';
import { tryLease } from './lease.ts';
import type { AlertMessage, AlertStore } from './port.ts';
import { limitsKey, type QueueAddress } from './queue-names.ts';
import type { RedisHandle } from './redis/options.ts';
import { redisScript, runScript } from './redis/script.ts';

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
    async record({ scope, atMs, troubles }) {
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
        if (text === undefined || !lease.isOwned()) return;
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
