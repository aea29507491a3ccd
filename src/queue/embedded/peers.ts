/**
 * The process that works the warehouse, as another one of its host finds it: its id, whether it lives, and the way to
 * its queue.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { Presence } from '../../core/run/warehouse-queue.ts';
import { sleep } from '../../timers/sleep.ts';
import {
  answerSchema,
  type Asked,
  askedThrough,
  isOwn,
  isSocketOf,
  receive,
  send,
  socketPath,
} from './socket-protocol.ts';
import { createConnection, type Socket } from 'node:net';
import { AbortedError, OutageError, UnreachableError } from '../../core/base/errors.ts';
import { codeOf } from '../../core/base/file-fault.ts';

/** How long a process that did not answer is not asked again. */
const silentMs = 5_000;

/** How often one that is waited for is looked for. */
const retryEveryMs = 500;

/** A lost session of a server is made again within it: an attempt has 10 s (src/warehouse/postgres/presence.ts). */
const madeAgainMs = 12_000;

export interface PeerOptions {
  /** Of this process. */
  readonly queueId: string;
  /** What the sockets lie beside (socket-protocol.ts). */
  readonly beside: string;
  /** Whether the warehouse is a server's, which other hosts may work, rather than a file of this one. */
  readonly isOfServer: boolean;
  /** What the warehouse itself knows of the working process. */
  readonly presence: Presence;
  /** Whether the last beat is young enough for its process to live. */
  readonly isBeating: () => Promise<boolean>;
  /** The queue of the last beat; undefined where nobody works. */
  readonly owner: () => Promise<string | undefined>;
}

/** Until when a socket is not asked, for all apps of this process: a doctor has one for each of its checks. */
const silentUntilMs = new Map<string, number>();

export class Peers {
  readonly #options: PeerOptions;
  #peer: QueuePeer | undefined;
  #connecting: Promise<QueuePeer | undefined> | undefined;
  /** Of the last owner. */
  #socket = '';

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** The one that was reached, for as long as it lives. */
  get reached(): QueuePeer | undefined {
    return this.#peer?.closed.aborted === false ? this.#peer : undefined;
  }

  /**
   * Undefined where none can be reached, and for this process. One that is there and says nothing, as it is stopped or its
   * host is busy, is waited for while it beats, `patienceMs` at most.
   */
  async find({ patienceMs = 0, onSilent = () => {} }: { patienceMs?: number; onSilent?: () => void } = {}) {
    const untilMs = performance.now() + patienceMs;
    for (let isFirst = true; ; isFirst = false) {
      const found = this.reached ?? (await this.#connectOnce());
      const isWaiting = found === undefined && this.#isSilent && performance.now() < untilMs;
      if (!isWaiting || !(await this.#options.isBeating())) return found;
      if (isFirst) onSilent();
      await sleep(retryEveryMs);
    }
  }

  get #isSilent(): boolean {
    return performance.now() < (silentUntilMs.get(this.#socket) ?? 0);
  }

  /** Questions that come side by side share a connection. */
  #connectOnce(): Promise<QueuePeer | undefined> {
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #connect(): Promise<QueuePeer | undefined> {
    // A list asks of each of its runs.
    if (this.#isSilent) return undefined;
    const socket = await this.#socketOfOwner();
    if (socket === undefined || this.#isSilent) return undefined;
    const found = await connectToPeer(socket);
    if (found.kind === 'silent') this.ignore();
    if (found.kind === 'open') this.#peer = found.peer;
    return this.reached;
  }

  async #socketOfOwner(): Promise<string | undefined> {
    const { queueId, beside, owner } = this.#options;
    const ownerId = await owner();
    this.#socket = ownerId === undefined || ownerId === queueId ? '' : socketPath(ownerId, beside);
    return this.#socket === '' ? undefined : this.#socket;
  }

  /** Asks nobody for a while: it says nothing, or speaks another language, such as that of another version. */
  ignore(): void {
    const nowMs = performance.now();
    for (const [socket, untilMs] of silentUntilMs) if (untilMs <= nowMs) silentUntilMs.delete(socket);
    silentUntilMs.set(this.#socket, nowMs + silentMs);
  }

  /** Lets the working process read what this one has left for it in the ledger. */
  async wake(): Promise<void> {
    if (this.reached !== undefined) return this.reached.wake();
    // One that is stopped reads the word when it goes on.
    const socket = this.#isSilent ? await this.#socketOfOwner() : undefined;
    if (socket !== undefined) await leaveWord(socket);
    await this.#options.presence.wake().catch(() => undefined);
  }

  /** Whether another process works that cannot be reached: it is on another host, or of another user. */
  async isWorkedOutOfReach(): Promise<boolean> {
    const { queueId, isBeating, owner } = this.#options;
    const ownerId = this.reached === undefined && (await isBeating()) ? await owner() : undefined;
    return ownerId !== undefined && ownerId !== queueId && !(await this.isGone(ownerId));
  }

  /**
   * Whether the process of a queue has certainly ended: nobody listens at its socket, and the database is of this host; or the
   * server knows no session of it.
   */
  async isGone(queueId: string): Promise<boolean> {
    const { beside, isOfServer, presence } = this.#options;
    if (isOfServer && (await presence.isGone(queueId)) !== true) return false;
    const listening = isOfThisSystem(queueId) ? await listeningAt(socketPath(queueId, beside)) : 'foreign';
    if (listening === 'refused') return true;
    if (listening === 'open' || listening === 'silent') return false;
    // Somebody may have removed it, or look for it elsewhere. A pipe is there as long as its process.
    if (!isOfServer) return process.platform === 'win32' && listening === 'absent';
    // It may be of another host, and make a session again that it has lost.
    await sleep(madeAgainMs);
    return (await presence.isGone(queueId)) === true;
  }

  /** Removes sockets at which nobody listens any more. */
  async removeDead(): Promise<void> {
    const { beside } = this.#options;
    if (process.platform === 'win32') return;
    const folder = path.dirname(beside);
    for (const name of await readdir(folder).catch(() => [])) {
      if (!isSocketOf(beside, name)) continue;
      const socket = path.join(folder, name);
      const isSocket = await lstat(socket).then(
        (found) => found.isSocket(),
        () => false,
      );
      if (isSocket && (await listeningAt(socket)) === 'refused') await rm(socket).catch(() => undefined);
    }
  }

  end(): void {
    this.#peer?.end();
  }
}

async function listeningAt(socket: string) {
  const found = await connectToPeer(socket);
  if (found.kind === 'open') found.peer.end();
  return found.kind;
}

// The id of a process that may work a warehouse without Redis. It names the running system too: whether a process has ended,
// only the system that ran it knows. A shared disk shows its socket to others, whose systems refuse it from the first.

/** Linux gives each start of a kernel an id, and all of its containers have the same one. */
function systemName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return hostname();
  }
}

let systemId: string | undefined;

function ofThisSystem(): string {
  systemId ??= createHash('sha256').update(`${process.platform} ${systemName()}`).digest('hex').slice(0, 8);
  return systemId;
}

/** Random; no two processes have the same one. */
export function newProcessId(): string {
  return `${randomUUID()}@${ofThisSystem()}`;
}

/** Whether the process of an id runs, or ran, on this system since its last start. */
function isOfThisSystem(processId: string): boolean {
  return processId.endsWith(`@${ofThisSystem()}`);
}

// The queue of the working process, as another command of the host sees it over its socket.

/**
 * Whether a process listens at a socket. `refused`: the system says that none does any more; `absent`: there is no such socket;
 * `silent`: one does that says nothing; `foreign`: it, or its folder, is another user's, and it is not asked.
 */
export type Listening =
  | { readonly kind: 'open'; readonly peer: QueuePeer }
  | { readonly kind: 'refused' | 'absent' | 'silent' | 'foreign' };

const refusals: ReadonlyMap<string, 'refused' | 'absent' | 'foreign'> = new Map([
  ['ECONNREFUSED', 'refused'],
  ['ENOENT', 'absent'],
  ['EACCES', 'foreign'],
  ['EPERM', 'foreign'],
]);

/** How long a working process may take to say a first word: one that is stopped is not waited for. */
const connectMs = 2_000;

/** Of a process that is asked something, and says nothing: it is asked whether it is there, and then given up. */
const silence = { askedAfterMs: 3_000, givenUpAfterMs: 8_000, checkEveryMs: 1_000 } as const;

async function connectToPeer(address: string): Promise<Listening> {
  if (!(await isOwn(address))) return { kind: 'foreign' };
  const socket = createConnection(address);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
      socket.setTimeout(connectMs, () => reject(new Error('no answer')));
    });
  } catch (error) {
    socket.destroy();
    const code = codeOf(error);
    return { kind: refusals.get(code) ?? 'silent' };
  }
  socket.setTimeout(0);
  const peer = new QueuePeer(socket);
  // The system takes connections for a process that is stopped.
  if (await peer.answers(connectMs)) return { kind: 'open', peer };
  peer.end();
  return { kind: 'silent' };
}

/** Leaves a word with a process that says nothing: the system keeps it for one that is stopped. Never rejects. */
async function leaveWord(address: string): Promise<void> {
  if (!(await isOwn(address))) return;
  const socket = createConnection(address);
  await new Promise<void>((resolve) => {
    socket.on('error', () => resolve());
    socket.setTimeout(connectMs, resolve);
    socket.once('connect', () => void send(socket, { id: 1, call: 'wake', args: [] }).then(resolve));
  });
  socket.destroy();
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class QueuePeer {
  /** Its queue. Calls reject with an OutageError where the working process has ended meanwhile. */
  readonly queue: Asked = askedThrough((name, args) => this.#call(name, args));
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #closed = new AbortController();
  #calls = 0;
  #heardAtMs = performance.now();
  #watching: NodeJS.Timeout | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    // A connection that nobody asks anything over does not keep the process.
    socket.unref();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearInterval(this.#watching);
      this.#closed.abort();
      for (const { reject } of this.#waiting.values()) reject(gone());
      this.#waiting.clear();
    });
    receive(socket, (message) => {
      const { id, value, error } = answerSchema.parse(message);
      // Its process ends: what was asked of it is asked of the next one.
      if (error?.code === takenOverCode) return void socket.destroy();
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      this.#heardAtMs = performance.now();
      if (this.#waiting.size === 0) this.#rest();
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(refused(error.message));
    });
  }

  /** Aborts when the working process has ended, or the connection is lost. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Whether it answers within a time. */
  async answers(withinMs: number): Promise<boolean> {
    const answer = this.#call('ping', []).then(
      () => true,
      () => false,
    );
    return Promise.race([answer, sleep(withinMs, { ref: false }).then(() => false)]);
  }

  /** Lets it read what other commands have changed. */
  async wake(): Promise<void> {
    await this.#call('wake', []);
  }

  /** Lets it send a request to the service. Rejects with AbortedError when the signal aborts. */
  async sendRequest(request: unknown, signal: AbortSignal): Promise<unknown> {
    let end = (): void => {};
    const aborted = new Promise<never>((_, reject) => (end = () => reject(new AbortedError())));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      return await Promise.race([this.#call('sendRequest', [request]), aborted]);
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  #call(call: string, args: readonly unknown[]): Promise<unknown> {
    if (this.closed.aborted) return Promise.reject(gone());
    this.#calls += 1;
    const id = this.#calls;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#socket.ref();
    this.#watching ??= this.#watch();
    void send(this.#socket, { id, call, args: [...args] });
    return answer;
  }

  /** Ends the connection to a process that was stopped with a question to answer. */
  #watch(): NodeJS.Timeout {
    this.#heardAtMs = performance.now();
    return setInterval(() => {
      const quietMs = performance.now() - this.#heardAtMs;
      if (quietMs >= silence.givenUpAfterMs) this.#socket.destroy();
      else if (quietMs >= silence.askedAfterMs) this.#call('ping', []).catch(() => undefined);
    }, silence.checkEveryMs).unref();
  }

  #rest(): void {
    clearInterval(this.#watching);
    this.#watching = undefined;
    this.#socket.unref();
  }

  end(): void {
    this.#socket.destroy();
  }
}

/** Of a TakenOverError: its process ends. */
const takenOverCode = 'taken-over';

function refused(message: string): UnreachableError {
  return new UnreachableError('warehouse', `the process that works the warehouse answers: ${message}`, {
    hint: 'Is it of another version of wellsync? Then start it again.',
  });
}

/** The connection has ended, as it does when the working process ends. */
function gone(): OutageError {
  return new OutageError('warehouse', 'worker-gone', 'the process that worked the warehouse has ended', {
    hint: 'Ask again: the next command or worker goes on with its work.',
  });
}
