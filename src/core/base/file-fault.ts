/** Plain-language reasons why a file cannot be read or written, by error code of the system. */
import { OutageError, type OutagePart, PermanentError } from './errors.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such folder',
  EISDIR: 'it is a folder',
  // Of wellsync itself: a pipe, a device or a socket.
  ENOTREG: 'it is no regular file',
  ENXIO: 'it is no regular file',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
};

/**
 * The reason after "cannot be read", such as `it is a folder`; the system's error code when the table has no text for
 * it.
 */
export function fileReason(error: unknown): string {
  const code = codeOf(error) || String(error);
  return reasons[code] ?? code;
}

/** States that pass: with room on the disk, or when a disk is there again. */
const passing: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an input/output error',
  ESTALE: 'the network file system has lost it',
  EMFILE: 'this process has too many files open',
  ENFILE: 'the system has too many files open',
};

/** Converts an error of the system that may pass to an OutageError (code `file-trouble`); undefined for any other. */
export function fileOutage(error: unknown, path: string, part: OutagePart = 'disk'): OutageError | undefined {
  const reason = isUnmade(error) ? 'its folder cannot be made: the disk is read-only or gone' : passing[codeOf(error)];
  if (reason === undefined) return undefined;
  return new OutageError(part, 'file-trouble', `${path} cannot be used: ${reason}`, {
    hint: 'Make room, or repair the disk: the work goes on then.',
    cause: error,
  });
}

/** Node answers ENOENT where it makes folders on a disk that is read-only. */
function isUnmade(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' && (error as NodeJS.ErrnoException).syscall === 'mkdir';
}

/** The code of an error of the system or of Node; empty for any other. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Faults of a place to write to that only the operator ends. */
const denials: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  ENOTDIR: 'a part of its path is a file',
  EISDIR: 'it is a folder',
};

/** The reason after "cannot be written"; undefined for an error that is none of a file. */
export function writeReason(error: unknown): string | undefined {
  const code = codeOf(error);
  return code === 'ENOENT' ? 'there is no such folder' : (passing[code] ?? denials[code]);
}

function denied(error: unknown, path: string): PermanentError | undefined {
  const reason = denials[codeOf(error)];
  if (reason === undefined) return undefined;
  return new PermanentError('file-denied', `${path} cannot be written: ${reason}`, {
    hint: 'Let this user write there, or set WELLSYNC_DATA_DIR to a folder where it may.',
    cause: error,
  });
}

/**
 * Runs the work that writes a file; throws OutageError for a state of its disk that passes, PermanentError
 * (`file-denied`) where this user may not write.
 */
export async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileOutage(error, path) ?? denied(error, path) ?? error;
  }
}
