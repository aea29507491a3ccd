/** The socket of the working process: other commands of the host see its queue there, wake it, and let it send requests. */
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import process from 'node:process';
import { UnreachableError } from '../../core/base/errors.ts';
import { codeOf } from '../../core/base/file-fault.ts';
import { callsOf } from './calls.ts';
import { type AnswerMessage, callSchema, mostCallChars, receive, send } from './messages.ts';
import type { EmbeddedQueue } from './run-queue.ts';
import { prepareFolder } from './socket-path.ts';

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
export async function serveQueue(path: string, queue: EmbeddedQueue, work: ServedWork): Promise<QueueServer> {
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
