/**
 * How the working process and the commands of its host speak: calls of the queue's port as lines of JSON, over a
 * socket.
 */
import { chmod, lstat, mkdir } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { codeOf } from '../../core/base/file-fault.ts';
import type { RunQueue } from '../port.ts';

/** What a command may say in a line: a longer one ends the connection. A metric report has some ten thousand bytes. */
export const mostCallChars = 4_000_000;

export const callSchema = z.strictObject({ id: z.int(), call: z.string(), args: z.array(z.unknown()) });
export const answerSchema = z.strictObject({
  id: z.int(),
  value: z.unknown().optional(),
  error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
});

export type CallMessage = z.infer<typeof callSchema>;
export type AnswerMessage = z.infer<typeof answerSchema>;

/** Resolves when the system has the message, or the connection has ended. */
export function send(socket: Socket, message: CallMessage | AnswerMessage): Promise<void> {
  const line = `${JSON.stringify(message, (_, value: unknown) => encoded(value))}\n`;
  return new Promise((resolve) => {
    if (!socket.writable) return resolve();
    socket.write(line, () => resolve());
  });
}

/** Called with each line that is JSON; the connection ends with one that is not, or that is longer than `mostChars`. */
export function receive(socket: Socket, onMessage: (message: unknown) => void, mostChars = Infinity): void {
  let pending = 0;
  socket.on('data', (data: Buffer) => {
    const end = data.lastIndexOf(10);
    pending = end < 0 ? pending + data.length : data.length - end - 1;
    if (pending > mostChars) socket.destroy();
  });
  const lines = createInterface({ input: socket, crlfDelay: Infinity });
  lines.on('line', (line) => {
    try {
      onMessage(JSON.parse(line, (_, value: unknown) => decoded(value)));
    } catch {
      socket.destroy();
    }
  });
  lines.on('error', () => socket.destroy());
}

/** JSON has no maps. */
function encoded(value: unknown): unknown {
  return value instanceof Map ? { $map: [...(value as ReadonlyMap<unknown, unknown>)] } : value;
}

function decoded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('$map' in value)) return value;
  return new Map(value.$map as ReadonlyArray<readonly [unknown, unknown]>);
}

// What a command asks of the queue of the working process: these calls of the port, and no others.

const runId = z.string().min(1).max(200);
const run = z.tuple([runId]);
const runOfGeneration = z.tuple([runId, z.int()]);
const nothing = z.tuple([]);
const figures = z.map(z.string().max(1_000), z.number());
const fault = z.object({ code: z.string(), message: z.string() }).loose();
const stopRequest = z.union([
  z.strictObject({ kind: z.literal('cancel'), requestedBy: z.string() }),
  z.strictObject({ kind: z.literal('stop'), fault }),
]);

/** By its name, the arguments of each. */
const ofQueue = {
  submit: runOfGeneration,
  isSubmitted: runOfGeneration,
  hasten: runOfGeneration,
  chunkStatuses: run,
  workers: nothing,
  itemCounts: nothing,
} as const;

const ofParts = {
  identity: { read: nothing },
  progress: {
    read: run,
    requestStop: z.tuple([runId, stopRequest]),
    forget: run,
    finish: z.tuple([runId, z.enum(['queued', 'running', 'done', 'failed', 'cancelled', 'interrupted'])]),
  },
  serviceHold: { read: nothing, readOutage: nothing, lift: nothing },
  metrics: { raise: z.tuple([z.string().max(200), figures]), set: z.tuple([figures]), read: nothing },
  runLog: { read: run },
} as const;

type Parts = typeof ofParts;

export type Asked = Pick<RunQueue, keyof typeof ofQueue> & {
  readonly [Part in keyof Parts]: Pick<RunQueue[Part], keyof Parts[Part] & keyof RunQueue[Part]>;
};

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** The calls by their names, such as `progress.read`. They reject arguments of another shape. */
export function callsOf(queue: Asked): ReadonlyMap<string, Method> {
  const methods = (part: object, schemas: Readonly<Record<string, z.ZodType<readonly unknown[]>>>, prefix = '') =>
    Object.entries(schemas).map(([name, schema]): readonly [string, Method] => {
      const method = (part as Readonly<Record<string, Method>>)[name]?.bind(part) as Method;
      return [`${prefix}${name}`, async (...args) => method(...schema.parse(args))];
    });
  const inParts = Object.entries(ofParts).flatMap(([part, schemas]) =>
    methods(queue[part as keyof Parts], schemas, `${part}.`),
  );
  return new Map([...methods(queue, ofQueue), ...inParts]);
}

/** The same calls over a connection. */
export function askedThrough(call: (name: string, args: readonly unknown[]) => Promise<unknown>): Asked {
  const methods = (names: object, prefix = ''): Readonly<Record<string, Method>> =>
    Object.fromEntries(Object.keys(names).map((name) => [name, (...args) => call(`${prefix}${name}`, args)]));
  const parts = Object.entries(ofParts).map(([part, names]) => [part, methods(names, `${part}.`)]);
  return { ...methods(ofQueue), ...Object.fromEntries(parts) } as Asked;
}

// Where the working process of a warehouse listens for the commands of its host: a Unix socket, or a named pipe on Windows,
// for its owner alone. Each process has a name of its own, by its id, so that none takes the place of another.

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
