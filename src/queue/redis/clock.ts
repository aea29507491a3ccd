/**
 * Lua: `now`, milliseconds since 1970 by the clock of Redis. Times that hosts compare through Redis use it, so that
 * their own clocks need not agree (docs/design.md section 5).
 */
export const redisNow = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)`;
