/**
 * Owns the error classes of wellsync: the class of an error says what to do next, its code says what happened.
 *
 *   TransientError      try again later           RateLimitedError, with the server's own floor
 *   PermanentError      never the same request    NotFoundError, a fact about one target
 *   AccessError         stop the whole run        the service does not let us in
 *   AbortedError        hand the work back        shutdown or cancel, not a failure
 *   UsageError          refuse before starting    the operator's words are off (exit code 2)
 *   UnreachableError    refuse before starting    a part of the installation does not answer (exit code 5)
 *
 * Anything else is a bug: never retried, always shown with its stack. Messages are for the operator and never hold a
 * secret (G10); what came from the service is cut and cleaned before it gets here.
 */

interface ErrorDetails {
  /** What the operator can do about it, one sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** Base of every error that wellsync raises on purpose. `code` is stable and kebab-case. */
export abstract class WellsyncError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
  }
}

/** The same request may succeed later: a time-out, a reset, 408, 425, 5xx, a truncated body (DESIGN.md section 6). */
export class TransientError extends WellsyncError {
  override readonly name: string = 'TransientError';
  /** Nothing was heard from the service at all (refused, unknown host, no route): the queue holds back instead of counting attempts. */
  readonly serviceDown: boolean;

  constructor(code: string, message: string, details: ErrorDetails & { readonly serviceDown?: boolean } = {}) {
    super(code, message, details);
    this.serviceDown = details.serviceDown ?? false;
  }
}

/** A transient answer that carries Retry-After: `retryAfterMs` is a floor for every worker (G9). A 429 without one is plainly transient. */
export class RateLimitedError extends TransientError {
  override readonly name: string = 'RateLimitedError';
  readonly retryAfterMs: number;

  constructor(code: string, message: string, retryAfterMs: number, details: ErrorDetails = {}) {
    super(code, message, details);
    this.retryAfterMs = retryAfterMs;
  }
}

/** This request will never succeed as it is (400, 409, 413, 422): it goes to the dead letters, its neighbours go on. */
export class PermanentError extends WellsyncError {
  override readonly name: string = 'PermanentError';
  /** HTTP status that said so; undefined where the fault was found before anything was sent. */
  readonly status: number | undefined;

  constructor(code: string, message: string, details: ErrorDetails & { readonly status?: number } = {}) {
    super(code, message, details);
    this.status = details.status;
  }
}

/** 404: the service does not know this target. A fact about the target, not about the service. */
export class NotFoundError extends PermanentError {
  override readonly name: string = 'NotFoundError';
}

/** 401 after the token was renewed once, or 403: the run stops, since every further request would end the same. */
export class AccessError extends WellsyncError {
  override readonly name: string = 'AccessError';
}

/** Work was given up on request: a shutdown or a cancel. It is handed back, never counted as a failure. */
export class AbortedError extends WellsyncError {
  override readonly name: string = 'AbortedError';

  constructor(message = 'given up on request', details: ErrorDetails = {}) {
    super('aborted', message, details);
  }
}

/** The words of a command, a file or the configuration are off. `issues` holds every fault found, not just the first. */
export class UsageError extends WellsyncError {
  override readonly name: string = 'UsageError';
  readonly issues: readonly string[];

  constructor(message: string, details: ErrorDetails & { readonly issues?: readonly string[] } = {}) {
    super('usage', message, details);
    this.issues = details.issues ?? [];
  }
}

export type InstallationPart = 'redis' | 'warehouse' | 'service';

/** A part of the installation does not answer, or is not what it should be. */
export class UnreachableError extends WellsyncError {
  override readonly name: string = 'UnreachableError';
  readonly part: InstallationPart;

  constructor(part: InstallationPart, message: string, details: ErrorDetails = {}) {
    super(`${part}-unreachable`, message, details);
    this.part = part;
  }
}

/** An error as it is kept in a ledger or a report: no stack, no cause. */
export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** The lasting form of any thrown value, with every issue in its message; an unknown one is named as the bug that it is. */
export function faultOf(error: unknown): Fault {
  if (error instanceof WellsyncError) {
    const issues = error instanceof UsageError ? error.issues : [];
    const message = [error.message, issues.join('; ')].filter((part) => part !== '').join(': ');
    return { code: error.code, message, ...(error.hint === undefined ? {} : { hint: error.hint }) };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { code: 'bug', message, hint: 'This is a fault of wellsync itself: the log of the worker has the stack.' };
}
