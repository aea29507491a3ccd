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
 * `beside`: the database file, or for a warehouse of a server a name in the data folder, which all commands of an installation
 * have. Where that path is too long the socket is in a folder of the user for temporary files.
 */
export function socketPath(queueId: string, beside: string): string {
  const id = queueId.slice(0, digits);
  if (process.platform === 'win32') return `\\\\.\\pipe\\wellsync-${queueId}`;
  const socket = path.join(path.dirname(beside), `.${path.basename(beside)}.${id}.sock`);
  if (Buffer.byteLength(socket) <= mostPathBytes) return socket;
  return path.join(temporaryFolder(), `${id}.sock`);
}

function temporaryFolder(): string {
  // A container may run under a user id without a name.
  return path.join(tmpdir(), `wellsync-${process.getuid?.() ?? userInfo().username}`);
}

/**
 * Makes the folder. Into that for temporary files nobody else may look. Returns false where it is another
 * user's: who made it first could put a socket of his own there.
 */
export async function prepareFolder(socket: string): Promise<boolean> {
  const folder = temporaryFolder();
  if (path.dirname(socket) !== folder) {
    // The socket tells, where it cannot be made.
    await mkdir(path.dirname(socket)).catch(() => undefined);
    return true;
  }
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

/** Whether a file is named as the socket of a process that works, or worked, the warehouse. */
export function isSocketOf(beside: string, name: string): boolean {
  const [prefix, suffix] = [`.${path.basename(beside)}.`, '.sock'];
  return name.startsWith(prefix) && name.endsWith(suffix) && name.length === prefix.length + digits + suffix.length;
}
