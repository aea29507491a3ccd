/**
 * The board of a run in Redis: its live state, which only moves forward, so that a worker that lost its lock cannot undo
 * anything (QUEUE.md). The warehouse has the truth; the board may be lost.
 *
 *   PREFIX:run:ID          hash: state, round, queue, figures, `count:NAME`, `unit:ORDINAL` under way, halt
 *   PREFIX:run:ID:settled  bitmap by unit      PREFIX:run:ID:ended  bitmap by chunk
 *   PREFIX:run:ID:chunks   list of the chunks to work, in order
 */
import type { Redis } from 'ioredis';
import { addCounts, type Counts, type RunState } from '../core/run.ts';
import type { BoardState, ChunkQueueName, Halt, RunBoard, UnitProgress } from './port.ts';

/** A finished board is kept this long, for those who still look at it. */
const keepFinishedSeconds = 24 * 3_600;

/** KEYS: hash, settled bitmap. ARGV: now, [{unit, counts}] as JSON. Counts a unit once, however often it is said. */
const settleScript = `
if redis.call('HEXISTS', KEYS[1], 'units') == 0 then return 0 end
for _, outcome in ipairs(cjson.decode(ARGV[2])) do
  if redis.call('SETBIT', KEYS[2], outcome.unit, 1) == 0 then
    redis.call('HINCRBY', KEYS[1], 'settledUnits', 1)
    redis.call('HDEL', KEYS[1], 'unit:' .. outcome.unit)
    for name, value in pairs(outcome.counts) do redis.call('HINCRBY', KEYS[1], 'count:' .. name, value) end
  end
end
redis.call('HSET', KEYS[1], 'movedAtMs', ARGV[1])
return 1`;

/** KEYS: hash, settled bitmap. ARGV: now, unit, how far, as JSON. What lies behind what was told is left out. */
const progressScript = `
if redis.call('HEXISTS', KEYS[1], 'units') == 0 or redis.call('GETBIT', KEYS[2], ARGV[2]) == 1 then return 0 end
local told = redis.call('HGET', KEYS[1], 'unit:' .. ARGV[2])
if told and cjson.decode(told).done > cjson.decode(ARGV[3]).done then return 0 end
redis.call('HSET', KEYS[1], 'unit:' .. ARGV[2], ARGV[3], 'movedAtMs', ARGV[1])
return 1`;

/** KEYS: hash, ended bitmap. ARGV: now, chunk. */
const endChunkScript = `
if redis.call('HEXISTS', KEYS[1], 'units') == 0 then return 0 end
if redis.call('SETBIT', KEYS[2], ARGV[2], 1) == 0 then redis.call('HINCRBY', KEYS[1], 'chunksEnded', 1) end
redis.call('HSET', KEYS[1], 'movedAtMs', ARGV[1])
return 1`;

/** KEYS: hash. ARGV: chunks added by now. A slower conductor cannot take it back. */
const addedScript = `
local added = tonumber(redis.call('HGET', KEYS[1], 'chunksAdded') or '0')
if tonumber(ARGV[1]) > added then redis.call('HSET', KEYS[1], 'chunksAdded', ARGV[1]) end
return 1`;

export interface RedisRunBoard extends RunBoard {
  /** The next chunks that were not added, at most `limit`, and how many will have been added with them. */
  nextChunks(runId: string, limit: number): Promise<{ readonly chunks: readonly number[]; readonly addedThen: number }>;
  noteAdded(runId: string, addedThen: number): Promise<void>;
  /** The chunks that were added and have not ended. */
  chunksInFlight(runId: string): Promise<readonly number[]>;
}

export function createRunBoard(redis: Redis, prefix: string): RedisRunBoard {
  const hashOf = (runId: string): string => `${prefix}:run:${runId}`;
  const settledOf = (runId: string): string => `${hashOf(runId)}:settled`;
  const endedOf = (runId: string): string => `${hashOf(runId)}:ended`;
  const chunksOf = (runId: string): string => `${hashOf(runId)}:chunks`;

  return {
    async read(runId) {
      const fields = await redis.hgetall(hashOf(runId));
      return Object.keys(fields).length === 0 ? undefined : stateOf(fields);
    },

    async open(runId, start) {
      const halt = await redis.hget(hashOf(runId), 'halt');
      const counts = Object.entries(start.counts).map(([name, value]) => [`count:${name}`, value] as const);
      const transaction = redis
        .multi()
        .del(hashOf(runId), settledOf(runId), endedOf(runId), chunksOf(runId))
        .hset(hashOf(runId), {
          state: 'running',
          round: start.round,
          queue: start.queue,
          units: start.units,
          settledUnits: start.settledUnits,
          chunks: start.chunks.length,
          chunksAdded: 0,
          chunksEnded: 0,
          movedAtMs: Date.now(),
          ...Object.fromEntries(counts),
          ...(halt === null ? {} : { halt }),
        });
      if (start.chunks.length > 0) transaction.rpush(chunksOf(runId), ...start.chunks);
      await transaction.exec();
    },

    async settle(runId, outcomes) {
      if (outcomes.length === 0) return;
      const said = JSON.stringify(outcomes.map(({ unit, counts }) => ({ unit, counts })));
      await redis.eval(settleScript, 2, hashOf(runId), settledOf(runId), Date.now(), said);
    },

    async progress(runId, progress) {
      const said = JSON.stringify(progress);
      await redis.eval(progressScript, 2, hashOf(runId), settledOf(runId), Date.now(), progress.unit, said);
    },

    async endChunk(runId, chunk) {
      await redis.eval(endChunkScript, 2, hashOf(runId), endedOf(runId), Date.now(), chunk);
    },

    async halt(runId, halt) {
      await redis.hsetnx(hashOf(runId), 'halt', JSON.stringify(halt));
    },

    async finish(runId, state) {
      await redis.hset(hashOf(runId), { state, movedAtMs: Date.now() });
      for (const key of [hashOf(runId), settledOf(runId), endedOf(runId), chunksOf(runId)]) {
        await redis.expire(key, keepFinishedSeconds);
      }
    },

    async forget(runId) {
      await redis.del(hashOf(runId), settledOf(runId), endedOf(runId), chunksOf(runId));
    },

    async nextChunks(runId, limit) {
      const added = Number((await redis.hget(hashOf(runId), 'chunksAdded')) ?? 0);
      const chunks = await redis.lrange(chunksOf(runId), added, added + limit - 1);
      return { chunks: chunks.map(Number), addedThen: added + chunks.length };
    },

    async noteAdded(runId, addedThen) {
      await redis.eval(addedScript, 1, hashOf(runId), addedThen);
    },

    async chunksInFlight(runId) {
      const added = Number((await redis.hget(hashOf(runId), 'chunksAdded')) ?? 0);
      if (added === 0) return [];
      const chunks = await redis.lrange(chunksOf(runId), 0, added - 1);
      const ended = await redis.getBuffer(endedOf(runId));
      return chunks.map(Number).filter((chunk) => !hasBit(ended, chunk));
    },
  };
}

function stateOf(fields: Record<string, string>): BoardState {
  const figure = (name: string): number => Number(fields[name] ?? 0);
  let counts: Counts = {};
  const underWay: UnitProgress[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith('count:')) counts = addCounts(counts, { [name.slice('count:'.length)]: Number(value) });
    if (name.startsWith('unit:')) underWay.push(JSON.parse(value) as UnitProgress);
  }
  return {
    // A board that has nothing but a halt was not opened yet.
    state: (fields['state'] ?? 'queued') as RunState,
    round: figure('round'),
    queue: (fields['queue'] ?? 'export') as ChunkQueueName,
    units: figure('units'),
    settledUnits: figure('settledUnits'),
    counts: underWay.reduce((sum, unit) => addCounts(sum, unit.counts), counts),
    underWay,
    chunks: figure('chunks'),
    chunksAdded: figure('chunksAdded'),
    chunksEnded: figure('chunksEnded'),
    halt: fields['halt'] === undefined ? undefined : (JSON.parse(fields['halt']) as Halt),
    movedAtMs: figure('movedAtMs'),
  };
}

/** Redis counts bits from the most significant one of the first byte. */
function hasBit(bitmap: Buffer | null, position: number): boolean {
  const byte = bitmap?.[position >> 3] ?? 0;
  return (byte & (0x80 >> (position & 7))) !== 0;
}
