/** The queue of the working process, as another command of the host sees it over its socket. */
import { createConnection, type Socket } from 'node:net';
import { AbortedError, OutageError, UnreachableError } from '../../core/base/errors.ts';
import { codeOf } from '../../core/base/file-fault.ts';
import { answerSchema, type Asked, askedThrough, isOwn, receive, send } from './socket-protocol.ts';
import { sleep } from '../../timers/sleep.ts';

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

export async function connectToPeer(path: string): Promise<Listening> {
  if (!(await isOwn(path))) return { kind: 'foreign' };
  const socket = createConnection(path);
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
export async function leaveWord(path: string): Promise<void> {
  if (!(await isOwn(path))) return;
  const socket = createConnection(path);
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
      const silentMs = performance.now() - this.#heardAtMs;
      if (silentMs >= silence.givenUpAfterMs) this.#socket.destroy();
      else if (silentMs >= silence.askedAfterMs) this.#call('ping', []).catch(() => undefined);
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
