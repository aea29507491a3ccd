/** Outages: states of a part of the installation that pass. Work is held meanwhile, and no attempt is used. */
import { OutageError, type OutagePart, TransientError, UnreachableError } from './errors.ts';

/** The part whose outage an error reports; undefined for any other error. */
export function outagePartOf(error: unknown): OutagePart | undefined {
  if (error instanceof OutageError || error instanceof UnreachableError) return error.part;
  return error instanceof TransientError && error.serviceDown ? 'service' : undefined;
}

/**
 * The part that a chunk waits for, by the errors of its open units: one of our own if any unit met its outage, the
 * service only if every unit did.
 */
export function outageOfUnits(errors: readonly unknown[]): OutagePart | undefined {
  const parts = errors.map(outagePartOf);
  const own = parts.find((part) => part !== undefined && part !== 'service');
  if (own !== undefined) return own;
  return parts.length > 0 && parts.every((part) => part === 'service') ? 'service' : undefined;
}

/** Where a process records the outages that it meets. */
export interface OutageRecord {
  /** Records a failed use of a part; returns the milliseconds since its outage began. */
  down(part: OutagePart, reason: string): number;
  /** Records a successful use of a part, which ends its outage. */
  up(part: OutagePart): void;
}

const longestLookMs = 30_000;

/** The pause before a part that has been down for `downForMs` is tried again: work resumes within a minute (G7). */
export function holdDelayMs(downForMs: number): number {
  return Math.min(longestLookMs, 1_000 + downForMs / 2);
}

const firstLineAgainMs = 60_000;

/**
 * When an outage is logged again, in milliseconds since it began: after 1, 2, 4, 8, … minutes, so that an outage of any
 * length is a handful of lines.
 */
export function nextLineMs(downForMs: number): number {
  return Math.max(firstLineAgainMs, 2 * downForMs);
}
