/**
 * What the limits towards the service are in Redis, and the scripts that keep them (G9). Each time is the one of Redis, so
 * hosts need not agree.
 *
 *   hold     hash: until, asked, tooLong; gone when the hold ends
 *   series   time of the first Retry-After since the service last answered otherwise
 *   leases   sorted set: a token for each request under way, by the time at which its lease ends
 *   rate     theoretical arrival time of the next request, in microseconds since 1970 (GCRA)
 *   waiting  the process that last found every lease taken
 */
import { redisScript } from './redis-script.ts';

export interface LimiterKeys {
  readonly hold: string;
  readonly series: string;
  readonly leases: string;
  readonly rate: string;
  readonly waiting: string;
}

/** `base`: prefix and service (src/queue/queue-names.ts). */
export function limiterKeys(base: string): LimiterKeys {
  return {
    hold: `${base}:retry-after`,
    series: `${base}:retry-after-series`,
    leases: `${base}:leases`,
    rate: `${base}:next-at`,
    waiting: `${base}:waiting`,
  };
}

/** How long a series is remembered after what it may be continued by: longer than an item waits for its next attempt. */
const seriesMs = 600_000;

/** Lua: `micros` and `now`, microseconds and milliseconds since 1970. `%.0f`: Lua's own text of them loses digits. */
const clock = `
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)`;

/**
 * Lua: the next time of sending that the rate leaves, and `wait`, the microseconds until then.
 */
const reservation = `
local next = math.max(tonumber(redis.call('GET', rateKey) or 0), micros)
wait = next - micros`;
/** Lua: takes that time. `interval`: microseconds between two requests. */
const keepReservation = `
redis.call('SET', rateKey, string.format('%.0f', next + interval), 'PX', math.ceil((wait + interval) / 1000) + 1000)`;

/** Answers of the admission. */
export const answers = { granted: 0, held: 1, full: 2, far: 3 } as const;

/**
 * KEYS: hold, leases, rate, waiting. ARGV: most leases, lease in ms, process, interval in microseconds (0 without a rate),
 * the longest wait in microseconds, number of tokens that ask for a lease, those tokens, then the tokens of leases that are
 * given back first, in any case. For each token in turn, takes a lease and reserves the time of sending, or neither.
 *
 * Returns an answer for each token that asks: {granted, microseconds until the request may be sent, whether another
 * process waits for a lease}, {held, now in ms, {until, asked, tooLong}}, {full}, or {far, milliseconds until a
 * reservation may be had}.
 */
export const admit = redisScript(`${clock}
local asking = tonumber(ARGV[6])
for place = 7 + asking, #ARGV do redis.call('ZREM', KEYS[2], ARGV[place]) end
local all = {}
if redis.call('EXISTS', KEYS[1]) == 1 then
  local held = {${answers.held}, now, redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')}
  for place = 1, asking do all[place] = held end
  return all
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local room = ARGV[1] - redis.call('ZCARD', KEYS[2])
local interval = tonumber(ARGV[4])
local waiting = redis.call('GET', KEYS[4])
local othersWait = (waiting and waiting ~= ARGV[3]) and 1 or 0
local rateKey = KEYS[3]
local isFull = false
for place = 1, asking do
  if room < 1 then
    isFull = true
    all[place] = {${answers.full}}
  else
    local wait = 0
    local isFar = false
    if interval > 0 then
      ${reservation}
      isFar = wait > tonumber(ARGV[5])
      if not isFar then ${keepReservation} end
    end
    if isFar then
      all[place] = {${answers.far}, math.ceil((wait - ARGV[5]) / 1000)}
    else
      redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[6 + place])
      redis.call('PEXPIRE', KEYS[2], ARGV[2])
      room = room - 1
      all[place] = {${answers.granted}, wait, othersWait}
    end
  end
end
if isFull then redis.call('SET', KEYS[4], ARGV[3], 'PX', 5000)
elseif waiting == ARGV[3] then redis.call('DEL', KEYS[4]) end
return all`);

/** KEYS: rate. ARGV: interval in microseconds. Returns the microseconds until the request may be sent. */
export const reserve = redisScript(`${clock}
local rateKey = KEYS[1]
local interval = tonumber(ARGV[1])
local wait = 0
${reservation}
${keepReservation}
return wait`);

/** KEYS: leases. ARGV: lease in ms, tokens. Extends only leases that have not expired. */
export const renew = redisScript(`${clock}
for place = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', now + ARGV[1], ARGV[place]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`);

/**
 * KEYS: hold, series. ARGV: ms that the service asks for, most ms. A shorter hold never replaces a longer one. It is too
 * long if it is longer than the most by itself, or with the holds before it since the service last answered otherwise.
 * Answers to requests of the same moment are one hold.
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

/** KEYS: hold, series. Returns as {@link hold}; the fields are null where there is no hold. */
export const readHold = redisScript(`${clock}
return {now, redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')}`);

/** KEYS: hold, series. Removes both, and returns the hold as {@link readHold} does: none can come in between. */
export const liftHold = redisScript(`${clock}
local lifted = redis.call('HMGET', KEYS[1], 'until', 'asked', 'tooLong')
redis.call('DEL', KEYS[1], KEYS[2])
return {now, lifted}`);
