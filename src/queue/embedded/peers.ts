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
import { connectToPeer, leaveWord, type QueuePeer } from './socket-client.ts';
import { isSocketOf, socketPath } from './socket-protocol.ts';

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
