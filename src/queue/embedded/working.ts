/**
 * This process, while it works the warehouse: other commands of its host reach it over a socket, and the server of the warehouse
 * knows that it lives.
 */
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import process from 'node:process';
import { UnreachableError } from '../../core/base/errors.ts';
import { codeOf } from '../../core/base/file-fault.ts';
import { after } from '../../timers/sleep.ts';
import type { PeerOptions, Peers } from './peers.ts';
import type { EmbeddedQueue } from './run-queue.ts';
import {
  type AnswerMessage,
  callSchema,
  callsOf,
  mostCallChars,
  prepareFolder,
  receive,
  send,
  socketPath,
} from './socket-protocol.ts';

/** How soon what others left in the ledger is read again, where it could not be read. */
const readAgainMs = 1_000;

/** Runs beyond are found in the ledger. */
const mostSubmitted = 100;

/** The work of a claim, from before the claim stands until after it has ended. */
export interface EnteredWork {
  /** To be called once the claim stands. Returns why other commands cannot reach this process, if they cannot. */
  begin(): Promise<unknown>;
  /** To be called after each beat of the claim, with until when no other process takes the warehouse. */
  beaten(sureUntilMs: number): void;
  /** To be called before the claim ends: what was noted is written while it still counts. */
  prepareEnd(): Promise<void>;
  /** To be called once the claim has ended, or where it was not given. */
  end(): Promise<void>;
}

export class Working {
  readonly #local: EmbeddedQueue;
  readonly #peers: Peers;
  readonly #options: PeerOptions;
  /** Runs that were submitted before this process worked: they need no revival. */
  readonly #submitted: (readonly [runId: string, generation: number])[] = [];
  /** `entered`: the claim does not stand yet; `ending`: it is about to end. */
  #state: 'idle' | 'entered' | 'working' | 'ending' = 'idle';
  #hasMissedWord = false;
  #onWoken = (): void => {};
  #server: QueueServer | undefined;
  /** Why there is no socket. */
  #unserved: unknown;
  #presence: { end(): Promise<void> } | undefined;

  constructor(local: EmbeddedQueue, peers: Peers, options: PeerOptions) {
    this.#local = local;
    this.#peers = peers;
    this.#options = options;
  }

  get isWorking(): boolean {
    return this.#state === 'working' || this.#state === 'ending';
  }

  /** `action` is called when another process has left runs in the ledger, or has changed the schedules. */
  onWoken(action: () => void): void {
    this.#onWoken = action;
  }

  /** A run that no process could be given. */
  remember(runId: string, generation: number): void {
    if (this.#submitted.length < mostSubmitted) this.#submitted.push([runId, generation]);
  }

  /**
   * Lets other commands in, before this process claims the warehouse: from the claim on, they look for it. `sendRequest` sends
   * their requests to the service. Where no socket can be made, others wait for what is in the ledger.
   */
  async enter(sendRequest: ServedWork['sendRequest']): Promise<EnteredWork> {
    const { queueId, beside, presence } = this.#options;
    const onWoken = (): void => void this.#wake();
    try {
      this.#server ??= await serveQueue(socketPath(queueId, beside), this.#local, {
        onWoken,
        // The connection ends with the claim: then it is asked of whoever works next.
        sendRequest: async (...given) => (this.#state === 'ending' ? undefined : sendRequest(...given)),
      });
      this.#unserved = undefined;
    } catch (error) {
      this.#unserved = error;
    }
    try {
      this.#presence ??= await presence.keep(queueId, onWoken);
    } catch (error) {
      await this.#end();
      throw error;
    }
    this.#state = 'entered';
    // How old the beat of an earlier claim is says nothing about this one.
    this.#local.beaten(Infinity);
    return {
      begin: () => this.#begin(),
      beaten: (sureUntilMs) => this.#local.beaten(sureUntilMs),
      prepareEnd: async () => {
        this.#state = 'ending';
        await this.#local.close();
      },
      end: () => this.#end(),
    };
  }

  async #begin(): Promise<unknown> {
    this.#peers.end();
    await this.#local.restore();
    this.#local.serviceHold.state.isWorking = true;
    for (const [runId, generation] of this.#submitted.splice(0)) await this.#local.submit(runId, generation);
    this.#state = 'working';
    if (this.#hasMissedWord) await this.#wake();
    await this.#peers.removeDead();
    return this.#unserved;
  }

  /** Another process has left work in the ledger, or a word about work. */
  async #wake(): Promise<void> {
    this.#hasMissedWord = this.#state === 'entered';
    if (this.#state !== 'working') return;
    try {
      await this.#local.readWords();
    } catch {
      after(readAgainMs, () => void this.#wake(), { ref: false });
    }
    this.#onWoken();
  }

  async #end(): Promise<void> {
    this.#state = 'idle';
    this.#local.serviceHold.state.isWorking = false;
    const [server, presence] = [this.#server, this.#presence];
    this.#server = undefined;
    this.#presence = undefined;
    await server?.close();
    await presence?.end();
  }

  close(): Promise<void> {
    return this.#end();
  }
}

// The socket of the working process: other commands of the host see its queue there, wake it, and let it send requests.

/** What a command asks of the working process beside its queue. */
export interface ServedWork {
  /** A command has left something in the ledger: runs, schedules, a request to stop, or that a hold is lifted. */
  readonly onWoken: () => void;
  /**
   * Sends a request to the service for a command; `reply` resolves when the answer is written. The signal aborts when the
   * command has ended.
   */
  readonly sendRequest: (
    request: unknown,
    signal: AbortSignal,
    reply: (answer: unknown) => Promise<void>,
  ) => Promise<void>;
}

/** Answers that a command has not read yet, beyond which no more of its calls are. */
const mostUnreadBytes = 1_000_000;

export interface QueueServer {
  close(): Promise<void>;
}

/** Throws UnreachableError('warehouse') where the socket cannot be made. */
async function serveQueue(path: string, queue: EmbeddedQueue, work: ServedWork): Promise<QueueServer> {
  const calls = callsOf(queue);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // It keeps no process alive that has ended its work.
    socket.unref();
    const ended = new AbortController();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      ended.abort();
    });
    const answer = async (call: string, args: readonly unknown[], reply: (value: unknown) => Promise<void>) => {
      if (call === 'ping') return reply(undefined);
      if (call === 'wake') return reply(work.onWoken());
      if (call === 'sendRequest') return work.sendRequest(args[0], ended.signal, reply);
      const method = calls.get(call);
      if (method === undefined) throw new Error(`no call ${call}`);
      return reply(await method(...args));
    };
    const take = (message: unknown): void => {
      const { id, call, args } = callSchema.parse(message);
      const reply = (value: unknown): Promise<void> => {
        const sent = send(socket, { id, value });
        // Who does not read is not answered more.
        if (socket.writableLength > mostUnreadBytes) socket.pause();
        return sent;
      };
      answer(call, args, reply).catch((error: unknown) => send(socket, { id, error: errorOf(error) }));
    };
    socket.on('drain', () => socket.resume());
    receive(socket, take, mostCallChars);
  });
  await listen(server, path);
  return {
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      if (process.platform !== 'win32') await rm(path, { force: true }).catch(() => undefined);
    },
  };
}

function errorOf(error: unknown): AnswerMessage['error'] {
  return { code: codeOf(error) || 'fault', message: error instanceof Error ? error.message : String(error) };
}

async function listen(server: Server, path: string): Promise<void> {
  try {
    if (!(await prepareFolder(path))) throw new Error('its folder belongs to another user');
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    server.unref();
    if (process.platform !== 'win32') await chmod(path, 0o600);
  } catch (error) {
    server.close();
    const message = `the local socket ${path} cannot be made: ${codeOf(error) || String(error)}`;
    throw new UnreachableError('warehouse', message, {
      hint: 'The process that works a warehouse is reached there by other commands of its user: let it write there.',
      cause: error,
    });
  }
}
