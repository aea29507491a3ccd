/** The text of an error that ends a command: a sentence and a remedy; the stack only on request. */
import { folded, foldedHint } from './table.ts';
import { adviceOf } from './actions.ts';
import type { Action } from '../../core/base/action.ts';
import { faultOf, UsageError, WellsyncError } from '../../core/base/errors.ts';

/** `issues` holds every fault found, for a UsageError. */
export interface FaultDocument {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** Text for the command line. */
    readonly hint: string | null;
    readonly action: Action | null;
    readonly issues: readonly string[];
  };
}

const bugHint = 'Run it again with WELLSYNC_DEBUG=1 to see where, and report that.';

/** Marks an unknown error as a fault of wellsync. */
export function faultDocument(error: unknown): FaultDocument {
  const fault = faultOf(error);
  const { code, message, action } = fault;
  const isKnown = error instanceof WellsyncError;
  return {
    error: {
      code,
      message: isKnown ? error.message : `this is a fault of wellsync itself: ${message}`,
      hint: isKnown ? (adviceOf(fault) ?? null) : bugHint,
      action: action ?? null,
      issues: error instanceof UsageError ? error.issues : [],
    },
  };
}

/** `width`: columns of the terminal, Infinity without one. */
export function faultText(error: unknown, width: number): string {
  const { message, hint, issues } = faultDocument(error).error;
  return [
    folded(`wellsync: ${message}`, width),
    ...issues.map((issue) => folded(`  - ${issue}`, width, '    ')),
    ...(hint === null ? [] : [foldedHint(hint, width)]),
  ].join('\n');
}

/** The stack with the stacks of its causes, on request. */
export function stackText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\nCaused by: ${stackText(error.cause)}`;
}
