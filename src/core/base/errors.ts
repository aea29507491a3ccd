/**
 * Error classes of wellsync. The class of an error decides how the caller reacts; its code names the fault.
 *
 *   TransientError      try again later           RateLimitedError carries the server's minimum delay
 *                                                 OutageError: a part of the installation; uses no attempt
 *   ServiceHoldError    end the units             the service asked all to wait for too long
 *   PermanentError      never the same request    NotFoundError concerns one target
 *   AccessError         stop the whole run        the service refuses access
 *   AbortedError        hand the work back        shutdown or cancel, not a failure
 *                                                 TakenOverError: another queue has the warehouse
 *   BlockedError        look again later          another run must end first
 *   UsageError          refuse before starting    the operator's input is wrong (exit code 2)
 *   UnreachableError    refuse before starting    a part of the app does not answer (exit code 5)
 *
 * Anything else is a bug: never retried, always shown with its stack. Messages are for the operator and never hold a
 * secret (G10); text from the service is cut and cleaned before it becomes part of one.
 */
import type { Action } from './action.ts';

interface ErrorDetails {
  /** Advice for the operator that holds for every face: it names no command and no flag. */
  readonly hint?: string;
  /** An action of the operator, worded by each face. */
  readonly action?: Action;
  readonly cause?: unknown;
}

/** Base of every error that wellsync raises on purpose. `code` is stable and kebab-case. */
export abstract class WellsyncError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly action: Action | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.action = details.action;
  }
}

/**
 * The same request may succeed later: a time-out, a reset, 408, 425, 5xx, a truncated body (docs/design.md section 6).
 */
export class TransientError extends WellsyncError {
  override readonly name: string = 'TransientError';
  /**
   * No connection to the service was made (refused, unknown host, no route): the queue pauses instead of counting
   * attempts.
   */
  readonly serviceDown: boolean;

  constructor(code: string, message: string, details: ErrorDetails & { readonly serviceDown?: boolean } = {}) {
    super(code, message, details);
    this.serviceDown = details.serviceDown ?? false;
  }
}

/**
 * A transient answer with Retry-After: `retryAfterMs` is a minimum delay for every worker (G9). A 429 without one is a
 * plain TransientError.
 */
export class RateLimitedError extends TransientError {
  override readonly name: string = 'RateLimitedError';
  readonly retryAfterMs: number;

  constructor(code: string, message: string, retryAfterMs: number, details: ErrorDetails = {}) {
    super(code, message, details);
    this.retryAfterMs = retryAfterMs;
  }
}

/** A part whose outage holds the work; `disk`: a disk that holds other files than the warehouse. */
export type OutagePart = InstallationPart | 'disk';

/**
 * A part of the installation is in a state that passes: a full disk, a read-only file system, a Redis without memory.
 * Work is held and no attempt is used (docs/design.md section 5).
 */
export class OutageError extends TransientError {
  override readonly name: string = 'OutageError';
  readonly part: OutagePart;

  constructor(part: OutagePart, code: string, message: string, details: ErrorDetails = {}) {
    super(code, message, details);
    this.part = part;
  }
}

/**
 * The service asked all workers to wait longer than this request waits (G9): the unit ends as `service-hold`, and no
 * other request is tried before the hold is over.
 */
export class ServiceHoldError extends WellsyncError {
  override readonly name: string = 'ServiceHoldError';

  constructor(message: string, details: ErrorDetails = {}) {
    super('service-hold', message, details);
  }
}

/**
 * This request will never succeed as it is (400, 409, 413, 422): it becomes a dead letter, and the other units
 * continue.
 */
export class PermanentError extends WellsyncError {
  override readonly name: string = 'PermanentError';
  /** HTTP status of the answer; undefined when the fault was found before anything was sent. */
  readonly status: number | undefined;

  constructor(code: string, message: string, details: ErrorDetails & { readonly status?: number } = {}) {
    super(code, message, details);
    this.status = details.status;
  }
}

/** 404: the service does not know this target. It concerns the target, not the service. */
export class NotFoundError extends PermanentError {
  override readonly name: string = 'NotFoundError';
}

/** 401 after the token was renewed once, or 403: the run stops, because every further request would end the same. */
export class AccessError extends WellsyncError {
  override readonly name: string = 'AccessError';
}

/** Work stopped on request, by a shutdown or a cancel. It is handed back, never counted as a failure. */
export class AbortedError extends WellsyncError {
  override readonly name: string = 'AbortedError';

  constructor(message = 'given up on request', details: ErrorDetails = {}) {
    super('aborted', message, details);
  }
}

/** The work must wait until another run has ended. It is tried again after `delayMs`, and no attempt is used. */
export class BlockedError extends WellsyncError {
  override readonly name: string = 'BlockedError';
  readonly delayMs: number;

  constructor(code: string, message: string, delayMs: number) {
    super(code, message);
    this.delayMs = delayMs;
  }
}

/**
 * Another queue has taken the warehouse over (G11): this worker commits nothing more and stops. No work is lost,
 * because the other queue has it.
 */
export class TakenOverError extends AbortedError {
  override readonly name: string = 'TakenOverError';
  override readonly code: string = 'taken-over';

  constructor() {
    super('the warehouse was taken over by another queue, or its service was changed: this process stops', {
      hint: 'Its runs go on there. A process that was stopped or suspended for 45 s is taken over; else see that all workers have the same service, and the same settings of Redis or none.',
    });
  }
}

/** Faults in a command, a file or the configuration. `issues` holds every fault found, not just the first. */
export class UsageError extends WellsyncError {
  override readonly name: string = 'UsageError';
  readonly issues: readonly string[];

  constructor(message: string, details: ErrorDetails & { readonly issues?: readonly string[] } = {}) {
    super('usage', message, details);
    this.issues = details.issues ?? [];
  }
}

/** A packed file that is small, and unpacks to a disk's worth or to hours of work. */
export class UnpacksTooFarError extends WellsyncError {
  override readonly name = 'UnpacksTooFarError';

  constructor(message: string, hint: string) {
    super('unpacks-too-far', message, { hint });
  }
}

/** `files`: the place of the files that several hosts share. */
export type InstallationPart = 'redis' | 'warehouse' | 'service' | 'files';

/** A part of the app does not answer, or is not of the required kind. */
export class UnreachableError extends WellsyncError {
  override readonly name: string = 'UnreachableError';
  readonly part: InstallationPart;

  constructor(part: InstallationPart, message: string, details: ErrorDetails = {}) {
    super(`${part}-unreachable`, message, details);
    this.part = part;
  }
}

/**
 * The file of the warehouse was removed or replaced under this process: what it commits would be lost, so it commits
 * nothing more and stops. No new file is made in its place.
 */
export class WarehouseGoneError extends UnreachableError {
  override readonly name: string = 'WarehouseGoneError';

  constructor(path: string) {
    super('warehouse', `the warehouse ${path} was removed or replaced while this process used it`, {
      hint: 'Put the file back, or mount its disk again, and start again: no file was made in its place.',
    });
  }
}

/** An error as a ledger or a report keeps it: no stack, no cause. */
export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly action?: Action;
}

/**
 * Converts any thrown value to the stored form, with every issue in its message. An unknown error is marked as a bug.
 */
export function faultOf(error: unknown): Fault {
  if (error instanceof WellsyncError) {
    const issues = error instanceof UsageError ? error.issues : [];
    const message = [error.message, issues.join('; ')].filter((part) => part !== '').join(': ');
    const { code, hint, action } = error;
    return { code, message, ...(hint === undefined ? {} : { hint }), ...(action === undefined ? {} : { action }) };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { code: 'bug', message, hint: 'This is a fault of wellsync itself: the log of the worker has the stack.' };
}

// Outages: states of a part of the installation that pass. Work is held meanwhile, and no attempt is used.

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
