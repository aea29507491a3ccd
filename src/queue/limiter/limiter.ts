/**
 * Limits for the service across all workers together (G9): concurrent requests as leases, shared fairly by the runs, requests per second paced without bursts, the hold that a Retry-After puts on all, and the circuit that holds all
 * back while the service is down.
 *
 *   the run's turn -> lease, and with it a time of sending -> wait for that time -> send
 */
import { randomUUID } from 'node:crypto';
import type { OutageRecord } from '../../core/base/outage.ts';
import { heldBack, notSent, type ServiceHold, type ServiceOutage, LoggedHolds } from '../../core/run/service-hold.ts';
import { after, type Timer } from '../../timers/sleep.ts';
import { type Admission, failuresWithoutConnection, type Limits, longestPauseMs } from './admission.ts';
import { type Leave, orAbort, pause, WaitQueue } from './wait-queue.ts';

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
