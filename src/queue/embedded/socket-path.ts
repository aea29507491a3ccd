/**
 * Where the working process of a warehouse listens for the commands of its host: a Unix socket, or a named pipe on Windows,
 * for its owner alone. Each process has a name of its own, by its id, so that none takes the place of another.
 */
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { codeOf } from '../../core/base/file-fault.ts';

/** A longer path is cut off by the system, on macOS beyond 103 bytes. */
const mostPathBytes = 100;

/** Digits of the id in the name of a socket. */
const digits = 12;

/**
 * `databaseFile`: of a DuckDB warehouse, beside whose file the socket is; undefined for a server's, or where that path is too
 * long: then it is in a folder of the user for temporary files.
 */
export function socketPath(queueId: string, databaseFile: string | undefined): string {
  const id = queueId.slice(0, digits);
  if (process.platform === 'win32') return `\\\\.\\pipe\\wellsync-${queueId}`;
  const beside =
    databaseFile === undefined
      ? undefined
      : path.join(path.dirname(databaseFile), `.${path.basename(databaseFile)}.${id}.sock`);
  if (beside !== undefined && Buffer.byteLength(beside) <= mostPathBytes) return beside;
  return path.join(temporaryFolder(), `${id}.sock`);
}

function temporaryFolder(): string {
  return path.join(tmpdir(), `wellsync-${userInfo().username}`);
}

/**
 * Makes the folder, where it is that for temporary files; nobody else may look into it. Returns false where it is another
 * user's: who made it first could put a socket of his own there.
 */
export async function prepareFolder(socket: string): Promise<boolean> {
  const folder = temporaryFolder();
  if (path.dirname(socket) !== folder) return true;
  if (Buffer.byteLength(socket) > mostPathBytes) throw new Error(`its path has more than ${mostPathBytes} bytes`);
  // Not with `recursive`: Node retries for ever where none can be made, as in /proc.
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
  if (!(await isOwn(socket))) return false;
  await chmod(folder, 0o700);
  return true;
}

/** Whether a socket may be trusted: its folder for temporary files is of this user. */
export async function isOwn(socket: string): Promise<boolean> {
  const folder = temporaryFolder();
  if (process.platform === 'win32' || path.dirname(socket) !== folder) return true;
  const found = await lstat(folder).catch(() => undefined);
  return found === undefined || (found.isDirectory() && found.uid === process.getuid?.());
}

/** Whether a file beside a database is named as the socket of a process that works, or worked, it. */
export function isSocketOf(databaseFile: string, name: string): boolean {
  const [prefix, suffix] = [`.${path.basename(databaseFile)}.`, '.sock'];
  return name.startsWith(prefix) && name.endsWith(suffix) && name.length === prefix.length + digits + suffix.length;
}
