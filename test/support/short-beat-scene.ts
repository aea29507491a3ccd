/** Workers with beats shorter than an operator's, a slow service, and a push to interrupt. */
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { expect, vi } from 'vitest';
import { z } from 'zod';
import { generatedDaily } from '../../src/testing-server/data/generated-daily.ts';
import { startTestingServer, type TestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from './cli.ts';
import { bySuite } from './suite-size.ts';

/** Longer than a busy machine keeps a worker from its beat, or takes to start one: the full suite is busier. */
export const beat = { beatEveryMs: 200, staleAfterMs: bySuite(6_000, 15_000) };
export const patienceMs = 60_000;
const reportSchema = z.object({
  state: z.string(),
  counts: z.record(z.string(), z.number()),
  balance: z.object({ balanced: z.boolean() }),
});

export interface Worker {
  readonly pid: number;
  readonly said: () => string;
  signal(name: NodeJS.Signals): void;
  /** Resolves when it works; rejects if it ends before. */
  readonly working: Promise<void>;
  readonly ended: Promise<number | null>;
}

/** The exit code of a worker that is to be refused. Fails at once if it works instead: it would never end. */
export async function refusalOf(worker: Worker): Promise<number | null> {
  const works = worker.working.then(() => {
    throw new Error(`the worker works, where it was to be refused: ${worker.said()}`);
  });
  works.catch(() => undefined);
  return Promise.race([worker.ended, works]);
}

/** Ends with the test that started it. */
function startWorker(home: CliHome, env: Readonly<Record<string, string>>, open: Worker[]): Worker {
  const times = { BEAT_EVERY_MS: String(beat.beatEveryMs), STALE_AFTER_MS: String(beat.staleAfterMs) };
  const child = spawn(process.execPath, ['test/support/short-beat-worker.mjs'], {
    env: { ...home.env, ...times, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  const working = new Promise<void>((resolve, reject) => {
    const hear = (part: Buffer): void => {
      said += String(part);
      if (said.includes('Working')) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    void ended.then((code) => reject(new Error(`the worker ended with ${code}: ${said}`)));
  });
  working.catch(() => undefined);
  const worker = {
    pid: child.pid ?? 0,
    said: () => said,
    signal: (name: NodeJS.Signals) => void child.kill(name),
    working,
    ended,
  };
  open.push(worker);
  return worker;
}

/**
 * Suspends a worker while it has the file of the warehouse closed: with the file open it would block every other
 * process.
 */
export async function stopBetweenCommits(worker: Worker, warehouseFile: string): Promise<void> {
  for (;;) {
    worker.signal('SIGSTOP');
    const folder = `/proc/${worker.pid}/fd`;
    const open = await Promise.all(readdirSync(folder).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
    if (!open.includes(warehouseFile)) return;
    worker.signal('SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export class Scene implements AsyncDisposable {
  readonly #open: Worker[] = [];
  readonly server: TestingServer;
  readonly home: CliHome;

  constructor(server: TestingServer, home: CliHome) {
    this.server = server;
    this.home = home;
  }

  worker(prefix: string, env: Readonly<Record<string, string>> = {}): Worker {
    return startWorker(this.home, { WELLSYNC_QUEUE_PREFIX: this.prefix(prefix), ...env }, this.#open);
  }

  prefix(name: string): string {
    return `${this.home.env['WELLSYNC_QUEUE_PREFIX']}-${name}`;
  }

  env(prefix: string): Record<string, string> {
    return { WELLSYNC_QUEUE_PREFIX: this.prefix(prefix) };
  }

  async report(prefix: string, runId: string) {
    const ended = await this.home.here(['runs', 'show', runId, '--wait', '--json'], { env: this.env(prefix) });
    return reportSchema.parse(JSON.parse(ended.stdout));
  }

  async query(sql: string): Promise<unknown> {
    return JSON.parse((await this.home.here(['query', sql, '--json'])).stdout) as unknown;
  }

  async [Symbol.asyncDispose]() {
    for (const worker of this.#open) for (const name of ['SIGCONT', 'SIGKILL'] as const) worker.signal(name);
    await Promise.all(this.#open.map((worker) => worker.ended));
    await this.home[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

/** Queues a push of this many pipes; returns its run. */
export async function push(scene: Scene, prefix: string, pipes: number): Promise<string> {
  const rows = Array.from({ length: pipes }, (_, row) => `n,p${row}`);
  const file = await scene.home.write('pipes.csv', ['sourceNetworkId,sourceId', ...rows, ''].join('\n'));
  const words = ['push', 'network-pipes', file, '--chunk-items', '100', '--json'];
  const queued = await scene.home.here(words, { env: scene.env(prefix) });
  expect(queued.code, queued.stderr).toBe(0);
  return z.object({ runId: z.string() }).parse(JSON.parse(queued.stdout)).runId;
}

export async function pipesPast(scene: Scene, count: number): Promise<void> {
  await vi.waitFor(() => expect(scene.server.state.pipes().length).toBeGreaterThan(count), { timeout: patienceMs });
}

/** Slow enough to interrupt a push. */
export async function openScene(env: Readonly<Record<string, string>> = {}, checkpointMs = 200): Promise<Scene> {
  const data = generatedDaily({ seed: 5, wells: 1, fromDay: '2025-01-01', toDay: '2025-01-05' });
  const server = await startTestingServer({ data, latencyMs: 100 });
  const home = await cliHome(server.url);
  Object.assign(home.env, env, {
    WELLSYNC_CONFIG: await home.write('wellsync.yaml', `push: { concurrency: 2, checkpointMs: ${checkpointMs} }\n`),
  });
  return new Scene(server, home);
}

/** Enough to interrupt their push within: ten seconds in the full suite, where it is done in several ways. */
export const pipes = bySuite(8_000, 20_000);

export async function expectWhole(scene: Scene, prefix: string, runId: string): Promise<void> {
  expect(await scene.report(prefix, runId)).toMatchObject({
    state: 'done',
    counts: { accepted: pipes },
    balance: { balanced: true },
  });
  expect(scene.server.state.pipes()).toHaveLength(pipes);
}
