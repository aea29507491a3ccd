/**
 * Limits for the service across all workers together (G9): concurrent requests as leases in Redis, requests per second
 * paced without bursts, and the hold that a Retry-After puts on all.
 *
 *   place in this process -> lease, and with it a time of sending -> wait for that time -> send
 */
import { randomUUID } from 'node:crypto';
import type { RedisHandle } from '../redis/connection.ts';
import { heldBack, type ServiceHold, ToldHolds } from '../../core/run/service-hold.ts';
import { limitsKey, type QueueAddress } from '../queue-names.ts';
import { connectRedis } from '../redis/connection.ts';
import { withOutages } from '../redis/fault.ts';
import { orAbort, pause } from './abortable-wait.ts';
import { Admission } from './admission.ts';
import { Door } from './door.ts';
import { runScript } from './redis-script.ts';
import { limiterKeys, type LimiterKeys, renew } from './scripts.ts';
import { type Leave, Turnstile } from './turnstile.ts';

/** Short, so that a killed worker does not delay the others (G7). */
const defaultLeaseMs = 10_000;

/** A request that is later than this has missed its time of sending: the next ones have theirs by now. */
const latestMs = 40;
/** A process that is always late sends all the same. */
const mostReservations = 3;

const neverStopping = new AbortController().signal;

export interface LimiterSettings extends QueueAddress {
  readonly concurrency: number;
  readonly requestsPerSecond?: number;
  /** How long the place of a dead worker stays taken; a living worker renews its leases. */
  readonly leaseMs?: number;
  /** The longest hold, whatever the service asks for. */
  readonly maxHoldMs: number;
  /** The longest hold that a request of this process waits for; by default the longest of all. */
  readonly maxWaitMs?: number;
  /** Ends the waits for the end of a hold, with AbortedError: work that stops has no use for it. */
  readonly stopping?: AbortSignal;
  /** Called for a hold that is worth telling. */
  readonly onHold?: (hold: ServiceHold) => void;
}

/**
 * Throws UnreachableError('redis') if Redis does not answer now; waits out later outages. Calls throw
 * OutageError('redis') while Redis answers with errors.
 */
export async function createLimiter(settings: LimiterSettings): Promise<SharedLimiter> {
  return withOutages(new SharedLimiter(await connectRedis(settings.redis, 'lasting'), settings));
}

/** Implements the port `RequestLimiter` of src/service. */
export class SharedLimiter {
  readonly #redis: RedisHandle;
  readonly #settings: LimiterSettings;
  readonly #leaseMs: number;
  readonly #keys: LimiterKeys;
  readonly #admission: Admission;
  readonly #door: Door;
  readonly #turnstile: Turnstile;
  readonly #told = new ToldHolds();
  /** Tokens of this process's leases. */
  readonly #leases = new Set<string>();
  readonly #renewal: NodeJS.Timeout;
  /** Whether this process met a hold since the service last answered. */
  #metHold = false;

  constructor(redis: RedisHandle, settings: LimiterSettings) {
    const { concurrency, requestsPerSecond, leaseMs = defaultLeaseMs, stopping = neverStopping } = settings;
    this.#redis = redis;
    this.#settings = settings;
    this.#leaseMs = leaseMs;
    this.#keys = limiterKeys(limitsKey(settings));
    this.#admission = new Admission(redis, this.#keys, { concurrency, requestsPerSecond, leaseMs });
    this.#door = new Door(concurrency);
    this.#turnstile = new Turnstile(this.#admission, { onHold: (hold) => this.#meet(hold), stopping });
    this.#renewal = setInterval(() => this.#renew(), leaseMs / 3);
    this.#renewal.unref();
  }

  /**
   * Resolves with the function that releases the place. Throws AbortedError if the signal aborts first, and
   * ServiceHoldError for a hold that a request of this process does not wait for.
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    const leaveDoor = await this.#door.enter(signal);
    const token = randomUUID();
    const leave = (): void => {
      leaveDoor();
      this.#release(token);
    };
    try {
      for (;;) {
        const leaveToSend = await this.#turnstile.pass(token, signal);
        this.#leases.add(token);
        if (await this.#waitUntilDue(leaveToSend, signal)) return leave;
        this.#release(token);
      }
    } catch (error) {
      // The lease may have been granted after the caller left.
      leave();
      throw error;
    }
  }

  /**
   * Keeps all workers from sending for `askedMs`, as a Retry-After demands, but never longer than `maxHoldMs`. Throws
   * ServiceHoldError as `enter` does.
   */
  async pauseAll(askedMs: number): Promise<void> {
    if (askedMs >= 1) this.#meet(await this.#admission.holdAll(Math.ceil(askedMs), this.#settings.maxHoldMs));
  }

  /** The service answered without a Retry-After: a later hold is the first of a new series. */
  noteAnswer(): void {
    if (!this.#metHold) return;
    this.#metHold = false;
    // If this does not reach Redis, the series is forgotten by itself.
    this.#redis.del(this.#keys.series).catch(() => undefined);
  }

  async close(): Promise<void> {
    clearInterval(this.#renewal);
    this.#redis.disconnect();
  }

  /** Throws ServiceHoldError for a hold that is not waited for. */
  #meet(hold: ServiceHold): void {
    const { maxWaitMs = Infinity, onHold } = this.#settings;
    this.#metHold = true;
    // The error itself tells it.
    if (hold.leftMs > maxWaitMs) throw heldBack(hold);
    if (this.#told.isNews(hold, performance.now())) onHold?.(hold);
    if (hold.isTooLong) throw heldBack(hold);
  }

  /** Returns false if a hold began meanwhile. A request that misses its time of sending gets another one. */
  async #waitUntilDue({ dueAtMs }: Leave, signal: AbortSignal): Promise<boolean> {
    let dueMs = dueAtMs;
    for (let reservation = 1; ; reservation += 1) {
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) {
        await pause(Math.ceil(waitMs), signal);
        if (await orAbort(this.#admission.isHeld(), signal)) return false;
      }
      const isLate = performance.now() - dueMs > latestMs;
      if (!isLate || this.#settings.requestsPerSecond === undefined || reservation === mostReservations) return true;
      dueMs = performance.now() + (await orAbort(this.#admission.reserveAgain(), signal));
    }
  }

  #release(token: string): void {
    this.#leases.delete(token);
    this.#admission.giveBack(token);
  }

  #renew(): void {
    if (this.#leases.size === 0) return;
    // If this does not reach Redis, the next renewal may; a lease that expired meanwhile is lost to another request.
    runScript(this.#redis, renew, [this.#keys.leases], [this.#leaseMs, ...this.#leases]).catch(() => undefined);
  }
}
