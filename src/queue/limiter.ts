/**
 * Limits for the service across all workers together (G9): concurrent requests as leases, shared fairly by the runs, requests per second paced without bursts, the hold that a Retry-After puts on all, and the circuit that holds all
 * back while the service is down.
 *
 *   the run's turn -> lease, and with it a time of sending -> wait for that time -> send
 */
import { randomUUID } from 'node:crypto';
import { AbortedError, type OutageRecord } from '../core/base/errors.ts';
import { heldBack, LoggedHolds, notSent, type ServiceHold, type ServiceOutage } from '../core/run/service-hold.ts';
import { after, sleep, type Timer } from '../timers/sleep.ts';
import {
  type Admission,
  type AdmissionAnswer,
  failuresWithoutConnection,
  type Grant,
  inTheWayMs,
  type Limits,
  longestPauseMs,
} from './admission.ts';

/** Short, so that a killed worker does not delay the others (G7). */
const defaultLeaseMs = 10_000;

/** A request that is later than this has missed its time of sending: the next ones have theirs by now. */
const latestMs = 40;
/** A process that is always late sends all the same. */
const mostReservations = 3;

/** Who met a hold may be gone when the service answers again: so often each process ends a series of holds. */
const endSeriesEveryMs = 10_000;

const neverStopping = new AbortController().signal;

/** What requests without a run, such as those of a command, share as one. */
const noRun = '';

export interface LimiterSettings {
  readonly concurrency: number;
  readonly requestsPerSecond?: number;
  /** How long the place of a dead worker stays taken; a living worker renews its leases. */
  readonly leaseMs?: number;
  /** The longest hold, whatever the service asks for, and the longest that requests wait for a service that is down. */
  readonly maxHoldMs: number;
  /** The longest wait of a request of this process; by default the longest hold. */
  readonly maxWaitMs?: number;
  /** Ends the waits for the end of a hold or an outage, with AbortedError: work that stops has no use for it. */
  readonly stopping?: AbortSignal;
  readonly onHold?: (hold: ServiceHold) => void;
  readonly outages?: OutageRecord;
}

export interface FailedRequest {
  /** Differs for different requests, and is the same when one is repeated. */
  readonly name: string;
  readonly fault: string;
  readonly hasNoConnection: boolean;
}

/** Implements the port `RequestLimiter` of src/service. */
export class SharedLimiter {
  readonly #settings: LimiterSettings;
  readonly #leaseMs: number;
  readonly #admission: Admission;
  readonly #waitQueue: WaitQueue;
  readonly #loggedHolds = new LoggedHolds();
  /** Tokens of this process's leases, and until when they cannot have expired, by performance.now(). */
  readonly #leases = new Map<string, number>();
  readonly #renewal: NodeJS.Timeout;
  /** Whether this process met a hold since the service last answered. */
  #metHold = false;
  /** By performance.now(). */
  #seriesEndedAtMs = -Infinity;
  #endingSeries: Timer | undefined;
  /** Whether a request of this process failed, or was held back by the circuit, since the service last answered. */
  #metFailure = false;
  #isDown = false;

  constructor(open: (limits: Limits) => Admission, settings: LimiterSettings) {
    const { concurrency, requestsPerSecond, leaseMs = defaultLeaseMs, stopping = neverStopping } = settings;
    this.#settings = settings;
    this.#leaseMs = leaseMs;
    this.#admission = open({ concurrency, requestsPerSecond, leaseMs });
    this.#waitQueue = new WaitQueue(this.#admission, {
      onHold: (hold) => this.#meet(hold),
      onOutage: (outage) => this.#meetOutage(outage),
      onUp: () => this.#up(),
      stopping,
    });
    this.#renewal = setInterval(() => void this.#reconcile(), leaseMs / 3);
    this.#renewal.unref();
    this.#admission.onRestored(() => void this.#reconcile());
  }

  /**
   * Waits until a request of the run may be sent. Resolves with the function that releases its place. Throws AbortedError
   * if the signal aborts first, ServiceHoldError for a hold that a request of this process does not wait for, and
   * TransientError `service-down` for such an outage.
   */
  async enter(signal: AbortSignal, runId = noRun): Promise<() => void> {
    for (;;) {
      const leave = await this.#waitQueue.pass(runId, signal);
      const { token } = leave;
      this.#leases.set(token, leave.askedAtMs + this.#leaseMs);
      try {
        if (await this.#waitUntilDue(leave, signal)) return () => this.#release(token);
      } catch (error) {
        this.#release(token);
        throw error;
      }
      this.#release(token);
    }
  }

  /**
   * Keeps all workers from sending for `askedMs`, as a Retry-After demands, but never longer than `maxHoldMs`. Throws
   * ServiceHoldError as `enter` does.
   */
  async pauseAll(askedMs: number): Promise<void> {
    if (askedMs >= 1) this.#meet(await this.#admission.holdAll(Math.ceil(askedMs), this.#settings.maxHoldMs));
  }

  /** The service answered without a Retry-After: a later hold is the first of a new series, and no outage lasts. */
  recordAnswer(): void {
    this.#admission.recordAnswered(this.#metFailure);
    this.#metFailure = false;
    this.#up();
    const againMs = this.#seriesEndedAtMs + endSeriesEveryMs - performance.now();
    if (this.#metHold || againMs <= 0) this.#endSeries();
    else this.#endingSeries ??= after(againMs, () => this.#endSeries(), { ref: false });
  }

  /**
   * Records a request that failed. Returns whether the service is down for all workers, and this request is to be sent
   * again when it is up: that it failed says nothing of itself. Where the service can be reached, it does say something of
   * the request that tried: what no request gets answered is not waited for without end.
   */
  async recordFailure({ name, fault, hasNoConnection }: FailedRequest): Promise<boolean> {
    this.#metFailure = true;
    const failed = hasNoConnection ? Array.from({ length: failuresWithoutConnection }, () => randomUUID()) : [name];
    const longest = hasNoConnection ? longestPauseMs.withoutConnection : longestPauseMs.withConnection;
    const { outage, hasTried } = await this.#admission.recordFailure(fault, longest, failed);
    if (outage === undefined) return false;
    this.#recordDown(outage);
    return this.#settings.maxWaitMs === undefined && (hasNoConnection || !hasTried);
  }

  #endSeries(): void {
    this.#endingSeries?.cancel();
    this.#endingSeries = undefined;
    this.#metHold = false;
    this.#seriesEndedAtMs = performance.now();
    this.#admission.endSeries();
  }

  async close(): Promise<void> {
    clearInterval(this.#renewal);
    this.#endingSeries?.cancel();
    this.#admission.close();
  }

  /** Throws ServiceHoldError for a hold that is not waited for. */
  #meet(hold: ServiceHold): void {
    const { maxWaitMs = Infinity, onHold } = this.#settings;
    this.#metHold = true;
    // The error itself tells it.
    if (hold.leftMs > maxWaitMs) throw heldBack(hold);
    if (this.#loggedHolds.isNews(hold, performance.now())) onHold?.(hold);
    if (hold.isTooLong) throw heldBack(hold);
  }

  /** Throws TransientError for an outage that is not waited for. */
  #meetOutage(outage: ServiceOutage): void {
    const { maxWaitMs = Infinity, maxHoldMs } = this.#settings;
    this.#recordDown(outage);
    if (outage.nextTryMs > maxWaitMs || outage.forMs > maxHoldMs) throw notSent(outage);
  }

  #recordDown({ fault }: ServiceOutage): void {
    this.#metFailure = true;
    this.#isDown = true;
    this.#settings.outages?.down('service', fault);
  }

  #up(): void {
    if (!this.#isDown) return;
    this.#isDown = false;
    this.#settings.outages?.up('service');
  }

  /** Returns false if requests are held back since. A request that misses its time of sending gets another one. */
  async #waitUntilDue({ token, dueAtMs }: Leave, signal: AbortSignal): Promise<boolean> {
    let dueMs = dueAtMs;
    for (let reservation = 1; ; reservation += 1) {
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) {
        await pause(Math.ceil(waitMs), signal);
        if (!(await orAbort(this.#admission.mayStillGo(token), signal))) return false;
      }
      const isLate = performance.now() - dueMs > latestMs;
      if (!isLate || this.#settings.requestsPerSecond === undefined || reservation === mostReservations) return true;
      dueMs = performance.now() + (await orAbort(this.#admission.reserveAgain(), signal));
    }
  }

  #release(token: string): void {
    this.#leases.delete(token);
    this.#waitQueue.release(token);
  }

  /** Makes the leases that are taken those of this process's requests. What fails is done the next time. */
  async #reconcile(): Promise<void> {
    void this.#renew().catch(() => undefined);
    if (this.#leases.size === 0 && !this.#waitQueue.isWaiting) return;
    const tokens = await this.#admission.unknownLeases((token) => this.#leases.has(token)).catch(() => []);
    for (const token of tokens) this.#waitQueue.release(token);
  }

  /** Where this fails, the next one may do it; a lease that expired meanwhile is lost to another request. */
  async #renew(): Promise<void> {
    if (this.#leases.size === 0) return;
    const nowMs = performance.now();
    const sure: string[] = [];
    const others: string[] = [];
    for (const [token, untilMs] of this.#leases) (untilMs > nowMs ? sure : others).push(token);
    await this.#admission.renew(sure, others);
    for (const token of sure) if (this.#leases.has(token)) this.#leases.set(token, nowMs + this.#leaseMs);
  }
}

// The requests of a process that wait for a lease, of all processes together, and with it for a time of sending. One
// question at a time asks the limits for all of them, by run. Between two questions it waits until a lease of this process is
// freed, or until they say that it is its turn.

/** How often the limits are asked for a lease although all are taken: only that drops the leases of dead workers. */
const askAgainMs = 4_000;

/** How long to wait for another process whose turn it is, before it counts as dead. */
const turnOfOtherMs = inTheWayMs + 20;

/** How often a process under a hold looks whether it was lifted, and in an outage whether it is over. */
const pollMs = { hold: 2_000, outage: 1_000 } as const;

/** Processes that wait for the same moment ask within this time after it, not all at once. */
const spreadMs = 50;

/** Leave to send, at a time by the clock of performance.now(). */
export interface Leave {
  readonly token: string;
  readonly dueAtMs: number;
  /** When the limits were asked for the lease, which begins no earlier. */
  readonly askedAtMs: number;
}

interface Caller {
  readonly resolve: (leave: Leave) => void;
  readonly reject: (error: unknown) => void;
}

interface WaitQueueEvents {
  /** Called for each hold that is met; what it throws ends the waits. */
  readonly onHold: (hold: ServiceHold) => void;
  /** Called while the circuit is open; what it throws ends the waits. */
  readonly onOutage: (outage: ServiceOutage) => void;
  /** Called when requests go again that are more than one that tries. */
  readonly onUp: () => void;
  /** Ends the waits for the end of a hold or an outage, with AbortedError, and no others. */
  readonly stopping: AbortSignal;
}

export class WaitQueue {
  readonly #admission: Admission;
  readonly #events: WaitQueueEvents;
  readonly #callers = new Map<string, Caller[]>();
  #isServing = false;
  /** Ends the present pause; undefined while there is none. */
  #endPause: (() => void) | undefined;
  /** Whether something came about since the limits were asked that makes it worth to ask again. */
  #isWoken = false;
  #isFlushSoon = false;
  #isListening = false;
  /** The shortest time in which the limits answered: what an answer takes beyond it is the lateness of this process. */
  #answerMs = Infinity;

  constructor(admission: Admission, events: WaitQueueEvents) {
    this.#admission = admission;
    this.#events = events;
  }

  get isWaiting(): boolean {
    return this.#callers.size > 0;
  }

  /** Takes a lease for a request of a run. Throws AbortedError when the signal aborts. */
  pass(runId: string, signal: AbortSignal): Promise<Leave> {
    if (signal.aborted) return Promise.reject(new AbortedError());
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#drop(runId, caller);
        reject(givenUp(signal.reason));
      };
      const ending =
        <T>(end: (result: T) => void) =>
        (result: T): void => {
          signal.removeEventListener('abort', leave);
          end(result);
        };
      const caller: Caller = { resolve: ending(resolve), reject: ending(reject) };
      signal.addEventListener('abort', leave, { once: true });
      this.#add(runId, caller);
    });
  }

  /** Gives a lease back. Whoever waits here asks for it by the same call. */
  release(token: string): void {
    this.#admission.giveBack(token);
    this.#wake();
    if (this.#isFlushSoon) return;
    this.#isFlushSoon = true;
    setImmediate(() => {
      this.#isFlushSoon = false;
      if (!this.#isServing) this.#admission.flush();
    });
  }

  #wake(): void {
    this.#isWoken = true;
    this.#endPause?.();
  }

  #add(runId: string, caller: Caller): void {
    const line = this.#callers.get(runId);
    if (line === undefined) this.#callers.set(runId, [caller]);
    else line.push(caller);
    if (!this.#isServing) void this.#serve();
    // A run that the limits do not know of yet; one that it knows waits for its turn.
    else if (line === undefined) this.#wake();
  }

  #drop(runId: string, caller: Caller): void {
    const line = this.#callers.get(runId) ?? [];
    const position = line.indexOf(caller);
    if (position >= 0) line.splice(position, 1);
    if (line.length > 0) return;
    this.#callers.delete(runId);
    this.#admission.giveUp(runId);
    if (this.#callers.size === 0) this.#wake();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    while (this.#callers.size > 0) {
      // Those of this moment ask together, with the leases that it frees.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#callers.size === 0) break;
      try {
        await this.#askOnce();
      } catch (error) {
        this.#rejectAll(error);
      }
    }
    this.#isServing = false;
    this.#admission.flush();
  }

  async #askOnce(): Promise<void> {
    this.#isWoken = false;
    const askedAtMs = performance.now();
    const wanted = [...this.#callers].map(([runId, line]) => ({ runId, requests: line.length }));
    const answer = await this.#admission.ask(wanted);
    this.#answerMs = Math.min(this.#answerMs, performance.now() - askedAtMs);
    if (answer.kind === 'admitted') {
      for (const grant of answer.grants) this.#grant(grant, askedAtMs);
      if (!answer.isTrial) this.#events.onUp();
    }
    if (this.#callers.size > 0) await this.#waitAfter(answer);
  }

  /** A lease whose request was given up meanwhile goes back. */
  #grant({ runId, token, waitMs }: Grant, askedAtMs: number): void {
    const line = this.#callers.get(runId) ?? [];
    const caller = line.shift();
    if (line.length === 0) this.#callers.delete(runId);
    if (caller === undefined) this.release(token);
    else caller.resolve({ token, dueAtMs: askedAtMs + this.#answerMs + waitMs, askedAtMs });
  }

  async #waitAfter(answer: AdmissionAnswer): Promise<void> {
    if (answer.kind === 'paused') {
      this.#events.onHold(answer.hold);
      return this.#waitOut(Math.min(answer.hold.leftMs + 1, pollMs.hold));
    }
    if (answer.kind === 'open') {
      this.#events.onOutage(answer.outage);
      return this.#waitOut(Math.min(answer.outage.nextTryMs + 1 + spreadMs * Math.random(), pollMs.outage));
    }
    if (answer.reason === 'none') return;
    if (answer.reason === 'far') return this.#pause(answer.delayMs);
    void this.#listen();
    await this.#pause(answer.reason === 'turn' ? turnOfOtherMs : askAgainMs);
  }

  /** Waits for a hold or an outage, which work that stops has no use for. */
  async #waitOut(delayMs: number): Promise<void> {
    const { stopping } = this.#events;
    const stop = (): void => this.#wake();
    stopping.addEventListener('abort', stop, { once: true });
    if (!stopping.aborted) await this.#pause(delayMs);
    stopping.removeEventListener('abort', stop);
    if (stopping.aborted) throw givenUp(stopping.reason);
  }

  /** Wakes those who wait here when it is their turn. */
  async #listen(): Promise<void> {
    if (this.#isListening) return;
    this.#isListening = true;
    // Limits that do not answer meet the next question.
    await this.#admission.turn().then(
      () => this.#wake(),
      () => undefined,
    );
    this.#isListening = false;
  }

  #pause(delayMs: number): Promise<void> {
    if (this.#isWoken) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        this.#endPause = undefined;
        resolve();
      };
      const timer = after(delayMs, end);
      this.#endPause = end;
    });
  }

  #rejectAll(error: unknown): void {
    const callers = [...this.#callers.values()].flat();
    this.#callers.clear();
    for (const { reject } of callers) reject(error);
  }
}

/** Waits that end with an AbortedError when the signal aborts. */
function givenUp(cause: unknown): AbortedError {
  return new AbortedError('given up while waiting for leave to send', { cause });
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, { signal }).catch((error: unknown) => {
    throw givenUp(error);
  });
}

/** A question cannot be aborted: the caller stops waiting, and the answer is dropped. */
async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) reject(new AbortedError());
    const onAbort = (): void => reject(givenUp(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
