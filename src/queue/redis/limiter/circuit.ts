/** The circuit of a service in Redis (src/queue/limiter/admission.ts). */
import type { ServiceOutage } from '../../../core/run/service-hold.ts';
import { differentFailures, firstPauseMs, forgottenAfterMs, inARowMs } from '../../limiter/admission.ts';
import { redisScript } from '../script.ts';
import { clock } from './limiter-keys.ts';

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
export const readCircuit = redisScript(`${clock}
return {now, redis.call('HMGET', KEYS[1], 'since', 'tryAt', 'fault')}`);
