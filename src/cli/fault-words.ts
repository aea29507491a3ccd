/** Decides how an error that ends a command is told: a sentence, what to do, and no stack unless asked for. */
import { folded, foldedHint } from './folded-text.ts';
import { faultOf, UsageError, WellsyncError } from '../core/errors.ts';

/** `issues` holds every fault found, for a UsageError. */
export interface FaultDocument {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint: string | null;
    readonly issues: readonly string[];
  };
}

const bugHint = 'Run it again with WELLSYNC_DEBUG=1 to see where, and report that.';

/** An error that nobody foresaw is named as the fault of wellsync that it is. */
export function faultDocument(error: unknown): FaultDocument {
  const { code, message, hint } = faultOf(error);
  const isKnown = error instanceof WellsyncError;
  return {
    error: {
      code,
      message: isKnown ? error.message : `this is a fault of wellsync itself: ${message}`,
      hint: isKnown ? (hint ?? null) : bugHint,
      issues: error instanceof UsageError ? error.issues : [],
    },
  };
}

/** `width`: the columns of the terminal, Infinity where there is none. */
export function faultText(error: unknown, width: number): string {
  const { message, hint, issues } = faultDocument(error).error;
  return [
    folded(`wellsync: ${message}`, width),
    ...issues.map((issue) => folded(`  - ${issue}`, width, '    ')),
    ...(hint === null ? [] : [foldedHint(hint, width)]),
  ].join('\n');
}

/** The stack with those of its causes, for who asked for it. */
export function stackText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\nCaused by: ${stackText(error.cause)}`;
}
