/** The queue of the working process, as another command of the host sees it over its socket. */
import { createConnection, type Socket } from 'node:net';
import { AbortedError, OutageError, UnreachableError } from '../../core/base/errors.ts';
import { codeOf } from '../../core/base/file-fault.ts';
import { type Asked, askedThrough } from './calls.ts';
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
  /** Its queue. Calls reject with an OutageError where the working process has ended meanwhile. */
  readonly queue: Asked = askedThrough((name, args) => this.#call(name, args));
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
      else waiting?.reject(refused(error.message));
    });
  }

  /** Aborts when the working process has ended, or the connection is lost. */
  get closed(): AbortSignal {
    return this.#closed.signal;
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
    void send(this.#socket, { id, call, args: [...args] });
    return answer;
  }

  end(): void {
    this.#socket.destroy();
  }
}

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
