import type { ServiceOutage } from '../../core/run/service-hold.ts';
import { redisScript } from '../redis/script.ts';

/**
 * What the limits towards the service are in Redis (G9). Each time is the one of Redis, so hosts need not agree.
 *
 *   hold     hash: until, asked, tooLong; gone when the hold ends
 *   series   time of the first Retry-After since the service last answered otherwise
 *   leases   sorted set: a token for each request under way, by the time at which its lease ends
 *   rate     theoretical arrival time of the next request, in microseconds since 1970 (GCRA)
 *   waiting  sorted set: the flows that want more leases than they were given, by the time until which that counts
 *   shares   sorted set: the flows, by the service that they had, counted in requests
 *   circuit  hash: since, tryAt, pause, trial, fault; there only while the circuit is open
 *   failing  set: the different requests that failed since the service last answered one
 *   turn     beginning of the key of each process that waits: a sorted set that has a member when it is its turn
 *
 * A flow is what one process asks for a run: `RUN|PROCESS`.
 */
export interface LimiterKeys {
  readonly hold: string;
  readonly series: string;
  readonly leases: string;
  readonly rate: string;
  readonly waiting: string;
  readonly shares: string;
  readonly circuit: string;
  readonly failing: string;
  readonly turn: string;
}

/** `base`: prefix and service (src/queue/queue-names.ts). */
export function limiterKeys(base: string): LimiterKeys {
  return {
    hold: `${base}:retry-after`,
    series: `${base}:retry-after-series`,
    leases: `${base}:leases`,
    rate: `${base}:next-at`,
    waiting: `${base}:flows-waiting`,
    shares: `${base}:shares`,
    circuit: `${base}:circuit`,
    failing: `${base}:failing`,
    turn: `${base}:turn:`,
  };
}

/** Lua: `micros` and `now`, microseconds and milliseconds since 1970. */
export const clock = `
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)`;

// What Redis holds of the circuit of a service.

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

// The scripts of the hold that a Retry-After puts on all requests to a service (G9).

/** How long a series is remembered after what it may be continued by: longer than an item waits for its next attempt. */
const seriesMs = 600_000;

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
export const readHold = redisScript(`${clock}
return {now, redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')}`);

/** KEYS: hold, series, circuit, failing. Removes them, and returns the hold as {@link readHold} does: none can come in between. */
export const liftHold = redisScript(`${clock}
local lifted = redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')
redis.call('DEL', unpack(KEYS))
return {now, lifted}`);

// The scripts of the circuit, which holds back all requests to a service that is down, and lets one of them try.
//
//   closed --- several different requests failed in a row ---> open: nothing is sent
//     ^                                                          |  pause, each twice as long as the one before
//     +---- answered ---- one request tries <--------------------+
//                             +---- failed ---> open

/**
 * How many different requests have to fail in a row: what the service cannot answer for one well is no reason to hold back
 * the others, however often it is tried.
 */
const differentFailures = 5;

/** A fault without any connection says the same of every request: it counts as so many, each time. */
export const failuresWithoutConnection = 2;

/** The first pause before a request tries, in milliseconds. */
const firstPauseMs = 500;

/**
 * The longest pause before a request tries, in milliseconds. It keeps what goes on by itself within a minute (G7). Where
 * there is a connection it may be what is left of the work that the service cannot answer, and not the service: the circuit
 * then closes only when all of that has failed by itself.
 */
export const longestPauseMs = { withoutConnection: 30_000, withConnection: 5_000 } as const;

/** Failures that are further apart are not in a row. */
const inARowMs = 600_000;

/** How long an open circuit is remembered while nobody tries: a process that waits asks every second. */
const forgottenAfterMs = 6 * 3_600_000;

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
  for place = 3, #ARGV do redis.call('SADD', KEYS[2], ARGV[place]) end
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
