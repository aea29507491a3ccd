/** Keys and scripts of the limits towards the service in Redis (G9). */
import { inTheWayMs, mostFlows, waitingMs } from '../../admission.ts';
import { redisScript } from '../clients.ts';

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
 * A flow is what one process asks for a run: `RUN|PROCESS`. `base`: prefix and service (src/queue/redis/queue-names.ts).
 */
export function limiterKeys(base: string) {
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

export type LimiterKeys = ReturnType<typeof limiterKeys>;

/** Lua: `micros` and `now`, microseconds and milliseconds since 1970. */
export const clock = `
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local now = math.floor(micros / 1000)`;

// The scripts that give requests their leases, their turns among the runs, and their times of sending (G9).
//
// Turns: each flow has a tag, which counts the leases that it was given; who was given the fewest goes first. A flow that
// comes begins no further back than `lag` behind the one that is ahead, so that no run is owed what it did not ask for. A
// flow of this process may be `lag` leases ahead of a flow that waits in another process, which has to be woken first: the
// places are used meanwhile. A lease costs a flow as much as its run has flows that wait, so that a run on four hosts has
// the share of one run.
//
// Waking: whoever leaves a lease free adds a member to the set of the process whose flow is next, for which that process
// waits by BZPOPMIN.

/** Lua: the next time of sending that the rate leaves, and `wait`, the microseconds until then. */
const reservation = `
local next = math.max(tonumber(redis.call('GET', rateKey) or 0), micros)
wait = next - micros`;
/** Lua: takes that time. `interval`: microseconds between two requests. */
const keepReservation = `
redis.call('SET', rateKey, string.format('%.0f', next + interval), 'PX', math.ceil((wait + interval) / 1000) + 1000)`;

/** Answers of {@link admit}. */
export const answers = { admitted: 0, paused: 1, open: 2 } as const;

/** Why {@link admit} did not give every lease that was asked for. */
export const reasons = { none: 0, full: 1, turn: 2, far: 3 } as const;

/**
 * KEYS: hold, leases, rate, waiting, shares, circuit, failing, turn. ARGV: most leases, lease in ms, process, interval in
 * microseconds (0 without a rate), longest wait in microseconds, lag, whether the service has answered a request of this
 * process since it failed one (1 or 0), the number of tokens that may be used, those tokens, the number of flows, for each
 * its run and the number of leases that it wants (0: none any more), then the tokens of leases that are given back first, in any case.
 *
 * Returns {admitted, {position of the flow from 1, microseconds until the request may be sent, …}, reason, ms, 1}, with the
 * tokens used in their order, the reason why not all got a lease, the milliseconds until a reservation may be had if that
 * is `far`, and 1 if the circuit is open and the one request tries; {paused, now in ms, {until, asked, tooLong}}; or {open,
 * now in ms, {since, tryAt, fault}}.
 */
export const admit = redisScript(`${clock}
local holdKey, leasesKey, rateKey, waitingKey, sharesKey, circuitKey, failingKey, turnKey = unpack(KEYS)
local process, interval, lag = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[6])
local tokens, flows = tonumber(ARGV[8]), {}
local at = 9 + tokens
for number = 1, tonumber(ARGV[at]) do
  local run = ARGV[at + 2 * number - 1]
  flows[number] = {run = run, name = run .. '|' .. process, left = tonumber(ARGV[at + 2 * number])}
end
for spent = at + 2 * #flows + 1, #ARGV do redis.call('ZREM', leasesKey, ARGV[spent]) end
if ARGV[7] == '1' then redis.call('DEL', circuitKey, failingKey) end
if tokens > 0 and redis.call('EXISTS', holdKey) == 1 then
  return {${answers.paused}, now, redis.call('HMGET', holdKey, 'until', 'asked', 'tooLong')}
end

local circuit = redis.call('HMGET', circuitKey, 'since', 'tryAt', 'fault', 'trial')
local isTrial = circuit[1] and true or false
if isTrial and tokens > 0 then
  local ends = circuit[4] and redis.call('ZSCORE', leasesKey, circuit[4])
  local isTried = ends and tonumber(ends) > now
  if isTried or now < tonumber(circuit[2]) then return {${answers.open}, now, {circuit[1], circuit[2], circuit[3]}} end
  tokens = 1
end

redis.call('ZREMRANGEBYSCORE', leasesKey, '-inf', now)
redis.call('ZREMRANGEBYSCORE', waitingKey, '-inf', now)
local room = ARGV[1] - redis.call('ZCARD', leasesKey)
local ahead = tonumber(redis.call('ZSCORE', sharesKey, 'ahead') or 0)
local own, others, waits = {}, {}, {}
for _, flow in ipairs(flows) do own[flow.name] = flow; flow.cost = 1 end
for _, name in ipairs(redis.call('ZRANGE', waitingKey, 0, -1)) do
  waits[name] = true
  if not own[name] then
    local tag = tonumber(redis.call('ZSCORE', sharesKey, name) or ahead - lag)
    others[#others + 1] = {name = name, tag = tag}
    for _, flow in ipairs(flows) do
      if string.sub(name, 1, #flow.run + 1) == flow.run .. '|' then flow.cost = flow.cost + 1 end
    end
  end
end
for _, flow in ipairs(flows) do
  flow.tag = tonumber(redis.call('ZSCORE', sharesKey, flow.name) or ahead - lag)
  if not waits[flow.name] then flow.tag = math.max(flow.tag, ahead - lag) end
end

local granted, reason, delay, used = {}, ${reasons.none}, 0, 0
while used < tokens do
  local first, number
  for position, flow in ipairs(flows) do
    if flow.left > 0 and (not first or flow.tag < first.tag) then first, number = flow, position end
  end
  if not first then break end
  if room < 1 then reason = ${reasons.full} break end
  for _, other in ipairs(others) do
    if first.tag - other.tag >= lag then
      reason = ${reasons.turn}
      redis.call('ZADD', waitingKey, 'LT', now + ${inTheWayMs}, other.name)
    end
  end
  if reason == ${reasons.turn} then break end
  local wait = 0
  if interval > 0 then
    ${reservation}
    if wait > tonumber(ARGV[5]) then
      reason, delay = ${reasons.far}, math.ceil((wait - ARGV[5]) / 1000)
      break
    end
    ${keepReservation}
  end
  used = used + 1
  room = room - 1
  local token = ARGV[8 + used]
  redis.call('ZADD', leasesKey, now + ARGV[2], token)
  if isTrial then redis.call('HSET', circuitKey, 'trial', token) end
  granted[#granted + 1] = number
  granted[#granted + 1] = wait
  first.left = first.left - 1
  ahead = math.max(ahead, first.tag)
  first.tag = first.tag + first.cost
  first.isMoved = true
end

if room > 0 and reason ~= ${reasons.far} and not isTrial then
  local next
  for _, other in ipairs(others) do
    if not next or other.tag < next.tag then next = other end
  end
  if next then
    local turn = turnKey .. string.match(next.name, '[^|]*$')
    redis.call('ZADD', turn, 0, 'turn')
    redis.call('PEXPIRE', turn, ${waitingMs})
  end
end
if used > 0 then
  redis.call('PEXPIRE', leasesKey, ARGV[2])
  redis.call('ZADD', sharesKey, ahead, 'ahead')
  for _, flow in ipairs(flows) do
    if flow.isMoved then redis.call('ZADD', sharesKey, flow.tag, flow.name) end
  end
  redis.call('PEXPIRE', sharesKey, 3600000)
  if redis.call('ZCARD', sharesKey) > ${mostFlows} then
    redis.call('ZREMRANGEBYSCORE', sharesKey, '-inf', '(' .. (ahead - lag))
  end
end
for _, flow in ipairs(flows) do
  if flow.left > 0 then redis.call('ZADD', waitingKey, now + ${waitingMs}, flow.name)
  elseif waits[flow.name] then redis.call('ZREM', waitingKey, flow.name) end
end
redis.call('PEXPIRE', waitingKey, ${waitingMs})
return {${answers.admitted}, granted, reason, delay, isTrial and 1 or 0}`);

/**
 * KEYS: hold, circuit, leases. ARGV: token. Returns 1 if the request of a lease may still be sent: nothing holds requests
 * back since, and Redis has not lost the lease, as a failover may.
 */
export const mayStillGo = redisScript(`
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
  if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('HGET', KEYS[2], 'trial') ~= ARGV[1] then return 0 end
end
return redis.call('ZSCORE', KEYS[3], ARGV[1]) and 1 or 0`);

/** KEYS: rate. ARGV: interval in microseconds. Returns the microseconds until the request may be sent. */
export const reserve = redisScript(`${clock}
local rateKey = KEYS[1]
local interval = tonumber(ARGV[1])
local wait = 0
${reservation}
${keepReservation}
return wait`);

/**
 * KEYS: leases. ARGV: lease in ms, the number of tokens that cannot have expired, those, then tokens that may have. Extends
 * leases; adds those again that a failover of Redis lost, and none that expired: another request may have their places.
 */
export const renew = redisScript(`${clock}
local sure = tonumber(ARGV[2])
for index = 3, #ARGV do
  if index < 3 + sure then redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[index])
  else redis.call('ZADD', KEYS[1], 'XX', now + ARGV[1], ARGV[index]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`);
