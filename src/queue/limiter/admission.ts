/** Questions to Redis for leave to send a request, those of one moment together, and their answers. */
import { randomUUID } from 'node:crypto';
import type { RedisHandle } from '../redis/connection.ts';
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

interface Asker {
  readonly resolve: (answer: AdmissionAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** A reservation further ahead is refused, so that callers who give up have reserved little. */
const longestWaitMs = 30_000;

export class Admission {
  readonly #redis: RedisHandle;
  readonly #keys: LimiterKeys;
  readonly #limits: Limits;
  /** Microseconds between two requests; 0 without a rate. */
  readonly #interval: number;
  readonly #process = randomUUID();
  /** Leases to be given back. */
  readonly #spent: string[] = [];
  /** Those who ask, by their tokens, until their questions are sent. */
  #asked = new Map<string, Asker>();
  #isSending = false;

  constructor(redis: RedisHandle, keys: LimiterKeys, limits: Limits) {
    this.#redis = redis;
    this.#keys = keys;
    this.#limits = limits;
    const { requestsPerSecond } = limits;
    this.#interval = requestsPerSecond === undefined ? 0 : Math.ceil(1_000_000 / requestsPerSecond);
  }

  /** `token` names the lease. Questions of the same moment are one request to Redis: each of them costs a round trip. */
  ask(token: string): Promise<AdmissionAnswer> {
    return new Promise((resolve, reject) => {
      this.#asked.set(token, { resolve, reject });
      this.#sendSoon();
    });
  }

  /**
   * Gives a lease back, with the questions that are put at once. A question that was not sent yet is dropped. If this does
   * not reach Redis, the lease expires by itself.
   */
  giveBack(token: string): void {
    if (this.#asked.delete(token)) return;
    this.#spent.push(token);
    this.#sendSoon();
  }

  #sendSoon(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    setImmediate(() => {
      this.#isSending = false;
      const spent = this.#spent.splice(0);
      const asked = this.#asked;
      this.#asked = new Map();
      if (asked.size > 0) void this.#send(asked, spent);
      else if (spent.length > 0) this.#redis.zrem(this.#keys.leases, ...spent).catch(() => undefined);
    });
  }

  async #send(asked: ReadonlyMap<string, Asker>, spent: readonly string[]): Promise<void> {
    const { hold: held, leases, rate, waiting } = this.#keys;
    const { concurrency, leaseMs } = this.#limits;
    const limits = [concurrency, leaseMs, this.#process, this.#interval, longestWaitMs * 1_000];
    const values = [...limits, asked.size, ...asked.keys(), ...spent];
    try {
      const all = (await runScript(this.#redis, admit, [held, leases, rate, waiting], values)) as readonly unknown[];
      for (const [place, { resolve }] of [...asked.values()].entries()) resolve(answerOf(all[place]));
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
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
