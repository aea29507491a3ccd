/**
 * What holds all requests to a service back (G9), in Redis: the hold that a Retry-After puts on them, and the circuit.
 * A store shows and lifts both.
 */
import type { ServiceHold, ServiceOutage } from '../../../core/run/service-hold.ts';
import { differentFailures, firstPauseMs, forgottenAfterMs, inARowMs, seriesMs } from '../../admission.ts';
import type { ServiceHoldStore } from '../../port.ts';
import { type RedisHandle, type RedisScript, redisScript, runScript } from '../clients.ts';
import { limitsKey, type QueueAddress } from '../queue-names.ts';
import { clock, limiterKeys } from './fair-shares-script.ts';

/** Fields of the hash, as Redis returns them. */
export type HoldFields = readonly (string | null)[];

/** `nowMs`: the time of Redis. Undefined if there is no hold. */
export function holdOf([until, asked, tooLong]: HoldFields, nowMs: number): ServiceHold | undefined {
  if (until === null || until === undefined) return undefined;
  const untilMs = Number(until);
  return {
    untilMs,
    leftMs: Math.max(0, untilMs - nowMs),
    askedUntilMs: Number(asked ?? until),
    isTooLong: tooLong === '1',
  };
}

/**
 * KEYS: hold, series. ARGV: ms that the service asks for, most ms. A shorter hold never replaces a longer one. It is too
 * long if it is longer than the most by itself, or with the holds before it since the service last answered otherwise.
 * Answers to requests of the same moment are one hold. `%.0f`: Lua's own text of a time loses digits.
 *
 * Returns {now, {until, asked, tooLong}} in ms.
 */
export const hold = redisScript(`${clock}
local asked = tonumber(ARGV[1])
local most = tonumber(ARGV[2])
local old = redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')
local since = tonumber(redis.call('GET', KEYS[2]) or now)
local isNew = not old[1]
local tooLong = asked > most or old[3] == '1' or (isNew and now - since + asked > most)
local untilMs = math.max(tonumber(old[1] or 0), now + math.min(asked, most))
local askedMs = math.max(tonumber(old[2] or 0), now + asked)
local text = function(ms) return string.format('%.0f', ms) end
redis.call('HSET', KEYS[1], 'until', text(untilMs), 'asked', text(askedMs), 'tooLong', tooLong and 1 or 0)
redis.call('PEXPIRE', KEYS[1], text(untilMs - now))
redis.call('SET', KEYS[2], text(since), 'PX', text(untilMs - now + most + ${seriesMs}))
return {now, redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')}`);

/** KEYS: hold. Returns as {@link hold}; the fields are null where there is no hold. */
const readHold = redisScript(`${clock}
return {now, redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')}`);

/** KEYS: hold, series, circuit, failing. Removes them, and returns the hold as {@link readHold} does: none can come in between. */
const liftHold = redisScript(`${clock}
local lifted = redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')
redis.call('DEL', unpack(KEYS))
return {now, lifted}`);

/** For the service of the limiter with the same address. */
export function createServiceHoldStore(redis: RedisHandle, address: QueueAddress): ServiceHoldStore {
  const keys = limiterKeys(limitsKey(address));
  const run = async (script: RedisScript, used: readonly string[]): Promise<readonly [number, HoldFields]> =>
    (await runScript(redis, script, used, [])) as [number, HoldFields];
  return {
    read: async () => {
      const [nowMs, fields] = await run(readHold, [keys.hold]);
      return holdOf(fields, nowMs);
    },
    readOutage: async () => {
      const [nowMs, fields] = await run(readCircuit, [keys.circuit]);
      return outageOf(fields, nowMs);
    },
    lift: async () => {
      const [nowMs, fields] = await run(liftHold, [keys.hold, keys.series, keys.circuit, keys.failing]);
      return holdOf(fields, nowMs);
    },
  };
}

// The circuit of a service in Redis (src/queue/admission.ts).

/** Fields of the hash, as Redis returns them: since, tryAt, fault. */
export type CircuitFields = readonly (string | null)[];

/** `nowMs`: the time of Redis. Undefined while the circuit is closed. */
export function outageOf([since, tryAt, fault]: CircuitFields, nowMs: number): ServiceOutage | undefined {
  if (since === null || since === undefined) return undefined;
  return {
    sinceMs: Number(since),
    forMs: Math.max(0, nowMs - Number(since)),
    nextTryMs: Math.max(0, Number(tryAt ?? nowMs) - nowMs),
    fault: fault ?? '',
  };
}

/**
 * KEYS: circuit, failing. ARGV: fault, longest pause in ms, then what failed. Returns {now, {since, tryAt, fault}, 1 for the
 * request that tried} in ms; the fields are null while the circuit is closed. A failure of a request that was sent before the
 * circuit opened says nothing new of it.
 */
export const recordFailure = redisScript(`${clock}
local text = function(ms) return string.format('%.0f', ms) end
local circuit = redis.call('HMGET', KEYS[1], 'pause', 'trial')
local pause
if circuit[1] then
  if circuit[2] then pause = math.min(ARGV[2], 2 * circuit[1]) end
else
  for index = 3, #ARGV do redis.call('SADD', KEYS[2], ARGV[index]) end
  redis.call('PEXPIRE', KEYS[2], ${inARowMs})
  if redis.call('SCARD', KEYS[2]) >= ${differentFailures} then
    pause = ${firstPauseMs}
    redis.call('HSET', KEYS[1], 'since', text(now))
    redis.call('DEL', KEYS[2])
  end
end
if pause then
  redis.call('HSET', KEYS[1], 'pause', pause, 'tryAt', text(now + pause), 'fault', ARGV[1])
  redis.call('HDEL', KEYS[1], 'trial')
  redis.call('PEXPIRE', KEYS[1], ${forgottenAfterMs})
end
return {now, redis.call('HMGET', KEYS[1], 'since', 'tryAt', 'fault'), circuit[2] and 1 or 0}`);

/** KEYS: circuit. Returns {now, {since, tryAt, fault}}, as {@link recordFailure} does. */
const readCircuit = redisScript(`${clock}
return {now, redis.call('HMGET', KEYS[1], 'since', 'tryAt', 'fault')}`);
