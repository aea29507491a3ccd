/** Outages: states of a part of the installation that pass. Work is held meanwhile, and no attempt is used. */
import { OutageError, type OutagePart, TransientError, UnreachableError } from './errors.ts';

/** The part whose outage an error reports; undefined for any other error. */
export function outagePartOf(error: unknown): OutagePart | undefined {
  if (error instanceof OutageError || error instanceof UnreachableError) return error.part;
  return error instanceof TransientError && error.serviceDown ? 'service' : undefined;
}

/** Another process has the file of the warehouse, or its rows: it is at work. */
export function isBusy(error: unknown): boolean {
  return error instanceof TransientError && error.code === 'warehouse-busy';
}

/**
 * The part of our own that a chunk waits for, by the errors of its open units. Requests wait for the service before they
 * are sent, so that a unit that failed for it has waited.
 */
export function outageOfUnits(errors: readonly unknown[]): Exclude<OutagePart, 'service'> | undefined {
  for (const error of errors) {
    const part = outagePartOf(error);
    if (part !== undefined && part !== 'service') return part;
  }
  return undefined;
}

/** Where a process records the outages that it meets. */
export interface OutageRecord {
  /** Records a failed use of a part; returns the milliseconds since its outage began. */
  down(part: OutagePart, reason: string): number;
  /** Records a successful use of a part, which ends its outage. */
  up(part: OutagePart): void;
}

const longestPollMs = 30_000;

/** The pause before a part that has been down for `downForMs` is tried again: work resumes within a minute (G7). */
export function holdDelayMs(downForMs: number): number {
  return Math.min(longestPollMs, 1_000 + downForMs / 2);
}

const firstLineAgainMs = 60_000;

/**
 * When an outage is logged again, in milliseconds since it began: after 1, 2, 4, 8, … minutes, so that an outage of any
 * length is a handful of lines.
 */
export function nextLineMs(downForMs: number): number {
  return Math.max(firstLineAgainMs, 2 * downForMs);
}
