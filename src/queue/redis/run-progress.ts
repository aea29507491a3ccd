/**
 * The progress of a run in Redis: its live state. It only moves forward, so that a worker that lost its lock cannot undo
 * anything (docs/queue.md section 4). It may be lost: the warehouse holds the durable state.
 *
 *   PREFIX:run:ID          hash: state, round, queue, figures, `count:NAME`, `unit:ORDINAL` under way, `read:ORDINAL`,
 *                          stopRequest
 *   PREFIX:run:ID:settled  bitmap by unit      PREFIX:run:ID:ended  bitmap by chunk
 *   PREFIX:run:ID:chunks   list of the chunks to work, in order
 */
import type { ChunkQueueName } from '../../core/run/job-description.ts';
import { addCounts, type Counts, type RunState } from '../../core/run/run.ts';
import type {
  ItemStartStore,
  RunLogStore,
  RunProgress,
  RunProgressStore,
  StartedWork,
  StopRequest,
  UnitProgress,
  UnitReading,
} from '../port.ts';
import { type RedisHandle, redisNow, type RedisScript, redisScript, runScript } from './clients.ts';

/** A finished progress is kept this long, for commands that still follow it. */
const keepFinishedSeconds = 24 * 3_600;

/** Lua: a bitmap that is written to after its run has ended goes with the rest of the progress. */
const endsWithProgress = `
local leftMs = redis.call('PTTL', KEYS[1])
if leftMs > 0 then redis.call('PEXPIRE', KEYS[2], leftMs) end`;

/**
 * KEYS: hash, settled bitmap, ended bitmap, chunks, starts. ARGV: the fields of the hash as JSON, the chunks as JSON. Keeps the
 * stop request that is there, in one step with all else: none that was answered is lost.
 */
const openScript = redisScript(`
local stopRequest = redis.call('HGET', KEYS[1], 'stopRequest')
redis.call('DEL', unpack(KEYS))
for name, value in pairs(cjson.decode(ARGV[1])) do redis.call('HSET', KEYS[1], name, value) end
if stopRequest then redis.call('HSET', KEYS[1], 'stopRequest', stopRequest) end
for _, chunk in ipairs(cjson.decode(ARGV[2])) do redis.call('RPUSH', KEYS[4], chunk) end
${redisNow}
redis.call('HSET', KEYS[1], 'movedAtMs', now)
return 1`);

/** KEYS: all of a progress. Deletes it but for a stop request. */
const restartScript = redisScript(`
local stopRequest = redis.call('HGET', KEYS[1], 'stopRequest')
redis.call('DEL', unpack(KEYS))
if stopRequest then redis.call('HSET', KEYS[1], 'stopRequest', stopRequest) end
return 1`);

/** KEYS: hash, settled bitmap. ARGV: [{unit, counts}] as JSON. Counts a unit once, however often it is reported. */
const settleScript = redisScript(`
if redis.call('HEXISTS', KEYS[1], 'units') == 0 then return 0 end
local sums = {}
for _, outcome in ipairs(cjson.decode(ARGV[1])) do
  if redis.call('SETBIT', KEYS[2], outcome.unit, 1) == 0 then
    redis.call('HINCRBY', KEYS[1], 'settledUnits', 1)
    redis.call('HDEL', KEYS[1], 'unit:' .. outcome.unit, 'read:' .. outcome.unit)
    for name, value in pairs(outcome.counts) do sums[name] = (sums[name] or 0) + value end
  end
end
for name, value in pairs(sums) do redis.call('HINCRBY', KEYS[1], 'count:' .. name, string.format('%.0f', value)) end
${endsWithProgress}
${redisNow}
redis.call('HSET', KEYS[1], 'movedAtMs', now)
return 1`);

/** KEYS: hash, settled bitmap. ARGV: unit, its progress as JSON. Ignores progress behind the recorded one. */
const progressScript = redisScript(`
if redis.call('HEXISTS', KEYS[1], 'units') == 0 or redis.call('GETBIT', KEYS[2], ARGV[1]) == 1 then return 0 end
local known = redis.call('HGET', KEYS[1], 'unit:' .. ARGV[1])
if known and cjson.decode(known).done > cjson.decode(ARGV[2]).done then return 0 end
${redisNow}
redis.call('HSET', KEYS[1], 'unit:' .. ARGV[1], ARGV[2], 'movedAtMs', now)
return 1`);

/** KEYS: hash, settled bitmap. ARGV: the readings as JSON. It is no movement of the run: nothing of it is durable. */
const readingsScript = redisScript(`
if redis.call('HEXISTS', KEYS[1], 'units') == 0 then return 0 end
for _, reading in ipairs(cjson.decode(ARGV[1])) do
  local field = 'read:' .. reading.unit
  local known = redis.call('HGET', KEYS[1], field)
  local isBehind = known and cjson.decode(known).rows > reading.rows
  if not isBehind and redis.call('GETBIT', KEYS[2], reading.unit) == 0 then
    redis.call('HSET', KEYS[1], field, cjson.encode(reading))
  end
end
return 1`);

/**
 * KEYS: hash, ended bitmap, chunks. ARGV: chunk. Returns 1 if every chunk has ended. A chunk that the progress was opened
 * without, since its units had their outcomes by then, does not count: an item of before may end late.
 */
const endChunkScript = redisScript(`
if redis.call('HEXISTS', KEYS[1], 'units') == 0 or not redis.call('LPOS', KEYS[3], ARGV[1]) then return 0 end
if redis.call('SETBIT', KEYS[2], ARGV[1], 1) == 0 then redis.call('HINCRBY', KEYS[1], 'chunksEnded', 1) end
${endsWithProgress}
${redisNow}
redis.call('HSET', KEYS[1], 'movedAtMs', now)
if redis.call('HGET', KEYS[1], 'chunksEnded') == redis.call('HGET', KEYS[1], 'chunks') then return 1 end
return 0`);

const movedScript = redisScript(`
${redisNow}
return redis.call('HSET', KEYS[1], 'movedAtMs', now)`);

/** KEYS: hash. Returns its fields, and the milliseconds since it moved. */
const readScript = redisScript(`
${redisNow}
return { redis.call('HGETALL', KEYS[1]), now - (redis.call('HGET', KEYS[1], 'movedAtMs') or now) }`);

/** KEYS: hash. ARGV: number of chunks added so far. A slower coordinator cannot lower it. */
const addedScript = redisScript(`
local added = tonumber(redis.call('HGET', KEYS[1], 'chunksAdded') or '0')
if tonumber(ARGV[1]) > added then redis.call('HSET', KEYS[1], 'chunksAdded', ARGV[1]) end
return 1`);

export class RedisRunProgress implements RunProgressStore {
  readonly #redis: RedisHandle;
  readonly #prefix: string;

  constructor(redis: RedisHandle, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  async read(runId: string): Promise<RunProgress | undefined> {
    const [pairs, unmovedMs] = (await runScript(this.#redis, readScript, [this.#keysOf(runId).hash])) as [
      string[],
      number,
    ];
    return pairs.length === 0 ? undefined : stateOf(fieldsOf(pairs), unmovedMs);
  }

  async open(runId: string, start: Parameters<RunProgressStore['open']>[1]): Promise<void> {
    const { queue, generation, units, settledUnits, counts, chunks } = start;
    const figures = {
      round: generation,
      queue,
      units,
      settledUnits,
      chunks: chunks.length,
      chunksAdded: 0,
      chunksEnded: 0,
    };
    const sums = Object.entries(counts).map(([name, value]) => [`count:${name}`, value] as const);
    // As texts: a number of Lua loses digits on its way into a hash.
    const fields = Object.entries({ state: 'running', ...figures, ...Object.fromEntries(sums) });
    const texts = Object.fromEntries(fields.map(([name, value]) => [name, String(value)]));
    const values = [JSON.stringify(texts), JSON.stringify(chunks)];
    await runScript(this.#redis, openScript, this.#keysOf(runId).ofProgress, values);
  }

  async settle(runId: string, outcomes: Parameters<RunProgressStore['settle']>[1]): Promise<void> {
    if (outcomes.length === 0) return;
    const json = JSON.stringify(outcomes.map(({ unit, counts }) => ({ unit, counts })));
    await this.#onUnits(runId, settleScript, [json]);
  }

  async advance(runId: string, progress: UnitProgress): Promise<void> {
    const json = JSON.stringify(progress);
    await this.#onUnits(runId, progressScript, [progress.unit, json]);
  }

  async recordReadings(runId: string, readings: readonly UnitReading[]): Promise<void> {
    const json = JSON.stringify(readings);
    await this.#onUnits(runId, readingsScript, [json]);
  }

  async endChunk(runId: string, chunk: number): Promise<boolean> {
    const { hash, ended, chunks } = this.#keysOf(runId);
    return (await runScript(this.#redis, endChunkScript, [hash, ended, chunks], [chunk])) === 1;
  }

  async requestStop(runId: string, stopRequest: StopRequest): Promise<void> {
    await this.#redis.hsetnx(this.#keysOf(runId).hash, 'stopRequest', JSON.stringify(stopRequest));
  }

  async finish(runId: string, state: RunState): Promise<void> {
    const { hash, ofProgress } = this.#keysOf(runId);
    await this.#redis.hset(hash, { state });
    await runScript(this.#redis, movedScript, [hash]);
    for (const key of ofProgress) await this.#redis.expire(key, keepFinishedSeconds);
  }

  async forget(runId: string): Promise<void> {
    await this.#redis.del(...this.#keysOf(runId).ofProgress);
  }

  async restart(runId: string): Promise<void> {
    await runScript(this.#redis, restartScript, this.#keysOf(runId).ofProgress);
  }

  /** The next chunks that were not added, at most `limit`, and the number of added chunks including them. */
  async nextChunks(
    runId: string,
    limit: number,
  ): Promise<{ readonly chunks: readonly number[]; readonly cursor: number }> {
    const added = await this.#chunksAdded(runId);
    const chunks = await this.#redis.lrange(this.#keysOf(runId).chunks, added, added + limit - 1);
    return { chunks: chunks.map(Number), cursor: added + chunks.length };
  }

  async recordAdded(runId: string, cursor: number): Promise<void> {
    await runScript(this.#redis, addedScript, [this.#keysOf(runId).hash], [cursor]);
  }

  /** The chunks that were added and have not ended. */
  async chunksInFlight(runId: string): Promise<readonly number[]> {
    const keys = this.#keysOf(runId);
    const added = await this.#chunksAdded(runId);
    if (added === 0) return [];
    const chunks = await this.#redis.lrange(keys.chunks, 0, added - 1);
    const ended = await this.#redis.getBuffer(keys.ended);
    return chunks.map(Number).filter((chunk) => !hasBit(ended, chunk));
  }

  async #chunksAdded(runId: string): Promise<number> {
    return Number((await this.#redis.hget(this.#keysOf(runId).hash, 'chunksAdded')) ?? 0);
  }

  async #onUnits(runId: string, script: RedisScript, values: ReadonlyArray<string | number>): Promise<void> {
    const { hash, settled } = this.#keysOf(runId);
    await runScript(this.#redis, script, [hash, settled], values);
  }

  #keysOf(runId: string) {
    return runKeys(this.#prefix, runId);
  }
}

/** The keys of a run; those of its progress are deleted together. */
function runKeys(prefix: string, runId: string) {
  const hash = `${prefix}:run:${runId}`;
  const [settled, ended, chunks, starts] = [`${hash}:settled`, `${hash}:ended`, `${hash}:chunks`, `${hash}:starts`];
  return {
    hash,
    settled,
    ended,
    chunks,
    starts,
    ofProgress: [hash, settled, ended, chunks, starts],
    log: `${hash}:log`,
  };
}

/** Alternating names and values, as HGETALL returns them to a script. */
function fieldsOf(pairs: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let index = 0; index < pairs.length; index += 2) fields[pairs[index] as string] = pairs[index + 1] as string;
  return fields;
}

function stateOf(fields: Record<string, string>, unmovedMs: number): RunProgress {
  const figure = (name: string): number => Number(fields[name] ?? 0);
  let counts: Counts = {};
  const underWay: UnitProgress[] = [];
  const reading: UnitReading[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith('count:')) counts = addCounts(counts, { [name.slice('count:'.length)]: Number(value) });
    if (name.startsWith('unit:')) underWay.push(JSON.parse(value) as UnitProgress);
    if (name.startsWith('read:')) reading.push(JSON.parse(value) as UnitReading);
  }
  return {
    // A progress with nothing but a stop request has not been opened yet.
    state: (fields['state'] ?? 'queued') as RunState,
    generation: figure('round'),
    queue: (fields['queue'] ?? 'export') as ChunkQueueName,
    units: figure('units'),
    settledUnits: figure('settledUnits'),
    counts: underWay.reduce((sum, unit) => addCounts(sum, unit.counts), counts),
    underWay,
    reading,
    chunks: figure('chunks'),
    chunksAdded: figure('chunksAdded'),
    chunksEnded: figure('chunksEnded'),
    stopRequest: fields['stopRequest'] === undefined ? undefined : (JSON.parse(fields['stopRequest']) as StopRequest),
    unmovedMs,
  };
}

/** Redis counts bits from the most significant one of the first byte. */
function hasBit(bitmap: Buffer | null, position: number): boolean {
  const byte = bitmap?.[position >> 3] ?? 0;
  return (byte & (0x80 >> (position & 7))) !== 0;
}

/**
 * The last lines of the log about each run, from whatever process wrote them, for displays (docs/design.md section 11).
 * They may be lost: the log of each process is the whole one.
 *
 *   PREFIX:run:ID:log   list of JSON lines, the latest last
 */
const mostLines = 200;
const keepSeconds = 7 * 24 * 3_600;

export function createRunLogStore(redis: RedisHandle, prefix: string): RunLogStore {
  const keyOf = (runId: string): string => runKeys(prefix, runId).log;
  return {
    async append(runId, lines) {
      if (lines.length === 0) return;
      const key = keyOf(runId);
      await redis.rpush(key, ...lines);
      await redis.ltrim(key, -mostLines, -1);
      await redis.expire(key, keepSeconds);
    },
    read: (runId) => redis.lrange(keyOf(runId), 0, -1),
  };
}

// Starts of work that did not end, in Redis: what is left of a worker that died. A hash by run, with `chunk:N` and
// `unit:N`; an end removes its field.

/** As long as a finished progress is kept, in case the run ended meanwhile. */
const keepStartsSeconds = 24 * 3_600;

export function createItemStarts(redis: RedisHandle, prefix: string): ItemStartStore {
  const keyOf = (runId: string): string => runKeys(prefix, runId).starts;
  return {
    async begin(runId, work) {
      const starts = await redis.hincrby(keyOf(runId), fieldOf(work), 1);
      await redis.expire(keyOf(runId), keepStartsSeconds);
      return starts - 1;
    },
    async end(runId, work) {
      await redis.hdel(keyOf(runId), fieldOf(work));
    },
    async ofUnits(runId) {
      const fields = Object.entries(await redis.hgetall(keyOf(runId)));
      const units = fields.filter(([field]) => field.startsWith('unit:'));
      return new Map(units.map(([field, starts]) => [Number(field.slice('unit:'.length)), Number(starts)]));
    },
  };
}

function fieldOf(work: StartedWork): string {
  return 'chunk' in work ? `chunk:${work.chunk}` : `unit:${work.unit}`;
}
