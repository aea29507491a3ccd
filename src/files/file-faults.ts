/** Faults of a store of files, in words that are the same for a folder and for S3. */
import { TransientError, UnreachableError } from '../core/base/errors.ts';

const damaged = 'file-damaged';

/** The store answers, and its file is not the one that was put there. `how`: what differs. */
export function damagedFile(place: string, how: string): TransientError {
  return new TransientError(damaged, `${place} is not the file that was put there: ${how}`, {
    hint: 'The store of files.url has lost or changed a part of it. Check the store, and push the file again: that replaces it.',
  });
}

export function isDamage(error: unknown): boolean {
  return error instanceof TransientError && error.code === damaged;
}

/** For a file whose content counts as none if it is not the one that was put there. */
export function noneIfDamaged(error: unknown): undefined {
  if (!isDamage(error)) throw error;
}

/** The store has kept another size than it was sent: nothing is queued then. */
export function lostPart(place: string, sentBytes: number, keptBytes: number | undefined): UnreachableError {
  const kept = keptBytes === undefined ? 'keeps no such file' : `keeps ${keptBytes} bytes`;
  return new UnreachableError('files', `the store was sent ${sentBytes} bytes for ${place} and ${kept}`, {
    hint: 'The store of files.url has lost a part of it: check the store before anything is pushed through it.',
  });
}
