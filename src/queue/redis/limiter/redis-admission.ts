/**
 * The limiter towards a service whose limits are in Redis (G9): the questions of a process for leave to send, and
 * their answers.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServiceHold, ServiceOutage } from '../../../core/run/service-hold.ts';
import {
  type Admission,
  type AdmissionAnswer,
  type Grant,
  intervalOf,
  lagOf,
  type Limits,
  longestWaitMs,
  type Wanted,
} from '../../admission.ts';
import { type LimiterSettings, SharedLimiter } from '../../limiter.ts';
import { blockingCopy, connectRedis, type RedisHandle, type RedisScript, runScript } from '../clients.ts';
import { withOutages } from '../fault.ts';
import { limitsKey, type QueueAddress } from '../queue-names.ts';
import {
  admit,
  answers,
  type LimiterKeys,
  limiterKeys,
  mayStillGo,
  reasons,
  renew,
  reserve,
} from './fair-shares-script.ts';
import { type CircuitFields, hold, type HoldFields, holdOf, outageOf, recordFailure } from './hold-and-circuit.ts';

/** Below the time after which a connection without an answer counts as lost. */
const turnSeconds = 4;

export class RedisAdmission implements Admission {
  readonly #redis: RedisHandle;
  readonly #keys: LimiterKeys;
  readonly #limits: Limits;
  /** Microseconds between two requests; 0 without a rate. */
  readonly #interval: number;
  /** How many leases a process may be ahead of one that waits: see fair-shares-script.ts. */
  readonly #lag: number;
  readonly #process = randomUUID();
  #tokens = 0;
  #blocking: RedisHandle | undefined;
  readonly #givenUp = new Set<string>();
  #spent: string[] = [];
  /** Whether the service has answered since Redis was last told. */
  #isAnswered = false;
  /** Whether others may wait for that. */
  #isUrgent = false;

  constructor(redis: RedisHandle, keys: LimiterKeys, limits: Limits) {
    this.#redis = redis;
    this.#keys = keys;
    this.#limits = limits;
    this.#interval = intervalOf(limits);
    this.#lag = lagOf(limits);
  }

  /** Asks for leases, by one call for all runs, which gives spent leases back as well. */
  async ask(wanted: readonly Wanted[]): Promise<AdmissionAnswer> {
    const { concurrency } = this.#limits;
    const requests = wanted.reduce((sum, each) => sum + each.requests, 0);
    const tokens = Array.from({ length: Math.min(concurrency, requests) }, () => this.#newToken());
    for (const { runId } of wanted) this.#givenUp.delete(runId);
    const answer = await this.#admit(tokens, wanted);
    return answerOf(answer as readonly unknown[], wanted, tokens);
  }

  /** Gives a lease back with the next question, or with `flush`. If that does not reach Redis, it expires by itself. */
  giveBack(token: string): void {
    this.#spent.push(token);
  }

  /** No request of the run waits any more: told with `flush`. */
  giveUp(runId: string): void {
    this.#givenUp.add(runId);
  }

  /** The service answered: told with the next question, or with `flush` where that is urgent. */
  recordAnswered(isUrgent: boolean): void {
    this.#isAnswered = true;
    this.#isUrgent ||= isUrgent;
  }

  /** Tells Redis without a question what others may wait for. */
  flush(): void {
    if (!this.#isUrgent && this.#spent.length === 0 && this.#givenUp.size === 0) return;
    this.#admit([], []).catch(() => undefined);
  }

  /** Resolves when it may be the turn of this process, and within a few seconds. */
  async turn(): Promise<void> {
    this.#blocking ??= blockingCopy(this.#redis);
    await this.#blocking.bzpopmin(`${this.#keys.turn}${this.#process}`, turnSeconds);
  }

  close(): void {
    this.#blocking?.disconnect();
    this.#redis.disconnect();
  }

  /** Another time of sending for a request that missed its own: the milliseconds until then. */
  async reserveAgain(): Promise<number> {
    return Number(await this.#run(reserve, [this.#keys.rate], [this.#interval])) / 1_000;
  }

  /** Whether the request of a lease may be sent when its time has come: nothing holds it back, and the lease is there. */
  async mayStillGo(token: string): Promise<boolean> {
    const { hold: holdKey, circuit, leases } = this.#keys;
    return (await this.#run(mayStillGo, [holdKey, circuit, leases], [token])) === 1;
  }

  /** Extends leases: `sure` ones, which cannot have expired, are added again where Redis has lost them. */
  async renew(sure: readonly string[], others: readonly string[]): Promise<void> {
    await this.#run(renew, [this.#keys.leases], [this.#limits.leaseMs, sure.length, ...sure, ...others]);
  }

  /**
   * The leases of this process that Redis has and nobody here knows: a failover may lose that one was given back, and a
   * question that is sent again over a new connection is answered without those that it was given at first.
   */
  async unknownLeases(isKnown: (token: string) => boolean): Promise<readonly string[]> {
    const tokens = await this.#redis.zrange(this.#keys.leases, '0', '-1');
    // Whoever was given one of them has it by now.
    await nextTurn();
    return tokens.filter((token) => token.startsWith(`${this.#process}.`) && !isKnown(token));
  }

  endSeries(): void {
    // If this does not reach Redis, the series is forgotten by itself.
    this.#redis.del(this.#keys.series).catch(() => undefined);
  }

  /** A failover of Redis may have lost the leases of requests that are under way, and that others were given back. */
  onRestored(check: () => void): void {
    this.#redis.on('ready', check);
  }

  async holdAll(askedMs: number, maxHoldMs: number): Promise<ServiceHold> {
    const keys = [this.#keys.hold, this.#keys.series];
    const [nowMs, fields] = (await this.#run(hold, keys, [askedMs, maxHoldMs])) as [number, HoldFields];
    const recorded = holdOf(fields, nowMs);
    if (recorded === undefined) throw new Error('a hold that was just recorded is gone');
    return recorded;
  }

  /**
   * Records what failed, by names that differ for different requests. Returns the outage, if the circuit is open, and whether
   * what failed was the request that tried.
   */
  async recordFailure(
    fault: string,
    longestPauseMs: number,
    failed: readonly string[],
  ): Promise<{ readonly outage: ServiceOutage | undefined; readonly hasTried: boolean }> {
    // An answer that came before the failure says nothing after it.
    if (this.#isAnswered) {
      this.#isUrgent = true;
      this.flush();
    }
    const keys = [this.#keys.circuit, this.#keys.failing];
    const answer = await this.#run(recordFailure, keys, [fault, longestPauseMs, ...failed]);
    const [nowMs, fields, hasTried] = answer as [number, CircuitFields, number];
    return { outage: outageOf(fields, nowMs), hasTried: hasTried === 1 };
  }

  #admit(tokens: readonly string[], wanted: readonly Wanted[]): Promise<unknown> {
    const { hold: holdKey, leases, rate, waiting, shares, circuit, failing, turn } = this.#keys;
    const { concurrency, leaseMs } = this.#limits;
    const limits = [concurrency, leaseMs, this.#process, this.#interval, longestWaitMs * 1_000, this.#lag];
    const isAnswered = this.#isAnswered ? 1 : 0;
    this.#isAnswered = false;
    this.#isUrgent = false;
    const flows = [...wanted, ...[...this.#givenUp].map((runId) => ({ runId, requests: 0 }))];
    this.#givenUp.clear();
    const named = [flows.length, ...flows.flatMap(({ runId, requests }) => [runId, requests])];
    const values = [...limits, isAnswered, tokens.length, ...tokens, ...named, ...this.#spent.splice(0)];
    return this.#run(admit, [holdKey, leases, rate, waiting, shares, circuit, failing, turn], values);
  }

  #newToken(): string {
    this.#tokens += 1;
    return `${this.#process}.${this.#tokens}`;
  }

  #run(script: RedisScript, keys: readonly string[], values: ReadonlyArray<string | number>): Promise<unknown> {
    return runScript(this.#redis, script, keys, values);
  }
}

const reasonNames = Object.keys(reasons) as readonly (keyof typeof reasons)[];

/** Throws for an answer that the script does not give. */
function answerOf(
  [kind, value, detail, delayMs, isTrial]: readonly unknown[],
  wanted: readonly Wanted[],
  tokens: readonly string[],
): AdmissionAnswer {
  if (kind === answers.paused) {
    const met = holdOf(detail as HoldFields, value as number);
    if (met !== undefined) return { kind: 'paused', hold: met };
  }
  if (kind === answers.open) {
    const outage = outageOf(detail as CircuitFields, value as number);
    if (outage !== undefined) return { kind: 'open', outage };
  }
  const reason = reasonNames.find((name) => reasons[name] === detail);
  if (kind !== answers.admitted || reason === undefined)
    throw new Error('Redis gave an unknown answer to an admission');
  const grants = grantsOf(value as readonly number[], wanted, tokens);
  return { kind: 'admitted', grants, reason, delayMs: Number(delayMs), isTrial: isTrial === 1 };
}

/** `pairs`: position of the flow from 1, and microseconds, for each token in turn. */
function grantsOf(pairs: readonly number[], wanted: readonly Wanted[], tokens: readonly string[]): readonly Grant[] {
  const grants: Grant[] = [];
  for (let index = 0; index < pairs.length; index += 2) {
    const runId = wanted[(pairs[index] ?? 0) - 1]?.runId ?? '';
    grants.push({ runId, token: tokens[index / 2] ?? '', waitMs: (pairs[index + 1] ?? 0) / 1_000 });
  }
  return grants;
}

// Opens it.

/**
 * Throws UnreachableError('redis') if Redis does not answer now; waits out later outages. Calls throw
 * OutageError('redis') while Redis answers with errors.
 */
export async function createRedisLimiter(settings: LimiterSettings & QueueAddress): Promise<SharedLimiter> {
  const redis = await connectRedis(settings.redis, 'lasting');
  const keys = limiterKeys(limitsKey(settings));
  return withOutages(new SharedLimiter((limits) => new RedisAdmission(redis, keys, limits), settings));
}
