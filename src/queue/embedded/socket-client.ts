/** The queue of the working process, as another command of the host sees it over its socket. */
import { randomUUID } from 'node:crypto';
import { createConnection, type Socket } from 'node:net';
import { OutageError } from '../../core/base/errors.ts';
import { codeOf } from '../../core/base/file-fault.ts';
import type { Admission, Limits } from '../limiter/admission.ts';
import { answerSchema, receive, send } from './messages.ts';
import { isOwn } from './socket-path.ts';

/** Whether a process listens at a socket: `gone` where the system says that none does. */
export type Listening = { readonly kind: 'open'; readonly peer: QueuePeer } | { readonly kind: 'gone' | 'unknown' };

/** A working process that is stopped, or has no time, is not waited for longer. */
const connectMs = 2_000;

/** What the system answers where nobody listens. */
const nobody = new Set(['ECONNREFUSED', 'ENOENT']);

export async function connectToPeer(path: string): Promise<Listening> {
  if (!(await isOwn(path))) return { kind: 'unknown' };
  const socket = createConnection(path);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
      socket.setTimeout(connectMs, () => reject(new Error('no answer')));
    });
  } catch (error) {
    socket.destroy();
    return { kind: nobody.has(codeOf(error)) ? 'gone' : 'unknown' };
  }
  socket.setTimeout(0);
  return { kind: 'open', peer: new QueuePeer(socket) };
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class QueuePeer {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #closed = new AbortController();
  #calls = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    // A connection that nobody asks anything over does not keep the process.
    socket.unref();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#closed.abort();
      for (const { reject } of this.#waiting.values()) reject(gone());
      this.#waiting.clear();
    });
    receive(socket, (message) => {
      const { id, value, error } = answerSchema.parse(message);
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) socket.unref();
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(`the working process answers: ${error.message}`));
    });
  }

  /** Aborts when the working process has ended, or the connection is lost. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Rejects with an OutageError where the working process has ended meanwhile. */
  call(call: string, ...args: readonly unknown[]): Promise<unknown> {
    if (this.closed.aborted) return Promise.reject(gone());
    this.#calls += 1;
    const id = this.#calls;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#socket.ref();
    send(this.#socket, { id, call, args: [...args] });
    return answer;
  }

  end(): void {
    this.#socket.destroy();
  }
}

/** The connection has ended, as it does when the working process ends. */
function gone(): OutageError {
  return new OutageError('warehouse', 'worker-gone', 'the process that worked the warehouse has ended', {
    hint: 'Ask again: the next command or worker goes on with its work.',
  });
}

/** Asks the working process for leave to send requests, within the limits that it keeps for all (G9). */
export function peerAdmission(peer: QueuePeer, limits: Limits): Admission {
  const client = { id: randomUUID(), limits };
  const ask = (name: string, ...args: readonly unknown[]): Promise<unknown> =>
    peer.call(`limits.${name}`, client, ...args);
  const say = (name: string, ...args: readonly unknown[]): void => void ask(name, ...args).catch(() => undefined);
  return {
    ask: (wanted) => ask('ask', wanted) as ReturnType<Admission['ask']>,
    giveBack: (token) => say('giveBack', token),
    giveUp: (runId) => say('giveUp', runId),
    recordAnswered: (isUrgent) => say('recordAnswered', isUrgent),
    flush: () => say('flush'),
    turn: async () => void (await ask('turn')),
    reserveAgain: () => ask('reserveAgain') as Promise<number>,
    mayStillGo: (token) => ask('mayStillGo', token) as Promise<boolean>,
    renew: async (sure, others) => void (await ask('renew', sure, others)),
    unknownLeases: async () => [],
    holdAll: (askedMs, maxHoldMs) => ask('holdAll', askedMs, maxHoldMs) as ReturnType<Admission['holdAll']>,
    endSeries: () => say('endSeries'),
    recordFailure: (fault, longestMs, failed) =>
      ask('recordFailure', fault, longestMs, failed) as ReturnType<Admission['recordFailure']>,
    onRestored: () => undefined,
    close: () => peer.end(),
  };
}
