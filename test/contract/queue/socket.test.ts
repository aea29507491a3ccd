/** The socket of a working process, and whatever may be at its other end. */
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { noPresence } from '../../../src/core/run/warehouse-queue.ts';
import { newProcessId } from '../../../src/queue/embedded/peers.ts';
import { ProcessQueue, type ProcessQueueOptions } from '../../../src/queue/embedded/process-queue.ts';
import { socketPath } from '../../../src/queue/embedded/socket-protocol.ts';

let folder: string;
const open: ProcessQueue[] = [];
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'ws-'));
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
  await rm(folder, { recursive: true });
});

const ids = { worker: newProcessId(), command: newProcessId() };

const nothingKept: ProcessQueueOptions['store'] = { read: async () => [], write: async () => undefined };

function processOf(queueId: string, store = nothingKept): ProcessQueue {
  const made = new ProcessQueue({
    queueId,
    beside: path.join(folder, 'w.duckdb'),
    isOfServer: false,
    store,
    presence: noPresence,
    isBeating: async () => true,
    owner: async () => ids.worker,
    now: Date.now,
  });
  open.push(made);
  return made;
}

async function working(): Promise<{ readonly worker: ProcessQueue; readonly place: string }> {
  const worker = processOf(ids.worker);
  const entered = await worker.working.enter(async () => undefined);
  expect(await entered.begin()).toBeUndefined();
  return { worker, place: socketPath(ids.worker, path.join(folder, 'w.duckdb')) };
}

const answerSchema = z.looseObject({ id: z.number(), error: z.object({ message: z.string() }).optional() });

async function asked(place: string, calls: readonly (readonly [string, readonly unknown[]])[]) {
  const socket = createConnection(place);
  const answers = new Map<number, z.infer<typeof answerSchema>>();
  for (const [id, [call, args]] of calls.entries()) socket.write(`${JSON.stringify({ id, call, args })}\n`);
  for await (const line of createInterface({ input: socket })) {
    const answer = answerSchema.parse(JSON.parse(line));
    answers.set(answer.id, answer);
    if (answers.size === calls.length) break;
  }
  socket.destroy();
  return calls.map((_, id) => answers.get(id));
}

describe('the socket of a working process', () => {
  it('answers no call that is not of the port, and takes no arguments of another shape', async () => {
    const { worker, place } = await working();
    const wrong = [
      ['constructor', []],
      ['__proto__', []],
      ['toString', []],
      ['progress.open', ['r', {}]],
      ['limits.holdAll', [{}]],
      ['submit', [[], {}]],
      ['submit', ['r', '1']],
      ['submit', ['x'.repeat(100_000), 1]],
      ['progress.requestStop', ['r', { kind: 'other' }]],
      ['progress.finish', ['r', 'gone']],
      ['metrics.raise', ['source', { a: 'b' }]],
      ['runLog.read', [[]]],
    ] as const;
    for (const answer of await asked(place, wrong)) expect(answer?.error?.message).toBeTypeOf('string');
    const items = await worker.itemCounts();
    expect(items.reduce((sum, each) => sum + each.items, 0)).toBe(0);
  });

  it('G8: is not read further while its answers are not read', async () => {
    const { worker, place } = await working();
    const many = new Map(Array.from({ length: 200 }, (_, index) => [`series ${index} ${'x'.repeat(100)}`, index]));
    await worker.metrics.set(many);
    const socket = createConnection(place);
    socket.pause();
    await once(socket, 'connect');
    let isTaken = true;
    let written = 0;
    // Far more questions than the system keeps for a reader.
    while (isTaken && written < 400_000) {
      isTaken = socket.write(`${JSON.stringify({ id: written, call: 'metrics.read', args: [] })}\n`);
      written += 1;
      if (written % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(written).toBeLessThan(400_000);
    socket.destroy();
  });

  it('leaves the sockets of others that live, and removes those of the dead', async () => {
    const [living, dead] = ['.w.duckdb.0123456789ad.sock', '.w.duckdb.0123456789ae.sock'];
    const other = createServer((socket) => void socket.destroy());
    await new Promise<void>((resolve) => other.listen(path.join(folder, living), resolve));
    expect(await leftBehind(path.join(folder, dead))).toBe(true);
    await working();
    const names = await readdir(folder);
    expect([names.includes(living), names.includes(dead)]).toEqual([true, false]);
    await new Promise((resolve) => other.close(resolve));
  });

  it('is reached over one connection by questions that come side by side', async () => {
    const { worker } = await working();
    await worker.submit('run', 0);
    const command = processOf(ids.command);
    const questions = Array.from({ length: 10 }, () => command.isSubmitted('run', 0));
    expect(await Promise.all(questions)).toEqual(Array.from({ length: 10 }, () => true));
    const found = await Promise.all(Array.from({ length: 5 }, () => command.peers.find()));
    expect(new Set(found).size).toBe(1);
  });

  it('is made beside entries that nobody can remove', async () => {
    await mkdir(path.join(folder, '.w.duckdb.0123456789ab.sock'));
    await writeFile(path.join(folder, '.w.duckdb.0123456789ac.sock'), 'a file');
    const { worker } = await working();
    expect((await readdir(folder)).filter((name) => name.endsWith('.sock'))).toHaveLength(3);
    await worker.submit('run', 0);
    expect(await processOf(ids.command).isSubmitted('run', 0)).toBe(true);
  });
});

describe('a command', () => {
  /** Somebody else at the place of the working process. */
  async function beside(answer: (socket: Socket) => void) {
    let connections = 0;
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      connections += 1;
      sockets.push(socket);
      socket.on('error', () => undefined);
      answer(socket);
    });
    const place = socketPath(ids.worker, path.join(folder, 'w.duckdb'));
    await new Promise<void>((resolve) => server.listen(place, resolve));
    const end = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    };
    return { connections: () => connections, end };
  }
  const pong = (socket: Socket): void => {
    createInterface({ input: socket }).on('line', (line) => {
      const { id, call } = z.looseObject({ id: z.number(), call: z.string() }).parse(JSON.parse(line));
      if (call === 'ping') socket.write(`${JSON.stringify({ id })}\n`);
      else socket.destroy();
    });
  };

  const takenOver = (socket: Socket): void => {
    createInterface({ input: socket }).on('line', (line) => {
      const { id, call } = z.looseObject({ id: z.number(), call: z.string() }).parse(JSON.parse(line));
      const error = { code: 'taken-over', message: 'another process has it' };
      socket.write(`${JSON.stringify(call === 'ping' ? { id } : { id, error })}\n`);
    });
  };

  for (const [name, answer] of [
    ['ends each connection', (socket: Socket) => void socket.destroy()],
    ['ends each connection that is asked something', pong],
    ['says nothing', () => undefined],
    ['says that it was taken over', takenOver],
    ['says what is no answer', (socket: Socket) => void socket.write('{"id":1,"extra":true}\nno JSON\n')],
  ] as const) {
    it(`asks the ledger instead where the other end ${name}, and takes nobody for dead`, async () => {
      const other = await beside(answer);
      const command = processOf(ids.command);
      expect(await command.progress.read('run')).toBeUndefined();
      expect(await command.isSubmitted('run', 0)).toBe(false);
      expect(await command.peers.isGone(ids.worker)).toBe(false);
      expect(other.connections()).toBeLessThan(10);
      await command.close();
      await other.end();
    });
  }

  it('reads the ledger once for a list of runs, and again after a read that failed', async () => {
    let reads = 0;
    let isAway = true;
    const command = processOf(ids.command, {
      ...nothingKept,
      read: async () => {
        reads += 1;
        if (isAway) throw new Error('away');
        return [];
      },
    });
    const list = () => Promise.allSettled(Array.from({ length: 50 }, (_, run) => command.progress.read(`run ${run}`)));
    expect((await list()).map(({ status }) => status)).toEqual(Array(50).fill('rejected'));
    expect(reads).toBe(1);
    isAway = false;
    expect((await list()).map(({ status }) => status)).toEqual(Array(50).fill('fulfilled'));
    expect(reads).toBe(2);
  });

  it('takes a process for dead only where the system says that nobody listens any more', async () => {
    const command = processOf(ids.command);
    expect(await command.peers.isGone(ids.worker)).toBe(false);
    const other = await beside(() => undefined);
    const place = socketPath(ids.worker, path.join(folder, 'w.duckdb'));
    await other.end();
    const killed = await leftBehind(place);
    expect(killed).toBe(true);
    expect(await command.peers.isGone(ids.worker)).toBe(true);
    // A shared disk shows the socket of another system, which refuses here from the first.
    const [random = ''] = ids.worker.split('@');
    expect(await command.peers.isGone(`${random}@ffffffff`)).toBe(false);
  });
});

/** Makes a socket by a process that is killed. */
async function leftBehind(place: string): Promise<boolean> {
  const { spawn } = await import('node:child_process');
  const script = `require('node:net').createServer().listen(${JSON.stringify(place)}, () => process.stdout.write('listens'))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  return (await readdir(folder)).includes(path.basename(place));
}
