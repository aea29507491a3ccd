/**
 * What holds all requests to the service back, in the memory of the working process: a wait that it asked for, and the circuit
 * that opens while it is down (G9; ../admission.ts).
 */
import type { ServiceHold, ServiceOutage } from '../../core/run/service-hold.ts';
import { differentFailures, firstPauseMs, forgottenAfterMs, inARowMs, seriesMs } from '../admission.ts';

/** What must outlive the process: the bound that the service asked for. Instants in milliseconds since 1970. */
export interface KeptHold {
  readonly untilMs: number;
  readonly askedUntilMs: number;
  readonly isTooLong: boolean;
  /** The first hold since the service last answered otherwise. */
  readonly seriesSinceMs: number;
}

interface Circuit {
  readonly sinceMs: number;
  readonly pauseMs: number;
  readonly tryAtMs: number;
  readonly fault: string;
  readonly trial: string | undefined;
  readonly forgottenAtMs: number;
}

export class ServiceState {
  readonly #now: () => number;
  /** Called when the hold changes; undefined without one. */
  readonly #keep: (hold: KeptHold | undefined) => void;
  #hold: Omit<KeptHold, 'seriesSinceMs'> | undefined;
  #series: { readonly sinceMs: number; readonly endsAtMs: number } | undefined;
  /** Whether this process works: what is kept is its to take away, and not that of one that may not know of a later hold. */
  isWorking = false;
  #circuit: Circuit | undefined;
  #failing: { readonly names: Set<string>; endsAtMs: number } | undefined;

  constructor(now: () => number, keep: (hold: KeptHold | undefined) => void) {
    this.#now = now;
    this.#keep = keep;
  }

  /**
   * The hold that another process met; undefined where none is kept: one of this process was lifted by another. One that is
   * long over begins no series.
   */
  restore(kept: KeptHold | undefined): void {
    this.#hold = undefined;
    this.#series = undefined;
    if (kept === undefined) return;
    const { seriesSinceMs, ...hold } = kept;
    const endsAtMs = hold.untilMs + seriesMs;
    if (endsAtMs <= this.#now()) return;
    this.#hold = hold;
    this.#series = { sinceMs: seriesSinceMs, endsAtMs };
  }

  /** Lets requests be sent at once. Returns the hold that was lifted. */
  lift(): ServiceHold | undefined {
    const lifted = this.holdNow();
    if (lifted !== undefined || this.#series !== undefined) this.#keep(undefined);
    this.forget();
    return lifted;
  }

  /** As if nothing had been met, in memory alone. */
  forget(): void {
    this.#hold = undefined;
    this.#series = undefined;
    this.#circuit = undefined;
    this.#failing = undefined;
  }

  /** Another one for each answer that asked to wait. */
  get hold(): object | undefined {
    return this.#hold;
  }

  holdNow(): ServiceHold | undefined {
    const nowMs = this.#now();
    if (this.#hold !== undefined && this.#hold.untilMs <= nowMs) this.#hold = undefined;
    return this.#hold && { ...this.#hold, leftMs: this.#hold.untilMs - nowMs };
  }

  outageNow(): ServiceOutage | undefined {
    const nowMs = this.#now();
    if (this.#circuit !== undefined && this.#circuit.forgottenAtMs <= nowMs) this.#circuit = undefined;
    if (this.#circuit === undefined) return undefined;
    const { sinceMs, tryAtMs, fault } = this.#circuit;
    return { sinceMs, forMs: Math.max(0, nowMs - sinceMs), nextTryMs: Math.max(0, tryAtMs - nowMs), fault };
  }

  /**
   * A shorter hold never replaces a longer one. It is too long if it is longer than the most by itself, or with the holds
   * before it since the service last answered otherwise. Answers to requests of the same moment are one hold.
   */
  holdAll(askedMs: number, mostMs: number): ServiceHold {
    const nowMs = this.#now();
    const old = this.holdNow();
    const sinceMs = this.#series !== undefined && this.#series.endsAtMs > nowMs ? this.#series.sinceMs : nowMs;
    const isTooLong =
      askedMs > mostMs || old?.isTooLong === true || (old === undefined && nowMs - sinceMs + askedMs > mostMs);
    const untilMs = Math.max(old?.untilMs ?? 0, nowMs + Math.min(askedMs, mostMs));
    const askedUntilMs = Math.max(old?.askedUntilMs ?? 0, nowMs + askedMs);
    this.#hold = { untilMs, askedUntilMs, isTooLong };
    this.#series = { sinceMs, endsAtMs: untilMs + mostMs + seriesMs };
    this.#keep({ ...this.#hold, seriesSinceMs: sinceMs });
    return { ...this.#hold, leftMs: untilMs - nowMs };
  }

  endSeries(): void {
    // An answer to an earlier request ends no wait that was asked for since.
    const hold = this.holdNow() === undefined ? undefined : this.#hold;
    if (this.#series !== undefined && this.isWorking) this.#keep(hold && { ...hold, seriesSinceMs: this.#now() });
    this.#series = undefined;
  }

  /** The service has answered a request. */
  close(): void {
    this.#circuit = undefined;
    this.#failing = undefined;
  }

  recordFailure(
    fault: string,
    longestPauseMs: number,
    failed: readonly string[],
  ): { readonly outage: ServiceOutage | undefined; readonly hasTried: boolean } {
    const nowMs = this.#now();
    const open = this.outageNow() === undefined ? undefined : this.#circuit;
    const hasTried = open?.trial !== undefined;
    let pauseMs: number | undefined;
    if (open !== undefined) {
      if (hasTried) pauseMs = Math.min(longestPauseMs, 2 * open.pauseMs);
    } else {
      if (this.#failing === undefined || this.#failing.endsAtMs <= nowMs) {
        this.#failing = { names: new Set(), endsAtMs: 0 };
      }
      for (const name of failed) this.#failing.names.add(name);
      this.#failing.endsAtMs = nowMs + inARowMs;
      if (this.#failing.names.size >= differentFailures) {
        pauseMs = firstPauseMs;
        this.#failing = undefined;
      }
    }
    if (pauseMs !== undefined) {
      this.#circuit = {
        sinceMs: open?.sinceMs ?? nowMs,
        pauseMs,
        tryAtMs: nowMs + pauseMs,
        fault,
        trial: undefined,
        forgottenAtMs: nowMs + forgottenAfterMs,
      };
    }
    return { outage: this.outageNow(), hasTried };
  }

  /** The lease of the request that tries a service that is down. */
  get trial(): string | undefined {
    return this.#circuit?.trial;
  }

  beginTrial(token: string): void {
    if (this.#circuit !== undefined) this.#circuit = { ...this.#circuit, trial: token };
  }
}
