/**
 * Watches a Redis that a worker cannot use: from the first fault on it tries a write, about once a second, until one
 * succeeds. Meanwhile the workers pause: BullMQ asks a Redis that answers with errors again and again without a pause
 * (docs/redis.md section 6).
 */
import type { OutageError } from '../../core/base/errors.ts';
import type { OutageRecord } from '../../core/base/outage.ts';
import { sleep } from '../../timers/sleep.ts';
import { impatientCopy, type RedisHandle } from './clients.ts';
import { redisOutage, refusalByRedis } from './fault.ts';
import { tryWrite } from './check.ts';

const tryEveryMs = 1_000;

/** A Redis that takes our write and refuses what the workers ask is asked by them less and less often. */
const sameTroubleMs = 10_000;
const longestPauseMs = 30_000;

interface RedisWatchContext {
  /** Copied: its own calls may wait for ever. */
  readonly redis: RedisHandle;
  readonly prefix: string;
  readonly outages: OutageRecord;
  readonly onDown: () => void;
  readonly onUp: () => void;
}

export class RedisWatch {
  readonly #context: RedisWatchContext;
  readonly #closed = new AbortController();
  #over: Promise<void> | undefined;
  #upAtMs = -Infinity;
  #pauseMs = tryEveryMs;

  constructor(context: RedisWatchContext) {
    this.#context = context;
  }

  get isDown(): boolean {
    return this.#over !== undefined;
  }

  /** Takes note of an error of a call; returns whether it is of a state of Redis that passes. */
  record(error: unknown): boolean {
    return this.#record(redisOutage(error));
  }

  /** Takes note of an error of a worker's own call, to which every refusal by Redis is a reason to pause. */
  recordOfWorker(error: Error): boolean {
    return this.#record(refusalByRedis(error));
  }

  /** Resolves when Redis takes writes again, or the signal aborts; at once where no trouble is known. */
  async over(signal: AbortSignal): Promise<void> {
    if (this.#over === undefined || signal.aborted) return;
    const waiting = new AbortController();
    const aborted = sleep(Infinity, { signal: AbortSignal.any([signal, waiting.signal]) });
    await Promise.race([this.#over, aborted.catch(() => undefined)]);
    waiting.abort();
  }

  close(): void {
    this.#closed.abort();
  }

  #record(outage: OutageError | undefined): boolean {
    if (outage === undefined) return false;
    if (this.#closed.signal.aborted) return true;
    this.#context.outages.down('redis', outage.message);
    if (this.#over === undefined) this.#begin();
    return true;
  }

  #begin(): void {
    const isSameTrouble = performance.now() - this.#upAtMs < sameTroubleMs;
    this.#pauseMs = isSameTrouble ? Math.min(2 * this.#pauseMs, longestPauseMs) : tryEveryMs;
    this.#context.onDown();
    this.#over = this.#tryUntilUp().then(() => {
      this.#over = undefined;
      this.#upAtMs = performance.now();
      if (this.#closed.signal.aborted) return;
      this.#context.outages.up('redis');
      this.#context.onUp();
    });
  }

  async #tryUntilUp(): Promise<void> {
    const { signal } = this.#closed;
    const { redis: handle, prefix, outages } = this.#context;
    const redis = impatientCopy(handle, tryEveryMs);
    let reason: string | undefined;
    redis.on('error', (error: Error) => (reason = redisOutage(error)?.message));
    try {
      for (let pauseMs = this.#pauseMs; ; pauseMs = tryEveryMs) {
        await sleep(pauseMs, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        try {
          await tryWrite(redis, prefix);
          return;
        } catch (error) {
          outages.down('redis', reason ?? redisOutage(error)?.message ?? 'Redis does not answer');
        }
      }
    } finally {
      redis.disconnect();
    }
  }
}

/**
 * Log lines of a trouble that comes again and again: one for each kind every ten seconds, with the number left out.
 */
const sameKindMs = 10_000;
/** Kinds that are remembered: errors have words of others in them. */
const mostKinds = 100;

interface Kind {
  readonly loggedAtMs: number;
  leftOut: number;
}

export class RepeatedLines {
  readonly #now: () => number;
  readonly #kinds = new Map<string, Kind>();

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Calls `tell` where the kind of the message was not told lately, with the number of those of its kind left out since. */
  log(message: string, log: (leftOut: number) => void): void {
    const kind = kindOf(message);
    const known = this.#kinds.get(kind);
    const now = this.#now();
    if (known !== undefined && now - known.loggedAtMs < sameKindMs) {
      known.leftOut += 1;
      return;
    }
    if (this.#kinds.size >= mostKinds) this.#kinds.clear();
    this.#kinds.set(kind, { loggedAtMs: now, leftOut: 0 });
    log(known?.leftOut ?? 0);
  }
}

/** A message without its ids, numbers and addresses. */
function kindOf(message: string): string {
  return message.replaceAll(/\S*\d\S*/g, '#').slice(0, 200);
}
