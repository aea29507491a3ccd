/** One question to Redis for leave to send a request, and its answer. */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ServiceHold } from '../../core/run/service-hold.ts';
import { runScript } from './redis-script.ts';
import { admit, answers, hold, type LimiterKeys, reserve } from './scripts.ts';
import { type HoldFields, holdOf } from './service-hold-store.ts';

export interface Limits {
  /** Requests under way at one time. */
  readonly concurrency: number;
  /** Undefined for no limit. */
  readonly requestsPerSecond: number | undefined;
  /** How long the place of a dead worker stays taken. */
  readonly leaseMs: number;
}

export type AdmissionAnswer =
  /** The lease is taken; the request may be sent after `waitMs`. */
  | { readonly kind: 'granted'; readonly waitMs: number; readonly othersWait: boolean }
  | { readonly kind: 'held'; readonly hold: ServiceHold }
  /** Every lease is taken. */
  | { readonly kind: 'full' }
  /** The rate leaves no time of sending within the longest wait; there is one after `delayMs`. */
  | { readonly kind: 'far'; readonly delayMs: number };

/** A reservation further ahead is refused, so that callers who give up have reserved little. */
const longestWaitMs = 30_000;

export class Admission {
  readonly #redis: Redis;
  readonly #keys: LimiterKeys;
  readonly #limits: Limits;
  /** Microseconds between two requests; 0 without a rate. */
  readonly #interval: number;
  readonly #process = randomUUID();
  /** Leases to be given back. */
  readonly #spent: string[] = [];

  constructor(redis: Redis, keys: LimiterKeys, limits: Limits) {
    this.#redis = redis;
    this.#keys = keys;
    this.#limits = limits;
    const { requestsPerSecond } = limits;
    this.#interval = requestsPerSecond === undefined ? 0 : Math.ceil(1_000_000 / requestsPerSecond);
  }

  /** `token` names the lease. */
  async ask(token: string): Promise<AdmissionAnswer> {
    const spent = this.#spent.splice(0);
    const { hold: held, leases, rate, waiting } = this.#keys;
    const { concurrency, leaseMs } = this.#limits;
    const values = [concurrency, leaseMs, token, this.#process, this.#interval, longestWaitMs * 1_000, ...spent];
    return answerOf(await runScript(this.#redis, admit, [held, leases, rate, waiting], values));
  }

  /**
   * Gives a lease back, with the question for the next one where that is put at once: it is then one request to Redis,
   * not two. If it does not reach Redis, the lease expires by itself.
   */
  giveBack(token: string): void {
    this.#spent.push(token);
    if (this.#spent.length > 1) return;
    setImmediate(() => {
      const spent = this.#spent.splice(0);
      if (spent.length > 0) this.#redis.zrem(this.#keys.leases, ...spent).catch(() => undefined);
    });
  }

  /** Another time of sending for a request that missed its own: the milliseconds until then. */
  async reserveAgain(): Promise<number> {
    return Number(await runScript(this.#redis, reserve, [this.#keys.rate], [this.#interval])) / 1_000;
  }

  async isHeld(): Promise<boolean> {
    return (await this.#redis.exists(this.#keys.hold)) === 1;
  }

  /** Whether a lease seems to be free: those of dead workers count as taken. */
  async hasRoom(): Promise<boolean> {
    return (await this.#redis.zcard(this.#keys.leases)) < this.#limits.concurrency;
  }

  /** Records a Retry-After. Returns the hold that all workers are under now. */
  async holdAll(askedMs: number, maxHoldMs: number): Promise<ServiceHold> {
    const keys = [this.#keys.hold, this.#keys.series];
    const [nowMs, fields] = (await runScript(this.#redis, hold, keys, [askedMs, maxHoldMs])) as [number, HoldFields];
    const held = holdOf(fields, nowMs);
    if (held === undefined) throw new Error('a hold that was just recorded is gone');
    return held;
  }
}

/** Throws for an answer that the script does not give. */
function answerOf(answer: unknown): AdmissionAnswer {
  const [kind, value, detail] = answer as readonly [number, number, unknown];
  if (kind === answers.granted) return { kind: 'granted', waitMs: value / 1_000, othersWait: detail === 1 };
  if (kind === answers.far) return { kind: 'far', delayMs: value };
  const held = kind === answers.held ? holdOf(detail as HoldFields, value) : undefined;
  return held === undefined ? { kind: 'full' } : { kind: 'held', hold: held };
}
