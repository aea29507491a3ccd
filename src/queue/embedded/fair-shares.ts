/**
 * The limits towards the service in the memory of the working process (G9): what the scripts of Redis decide
 * (src/queue/redis/limiter), for all limiters of the process.
 *
 * A flow is what one client wants for a run. Each has a tag, which counts the leases that it was given; who was given the
 * fewest goes first. A flow that comes begins no further back than `lag` behind the one that is ahead.
 */
import { randomUUID } from 'node:crypto';
import type { ServiceHold, ServiceOutage } from '../../core/run/service-hold.ts';
import { sleep } from '../../timers/sleep.ts';
import {
  type Admission,
  type AdmissionAnswer,
  type Grant,
  intervalOf,
  inTheWayMs,
  lagOf,
  type Limits,
  longestWaitMs,
  mostFlows,
  waitingMs,
  type Wanted,
} from '../admission.ts';
import type { ServiceHoldStore } from '../port.ts';
import { type KeptHold, ServiceState } from './hold-and-circuit.ts';

/** How long a process that waits for its turn hears nothing. */
const turnMs = 4_000;

/** Asked again after the time of a beat. */
const unsure = { kind: 'admitted', grants: [], reason: 'far', delayMs: 1_000, isTrial: false } as const;

interface Flow {
  readonly name: string;
  readonly runId: string;
  left: number;
  tag: number;
  cost: number;
}

/** One for each service; the embedded queue works one. */
export class ServiceLimits implements ServiceHoldStore {
  readonly #now: () => number;
  readonly #isSure: () => boolean;
  readonly keepNow: () => Promise<void>;
  /** What holds all of them back. */
  readonly state: ServiceState;
  /** Until when each lease is taken. */
  readonly #leases = new Map<string, number>();
  /** Until when each flow counts as waiting. */
  readonly #waiting = new Map<string, number>();
  readonly #shares = new Map<string, number>();
  readonly #turns = new Map<string, () => void>();
  #ahead = 0;
  /** The next time of sending, in milliseconds since 1970 with fractions. */
  #nextAtMs = 0;

  /** `keep` notes the hold, and `keepNow` writes what was noted; `isSure`: whether the process may send at all. */
  constructor(
    now: () => number,
    keep: (hold: KeptHold | undefined) => void,
    keepNow: () => Promise<void> = async () => undefined,
    isSure: () => boolean = () => true,
  ) {
    this.#now = now;
    this.#isSure = isSure;
    this.state = new ServiceState(now, keep);
    // A warehouse that is away is written to later.
    this.keepNow = () => keepNow().catch(() => undefined);
  }

  /** A client of its own. */
  admission(limits: Limits): Admission {
    return new EmbeddedAdmission(this, limits);
  }

  async read(): Promise<ServiceHold | undefined> {
    return this.state.holdNow();
  }

  async readOutage(): Promise<ServiceOutage | undefined> {
    return this.state.outageNow();
  }

  async lift(): Promise<ServiceHold | undefined> {
    return this.state.lift();
  }

  admit(
    client: string,
    wanted: readonly Wanted[],
    tokens: readonly string[],
    { limits, givenUp }: { readonly limits: Limits; readonly givenUp: readonly string[] },
  ): AdmissionAnswer {
    const nowMs = this.#now();
    if (tokens.length > 0 && !this.#isSure()) return unsure;
    const hold = this.state.holdNow();
    if (tokens.length > 0 && hold !== undefined) return { kind: 'paused', hold };
    const outage = this.state.outageNow();
    const isTrial = outage !== undefined;
    if (isTrial && tokens.length > 0) {
      const { trial } = this.state;
      const isTried = trial !== undefined && (this.#leases.get(trial) ?? 0) > nowMs;
      if (isTried || outage.nextTryMs > 0) return { kind: 'open', outage };
    }
    dropPast(this.#leases, nowMs);
    dropPast(this.#waiting, nowMs);
    const flows = this.#flowsOf(client, wanted, givenUp, limits);
    const answer = this.#grant(flows, isTrial ? tokens.slice(0, 1) : tokens, limits, isTrial);
    const room = limits.concurrency - this.#leases.size;
    if (room > 0 && answer.reason !== 'far' && !isTrial) this.#wakeNext(client);
    for (const { name, left } of flows) {
      if (left > 0) this.#waiting.set(name, nowMs + waitingMs);
      else this.#waiting.delete(name);
    }
    return answer;
  }

  #flowsOf(client: string, wanted: readonly Wanted[], givenUp: readonly string[], limits: Limits): readonly Flow[] {
    const earliest = this.#ahead - lagOf(limits);
    const all = [...wanted, ...givenUp.map((runId) => ({ runId, requests: 0 }))];
    return all.map(({ runId, requests }) => {
      const name = nameOf(runId, client);
      const tag = this.#shares.get(name) ?? earliest;
      const others = [...this.#waiting.keys()].filter((other) => other !== name && runOf(other) === runId);
      const own = this.#waiting.has(name) ? tag : Math.max(tag, earliest);
      return { name, runId, left: requests, tag: own, cost: 1 + others.length };
    });
  }

  /** `turn`: a flow of another client is `lag` behind, and has to be woken first. */
  #grant(
    flows: readonly Flow[],
    tokens: readonly string[],
    limits: Limits,
    isTrial: boolean,
  ): AdmissionAnswer & { readonly kind: 'admitted' } {
    const nowMs = this.#now();
    const intervalMs = intervalOf(limits) / 1_000;
    const own = new Set(flows.map(({ name }) => name));
    const others = [...this.#waiting.keys()].filter((name) => !own.has(name));
    const lag = lagOf(limits);
    const grants: Grant[] = [];
    const ended = (reason: 'none' | 'full' | 'turn' | 'far', delayMs = 0) =>
      ({ kind: 'admitted', grants, reason, delayMs, isTrial }) as const;
    for (const token of tokens) {
      const first = firstOf(flows.filter(({ left }) => left > 0));
      if (first === undefined) break;
      if (this.#leases.size >= limits.concurrency) return ended('full');
      const behind = others.filter((name) => first.tag - (this.#shares.get(name) ?? this.#ahead - lag) >= lag);
      for (const name of behind) {
        this.#waiting.set(name, Math.min(this.#waiting.get(name) ?? Infinity, nowMs + inTheWayMs));
      }
      if (behind.length > 0) return ended('turn');
      const waitMs = intervalMs === 0 ? 0 : Math.max(0, this.#nextAtMs - nowMs);
      if (waitMs > longestWaitMs) return ended('far', Math.ceil(waitMs - longestWaitMs));
      if (intervalMs > 0) this.#nextAtMs = Math.max(this.#nextAtMs, nowMs) + intervalMs;
      this.#leases.set(token, nowMs + limits.leaseMs);
      if (isTrial) this.state.beginTrial(token);
      grants.push({ runId: first.runId, token, waitMs });
      first.left -= 1;
      this.#ahead = Math.max(this.#ahead, first.tag);
      first.tag += first.cost;
      this.#shares.set(first.name, first.tag);
    }
    if (this.#shares.size > mostFlows) {
      for (const [name, tag] of this.#shares) if (tag < this.#ahead - lag) this.#shares.delete(name);
    }
    return ended('none');
  }

  /** Whoever leaves a lease free wakes the client whose flow is next. */
  #wakeNext(client: string): void {
    const others = [...this.#waiting.keys()].filter((name) => clientOf(name) !== client);
    const next = firstOf(others.map((name) => ({ name, tag: this.#shares.get(name) ?? 0 })));
    if (next !== undefined) this.#turns.get(clientOf(next.name))?.();
  }

  /** Resolves when it may be the turn of a client, and within a few seconds. */
  async turn(client: string): Promise<void> {
    const woken = new Promise<void>((resolve) => this.#turns.set(client, resolve));
    await Promise.race([woken, sleep(turnMs, { ref: false })]);
  }

  reserveMs(limits: Limits): number {
    const nowMs = this.#now();
    const waitMs = Math.max(0, this.#nextAtMs - nowMs);
    this.#nextAtMs = Math.max(this.#nextAtMs, nowMs) + intervalOf(limits) / 1_000;
    return waitMs;
  }

  mayStillGo(token: string): boolean {
    if (!this.#isSure() || this.state.holdNow() !== undefined) return false;
    if (this.state.outageNow() !== undefined && this.state.trial !== token) return false;
    return this.#leases.has(token);
  }

  extend(tokens: readonly string[], leaseMs: number): void {
    const nowMs = this.#now();
    for (const token of tokens) this.#leases.set(token, nowMs + leaseMs);
  }

  free(tokens: readonly string[]): void {
    for (const token of tokens) this.#leases.delete(token);
  }

  /** The client has ended: nothing of it waits, and its leases are free. */
  leave(client: string): void {
    for (const token of this.#leases.keys()) if (token.startsWith(`${client}.`)) this.#leases.delete(token);
    for (const name of this.#waiting.keys()) if (clientOf(name) === client) this.#waiting.delete(name);
    this.#turns.delete(client);
    this.#wakeNext(client);
  }
}

/** What one limiter asks of the limits. Answers are there at once; the port is one of promises. */
class EmbeddedAdmission implements Admission {
  readonly #service: ServiceLimits;
  readonly #limits: Limits;
  readonly #client = randomUUID();
  readonly #givenUp = new Set<string>();
  #tokens = 0;

  constructor(service: ServiceLimits, limits: Limits) {
    this.#service = service;
    this.#limits = limits;
  }

  async ask(wanted: readonly Wanted[]): Promise<AdmissionAnswer> {
    const requests = wanted.reduce((sum, each) => sum + each.requests, 0);
    for (const { runId } of wanted) this.#givenUp.delete(runId);
    const tokens = Array.from({ length: Math.min(this.#limits.concurrency, requests) }, () => {
      this.#tokens += 1;
      return `${this.#client}.${this.#tokens}`;
    });
    return this.#admit(wanted, tokens);
  }

  giveBack(token: string): void {
    this.#service.free([token]);
  }

  giveUp(runId: string): void {
    this.#givenUp.add(runId);
  }

  recordAnswered(): void {
    this.#service.state.close();
  }

  flush(): void {
    this.#admit([], []);
  }

  #admit(wanted: readonly Wanted[], tokens: readonly string[]): AdmissionAnswer {
    const givenUp = [...this.#givenUp];
    this.#givenUp.clear();
    return this.#service.admit(this.#client, wanted, tokens, { limits: this.#limits, givenUp });
  }

  turn(): Promise<void> {
    return this.#service.turn(this.#client);
  }

  async reserveAgain(): Promise<number> {
    return this.#service.reserveMs(this.#limits);
  }

  async mayStillGo(token: string): Promise<boolean> {
    return this.#service.mayStillGo(token);
  }

  async renew(sure: readonly string[], others: readonly string[]): Promise<void> {
    this.#service.extend([...sure, ...others], this.#limits.leaseMs);
  }

  /** Nothing is lost between this limiter and the limits. */
  async unknownLeases(): Promise<readonly string[]> {
    return [];
  }

  async holdAll(askedMs: number, maxHoldMs: number): Promise<ServiceHold> {
    const hold = this.#service.state.holdAll(askedMs, maxHoldMs);
    // A process that dies now must not leave the wait to nobody.
    await this.#service.keepNow();
    return hold;
  }

  endSeries(): void {
    this.#service.state.endSeries();
  }

  async recordFailure(fault: string, longestPauseMs: number, failed: readonly string[]) {
    return this.#service.state.recordFailure(fault, longestPauseMs, failed);
  }

  onRestored(): void {
    // Memory is not lost while the process lives.
  }

  close(): void {
    this.#service.leave(this.#client);
  }
}

const nameOf = (runId: string, client: string): string => `${runId}|${client}`;
const runOf = (name: string): string => name.slice(0, name.lastIndexOf('|'));
const clientOf = (name: string): string => name.slice(name.lastIndexOf('|') + 1);

function firstOf<Tagged extends { readonly tag: number }>(flows: readonly Tagged[]): Tagged | undefined {
  let first: Tagged | undefined;
  for (const flow of flows) if (first === undefined || flow.tag < first.tag) first = flow;
  return first;
}

function dropPast(untilMs: Map<string, number>, nowMs: number): void {
  for (const [name, endsAtMs] of untilMs) if (endsAtMs <= nowMs) untilMs.delete(name);
}
