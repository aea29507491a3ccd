/** Recognises what DuckDB says, by its words: its errors carry no code. */
import { PermanentError, TransientError, WellsyncError } from '../../core/errors.ts';

/** DuckDB's message, without the excerpt of the statement that follows it. */
export function wordsOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n\n', 1)[0] ?? message).trim();
}

export interface LockHolder {
  readonly pid: number | undefined;
  readonly program: string | undefined;
}

/** Who holds the file, where the error says that another process does. */
export function lockHolder(error: unknown): LockHolder | undefined {
  const words = wordsOf(error);
  if (!/could not set lock on file/i.test(words)) return undefined;
  const held = /held in (?<program>.+?) \(PID (?<pid>\d+)\)/.exec(words)?.groups;
  return { pid: held?.['pid'] === undefined ? undefined : Number(held['pid']), program: held?.['program'] };
}

/**
 * An error of a transaction as wellsync's classes have it: no room on the disk may pass, too little memory does not pass
 * by itself. Anything else stays what it is.
 */
export function classified(error: unknown, location: string): unknown {
  if (error instanceof WellsyncError) return error;
  const words = wordsOf(error);
  if (words.startsWith('Out of Memory Error')) {
    return new PermanentError('warehouse-memory', `${location}: ${words}`, {
      hint: "Raise the warehouse's memory limit, or make the chunks smaller.",
      cause: error,
    });
  }
  if (/^(?:IO Error|FATAL Error)/.test(words)) {
    return new TransientError('warehouse-io', `${location}: ${words}`, {
      hint: 'See whether its disk is full or has gone.',
      cause: error,
    });
  }
  return error;
}
