/**
 * Starts of work that did not end, in Redis: what is left of a worker that died. A hash by run, with `chunk:N` and
 * `unit:N`; an end removes its field.
 */
import type { RedisHandle } from './redis/options.ts';
import type { ItemStartStore, StartedWork } from './port.ts';

/** As long as a finished progress is kept, in case the run ended meanwhile. */
const keepSeconds = 24 * 3_600;

/** Deleted together with the progress of the run. */
export function startsKey(prefix: string, runId: string): string {
  return `${prefix}:run:${runId}:starts`;
}

export class RedisItemStarts implements ItemStartStore {
  readonly #redis: RedisHandle;
  readonly #prefix: string;

  constructor(redis: RedisHandle, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  async begin(runId: string, work: StartedWork): Promise<number> {
    const key = startsKey(this.#prefix, runId);
    const starts = await this.#redis.hincrby(key, fieldOf(work), 1);
    await this.#redis.expire(key, keepSeconds);
    return starts - 1;
  }

  async end(runId: string, work: StartedWork): Promise<void> {
    await this.#redis.hdel(startsKey(this.#prefix, runId), fieldOf(work));
  }

  async ofUnits(runId: string): Promise<ReadonlyMap<number, number>> {
    const fields = await this.#redis.hgetall(startsKey(this.#prefix, runId));
    const units = Object.entries(fields).filter(([field]) => field.startsWith('unit:'));
    return new Map(units.map(([field, starts]) => [Number(field.slice('unit:'.length)), Number(starts)]));
  }
}

function fieldOf(work: StartedWork): string {
  return 'chunk' in work ? `chunk:${work.chunk}` : `unit:${work.unit}`;
}
