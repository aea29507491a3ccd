/** What a limiter asks for leave to send requests: the limits that all processes of a queue share (G9). */
import type { ServiceHold, ServiceOutage } from '../core/run/service-hold.ts';

export interface Limits {
  readonly concurrency: number;
  readonly requestsPerSecond: number | undefined;
  /** How long the place of a dead worker stays taken. */
  readonly leaseMs: number;
}

/** The requests of a run that wait in this process. */
export interface Wanted {
  readonly runId: string;
  readonly requests: number;
}

export interface Grant {
  readonly runId: string;
  readonly token: string;
  readonly waitMs: number;
}

/**
 * Why not every request got a lease. `full`: all leases are taken; `turn`: it is the turn of another process; `far`: the rate
 * leaves no time of sending within the longest wait; `none`: no more could be asked for at once.
 */
export type Refusal = 'none' | 'full' | 'turn' | 'far';

export type AdmissionAnswer =
  | {
      readonly kind: 'admitted';
      readonly grants: readonly Grant[];
      /** Whether the service is down, and the one grant is to try it. */
      readonly isTrial: boolean;
      readonly reason: Refusal;
      /** For `far`: the milliseconds until a time may be had. */
      readonly delayMs: number;
    }
  | { readonly kind: 'paused'; readonly hold: ServiceHold }
  | { readonly kind: 'open'; readonly outage: ServiceOutage };

/** A reservation further ahead is refused, so that callers who give up have reserved little. */
export const longestWaitMs = 30_000;

/** How many leases a process may be ahead of one that waits, which has to be woken first. */
export function lagOf({ concurrency }: Limits): number {
  return Math.max(2, Math.ceil(concurrency / 2));
}

/** Microseconds between two requests; 0 without a rate. */
export function intervalOf({ requestsPerSecond }: Limits): number {
  return requestsPerSecond === undefined ? 0 : Math.ceil(1_000_000 / requestsPerSecond);
}

/** How long a flow that was refused counts as waiting, while it does not ask again. */
export const waitingMs = 5_000;

/** The same while another flow is kept from a free place by it: its process may have died. */
export const inTheWayMs = 500;

/** How many flows are remembered before those that are not behind are forgotten. */
export const mostFlows = 500;

/** How long a series of holds is remembered: longer than an item waits for its next attempt. */
export const seriesMs = 600_000;

// The circuit, which holds back all requests to a service that is down, and lets one of them try.
//
//   closed --- several different requests failed in a row ---> open: nothing is sent
//     ^                                                          |  pause, each twice as long as the one before
//     +---- answered ---- one request tries <--------------------+
//                             +---- failed ---> open

/**
 * How many different requests have to fail in a row: what the service cannot answer for one well is no reason to hold back
 * the others, however often it is tried.
 */
export const differentFailures = 5;

/** A fault without any connection says the same of every request: it counts as so many, each time. */
export const failuresWithoutConnection = 2;

/** The first pause before a request tries, in milliseconds. */
export const firstPauseMs = 500;

/**
 * The longest pause before a request tries, in milliseconds. It keeps what goes on by itself within a minute (G7). Where
 * there is a connection it may be what is left of the work that the service cannot answer, and not the service: the circuit
 * then closes only when all of that has failed by itself.
 */
export const longestPauseMs = { withoutConnection: 30_000, withConnection: 5_000 } as const;

/** Failures that are further apart are not in a row. */
export const inARowMs = 600_000;

/** How long an open circuit is remembered while nobody tries: a process that waits asks every second. */
export const forgottenAfterMs = 6 * 3_600_000;

export interface Admission {
  /** Asks for leases, by one call for all runs, which gives spent leases back as well. */
  ask(wanted: readonly Wanted[]): Promise<AdmissionAnswer>;
  /** Gives a lease back with the next question, or with `flush`. */
  giveBack(token: string): void;
  /** No request of the run waits any more: told with `flush`. */
  giveUp(runId: string): void;
  /** The service answered: told with the next question, or with `flush` where that is urgent. */
  recordAnswered(isUrgent: boolean): void;
  /** Tells without a question what others may wait for. */
  flush(): void;
  /** Resolves when it may be the turn of this process, and within a few seconds. */
  turn(): Promise<void>;
  /** Another time of sending for a request that missed its own: the milliseconds until then. */
  reserveAgain(): Promise<number>;
  /** Whether the request of a lease may be sent when its time has come: nothing holds it back, and the lease is there. */
  mayStillGo(token: string): Promise<boolean>;
  /** Extends leases: `sure` ones, which cannot have expired, are added again where they were lost. */
  renew(sure: readonly string[], others: readonly string[]): Promise<void>;
  /** The leases of this process that are taken and nobody here knows. */
  unknownLeases(isKnown: (token: string) => boolean): Promise<readonly string[]>;
  holdAll(askedMs: number, maxHoldMs: number): Promise<ServiceHold>;
  /** A later hold is the first of a new series. */
  endSeries(): void;
  /**
   * Records what failed, by names that differ for different requests. Returns the outage, if the circuit is open, and whether
   * what failed was the request that tried.
   */
  recordFailure(
    fault: string,
    longestPauseMs: number,
    failed: readonly string[],
  ): Promise<{ readonly outage: ServiceOutage | undefined; readonly hasTried: boolean }>;
  /** Called when leases may have been lost. */
  onRestored(check: () => void): void;
  close(): void;
}
