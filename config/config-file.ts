import { readFileSync, statSync } from 'node:fs';
import { UsageError } from '../src/core/base/errors.ts';
import { fileReason } from '../src/core/base/file-fault.ts';
import { figure } from '../src/core/base/text.ts';

export const memoryVariable = 'WELLSYNC_WORKER_MEMORY_MB';

export const redisVariable = 'WELLSYNC_REDIS_URL';

/** Where the configuration file is named, for those who need no more of the configuration. */
export const configFileVariable = 'WELLSYNC_CONFIG';

/** Read when no other file is named and this one exists. */
export const defaultConfigFile = 'config/wellsync.yaml';

// Reads a small text file that an operator names: a regular file of a bounded size, and nothing that never ends.

/** Larger than any configuration, and small enough to be parsed at once. */
const maxBytes = 1024 * 1024;

/** Its text in UTF-8. `called`: `the configuration file`. Throws UsageError; the message holds no content (G10). */
export function readSmallFile(file: string, called: string, hint: string): string {
  const refuse = (why: string, cause?: unknown): UsageError =>
    new UsageError(`${called} ${file} cannot be read: ${why}`, { hint, cause });
  try {
    const stats = statSync(file);
    // A device or a pipe may never end, or never begin.
    if (!stats.isFile()) throw refuse(stats.isDirectory() ? 'it is a folder' : 'it is no regular file');
    if (stats.size > maxBytes) throw refuse(`it has ${figure(stats.size)} bytes, and may have ${figure(maxBytes)}`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw error instanceof UsageError ? error : refuse(fileReason(error), error);
  }
}

/** Separate from the schema, so that the command line can list the levels without loading it. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
