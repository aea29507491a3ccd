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
