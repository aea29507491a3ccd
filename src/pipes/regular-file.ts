/** Opens a file that an operator names, and nothing that may never begin or never end: a pipe, a device, a socket. */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Its code is no code of the system: core/base/file-fault.ts has the words. */
class NoRegularFileError extends Error {
  override readonly name = 'NoRegularFileError';
  readonly code: string;

  constructor(path: string, code: 'EISDIR' | 'ENOTREG') {
    super(`${path} is no regular file`);
    this.code = code;
  }
}

/** Follows links. Throws an error with a code, of the system or ENOTREG. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  // Without O_NONBLOCK the opening of a pipe waits for a writer, in a thread that nothing can stop.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await handle.stat();
  if (stats.isFile()) return handle;
  await handle.close();
  throw new NoRegularFileError(path, stats.isDirectory() ? 'EISDIR' : 'ENOTREG');
}
