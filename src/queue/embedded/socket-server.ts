/** The socket of the working process: other commands of the host see its queue there, wake it, and ask for leave to send. */
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import process from 'node:process';
import { UnreachableError } from '../../core/base/errors.ts';
import { codeOf } from '../../core/base/file-fault.ts';
import type { Limits } from '../limiter/admission.ts';
import { answerSchema, callSchema, receive, send } from './messages.ts';
import type { EmbeddedQueue } from './run-queue.ts';
import { prepareFolder } from './socket-path.ts';

type Call = (...args: readonly never[]) => Promise<unknown>;

/** What a command may call; the rest is the working process's own. */
function callsOf(queue: EmbeddedQueue, events: ServedEvents): Readonly<Record<string, Call>> {
  const { progress, serviceHold, metrics, runLog, identity } = queue;
  const at = <Part extends object>(part: Part, name: keyof Part & string): Call =>
    (part[name] as Call).bind(part as never);
  return {
    'identity.read': at(identity, 'read'),
    'progress.read': at(progress, 'read'),
    'progress.requestStop': at(progress, 'requestStop'),
    'progress.forget': at(progress, 'forget'),
    'progress.finish': at(progress, 'finish'),
    submit: at(queue, 'submit'),
    isSubmitted: at(queue, 'isSubmitted'),
    hasten: at(queue, 'hasten'),
    chunkStatuses: at(queue, 'chunkStatuses'),
    workers: at(queue, 'workers'),
    itemCounts: at(queue, 'itemCounts'),
    'serviceHold.read': at(serviceHold, 'read'),
    'serviceHold.readOutage': at(serviceHold, 'readOutage'),
    'serviceHold.lift': at(serviceHold, 'lift'),
    'metrics.raise': at(metrics, 'raise'),
    'metrics.set': at(metrics, 'set'),
    'metrics.read': at(metrics, 'read'),
    'runLog.read': at(runLog, 'read'),
    schedulesChanged: async () => events.onSchedulesChanged(),
  };
}

/** What a limiter of a command asks; its leases are free when its connection ends. */
const admissionCalls = [
  'ask',
  'giveBack',
  'giveUp',
  'recordAnswered',
  'flush',
  'turn',
  'reserveAgain',
  'mayStillGo',
  'renew',
  'holdAll',
  'endSeries',
  'recordFailure',
] as const;

export interface ServedEvents {
  readonly onSchedulesChanged: () => void;
}

export interface QueueServer {
  close(): Promise<void>;
}

/** Throws UnreachableError('warehouse') where the socket cannot be made. */
export async function serveQueue(path: string, queue: EmbeddedQueue, events: ServedEvents): Promise<QueueServer> {
  const calls = callsOf(queue, events);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // It keeps no process alive that has ended its work.
    socket.unref();
    const admissions = new Map<string, Readonly<Record<string, Call>> & { close(): void }>();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      for (const admission of admissions.values()) admission.close();
    });
    receive(socket, (message) => {
      const { id, call, args } = callSchema.parse(message);
      void answerOf(call, args).then((answer) => send(socket, answerSchema.parse({ id, ...answer })));
    });

    async function answerOf(call: string, args: readonly unknown[]) {
      try {
        const found = call.startsWith('limits.') ? limitsCall(call.slice('limits.'.length)) : calls[call];
        if (found === undefined) return { error: { code: 'unknown-call', message: `no call ${call}` } };
        return { value: await found(...(args as readonly never[])) };
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'fault';
        return { error: { code, message: error instanceof Error ? error.message : String(error) } };
      }
    }

    /** `limits.ask`, of the client and the limits that the first argument names. */
    function limitsCall(name: string): Call | undefined {
      if (!admissionCalls.some((each) => each === name)) return undefined;
      return async (client: { readonly id: string; readonly limits: Limits }, ...args: readonly unknown[]) => {
        const { id, limits } = client;
        const admission = admissions.get(id) ?? queue.serviceHold.admission(limits);
        admissions.set(id, admission as never);
        return (admission as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[name]?.(...args);
      };
    }
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

async function listen(server: Server, path: string): Promise<void> {
  try {
    if (!(await prepareFolder(path))) throw new Error('its folder belongs to another user');
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    if (process.platform !== 'win32') await chmod(path, 0o600);
    server.unref();
  } catch (error) {
    const message = `the local socket ${path} cannot be made: ${codeOf(error) || String(error)}`;
    throw new UnreachableError('warehouse', message, {
      hint: 'The process that works a warehouse is reached there by other commands of its user: let it write there.',
      cause: error,
    });
  }
}
