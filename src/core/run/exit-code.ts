/** The exit codes of docs/design.md section 8. */
import {
  AbortedError,
  type Fault,
  ServiceHoldError,
  TakenOverError,
  TransientError,
  UnreachableError,
  UsageError,
} from '../base/errors.ts';
import type { RunReport } from './run.ts';

export const exitCodes = {
  done: 0,
  failed: 1,
  wrongUse: 2,
  doneWithExceptions: 3,
  /** The run was cancelled, or the operator stopped waiting for its end. */
  cancelled: 4,
  unreachable: 5,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

const fromBestToWorst: readonly ExitCode[] = [
  exitCodes.done,
  exitCodes.doneWithExceptions,
  exitCodes.cancelled,
  exitCodes.unreachable,
  exitCodes.failed,
  exitCodes.wrongUse,
];

/** The exit code of a command that did two things. */
export function worseOf(one: ExitCode, other: ExitCode): ExitCode {
  return fromBestToWorst.indexOf(one) > fromBestToWorst.indexOf(other) ? one : other;
}

/** A warehouse that another process holds too long counts as unreachable. */
export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof UsageError) return exitCodes.wrongUse;
  const unreachable = [UnreachableError, TransientError, ServiceHoldError, TakenOverError];
  if (unreachable.some((kind) => error instanceof kind)) return exitCodes.unreachable;
  if (error instanceof AbortedError) return exitCodes.cancelled;
  return exitCodes.failed;
}

/**
 * The exit code of a finished run; `hasExceptions` (job-description.ts) turns `done` into exit code 3. `unreachedBy`: codes of
 * failures of its job by which the service was not reached.
 */
export function exitCodeOfReport(
  report: RunReport,
  hasExceptions: boolean,
  unreachedBy: readonly string[] = [],
): ExitCode {
  if (report.state === 'failed') return isUnreached(report, unreachedBy) ? exitCodes.unreachable : exitCodes.failed;
  if (report.state === 'cancelled' || report.state === 'interrupted') return exitCodes.cancelled;
  return hasExceptions ? exitCodes.doneWithExceptions : exitCodes.done;
}

/** Whether nothing but a hold of the service, or what its job names, kept the run from its end. */
function isUnreached({ stopped, failures }: RunReport, unreachedBy: readonly string[]): boolean {
  const faults = stopped === undefined ? failures : [stopped];
  const isOne = ({ code }: Fault): boolean => code === 'service-hold' || unreachedBy.includes(code);
  return faults.length > 0 && faults.every(isOne);
}
