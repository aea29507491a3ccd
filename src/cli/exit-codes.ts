/** Owns the exit codes of DESIGN.md section 8, and decides which error ends with which. */
import { AbortedError, TransientError, UnreachableError, UsageError } from '../core/errors.ts';

export const exitCodes = {
  done: 0,
  failed: 1,
  wrongUse: 2,
  doneWithExceptions: 3,
  /** The run was cancelled, or the operator left before its end. */
  cancelled: 4,
  unreachable: 5,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A warehouse that another process holds for too long counts as one that could not be reached. */
export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof UsageError) return exitCodes.wrongUse;
  if (error instanceof UnreachableError) return exitCodes.unreachable;
  if (error instanceof TransientError) return exitCodes.unreachable;
  if (error instanceof AbortedError) return exitCodes.cancelled;
  return exitCodes.failed;
}
