/** Exports that are queued and worked by so many workers, each in a process of its own as on a host of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { Sample } from '../report/measurement.ts';
import type { BenchPostgres } from './bench-postgres.ts';
import { type DailyOrder, firstDay, uwiOf } from './daily-service.ts';
import { otherLoad, spentUntilNow, treeSeconds } from './machine.ts';
import { runMeasured, wellsync } from './measured-command.ts';
import { benchRedis } from './record.ts';
import { type ServiceProcess, startService } from './service-process.ts';

export interface WorkersOrder {
  readonly wells: number;
  readonly days: number;
  readonly latencyMs: number;
  /** The text of the configuration file of every process. */
  readonly config: string;
}

const startedSchema = z.object({ runId: z.string() });
const reportSchema = z.object({
  state: z.literal('done'),
  durationMs: z.number().positive(),
  counts: z.object({ inserted: z.number(), requests: z.number() }),
});
const logSchema = z.object({ msg: z.string().optional() });

export class WorkersBench implements AsyncDisposable {
  readonly #order: WorkersOrder;
  readonly #postgres: BenchPostgres;
  readonly #service: ServiceProcess<DailyOrder>;
  readonly #folder: string;
  readonly #redisUrl = benchRedis();

  private constructor(
    order: WorkersOrder,
    parts: { readonly postgres: BenchPostgres; readonly service: ServiceProcess<DailyOrder>; readonly folder: string },
  ) {
    this.#order = order;
    this.#postgres = parts.postgres;
    this.#service = parts.service;
    this.#folder = parts.folder;
  }

  /** Finds how the service pages before, since the first export would. */
  static async start(order: WorkersOrder, postgres: BenchPostgres): Promise<WorkersBench> {
    const { wells, days, latencyMs, config } = order;
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
    const lines = Array.from({ length: wells }, (_, well) => `"${uwiOf(well)}"`);
    await writeFile(path.join(folder, 'wells.csv'), ['uwi', ...lines].join('\n'));
    await writeFile(path.join(folder, 'wellsync.yaml'), config);
    const service = await startService<DailyOrder>('daily-service', [wells, days, 0].map(String));
    const bench = new WorkersBench(order, { postgres, service, folder });
    await bench.#run(await postgres.database('probed'), ['probe', '--uwi', uwiOf(0)]);
    await service.tell({ latencyMs });
    return bench;
  }

  /** Everything into an empty warehouse, from the begin of the run to its end; the start of the workers does not count. */
  async export(workers: number): Promise<Sample & { readonly requests: number }> {
    const url = await this.#postgres.database('worked', 'probed');
    const started = await Promise.all(Array.from({ length: workers }, (_, worker) => this.#startWorker(url, worker)));
    const spent = (): number =>
      this.#postgres.spentSeconds() + started.reduce((sum, { pid = 0 }) => sum + treeSeconds(pid), 0);
    const [before, beganSeconds] = [await spentUntilNow(this.#redisUrl), spent()];
    const exported = ['export', 'daily-production', '--wells', path.join(this.#folder, 'wells.csv')];
    const bounds = ['--from', firstDay(this.#order.days), '--to', firstDay(0)];
    const { runId } = startedSchema.parse(await this.#run(url, [...exported, ...bounds]));
    const report = reportSchema.parse(await this.#run(url, ['runs', 'show', runId, '--wait']));
    const after = await spentUntilNow(this.#redisUrl);
    const cpuSeconds = spent() - beganSeconds + after.redis - before.redis;
    await Promise.all(started.map(stop));
    await this.#postgres.drop('worked');
    const amount = this.#order.wells * this.#order.days;
    if (report.counts.inserted !== amount) throw new Error(`${report.counts.inserted} of ${amount} rows came`);
    const seconds = report.durationMs / 1_000;
    const { requests } = report.counts;
    return { amount, seconds, cpuSeconds, peakMegabytes: null, otherLoad: otherLoad(before, after), requests };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]();
    await this.#postgres.drop('probed');
    await rm(this.#folder, { recursive: true });
  }

  #environment(warehouseUrl: string, dataDir: string): Readonly<Record<string, string>> {
    return {
      WELLSYNC_CONFIG: path.join(this.#folder, 'wellsync.yaml'),
      WELLSYNC_SERVICE_URL: this.#service.url,
      WELLSYNC_REDIS_URL: this.#redisUrl,
      WELLSYNC_WAREHOUSE: warehouseUrl,
      WELLSYNC_DATA_DIR: dataDir,
      WELLSYNC_QUEUE_PREFIX: 'bench',
    };
  }

  async #run(warehouseUrl: string, args: readonly string[]): Promise<unknown> {
    const env = this.#environment(warehouseUrl, this.#folder);
    const { stdout } = await runMeasured({ program: wellsync, args: [...args, '--json'], env });
    return JSON.parse(stdout);
  }

  /** Resolves when the worker waits for work. */
  async #startWorker(warehouseUrl: string, number: number): Promise<ChildProcess> {
    const dataDir = path.join(this.#folder, `worker-${number}`);
    await mkdir(dataDir, { recursive: true });
    const env = { ...process.env, ...this.#environment(warehouseUrl, dataDir) };
    const child = spawn(wellsync, ['worker', '--queues', 'export'], { stdio: ['ignore', 'inherit', 'pipe'], env });
    await new Promise<void>((resolve, reject) => {
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (isWorking(said)) resolve();
      });
      child.once('close', () => reject(new Error(`a worker ended:\n${said}`)));
    });
    return child;
  }
}

function isWorking(log: string): boolean {
  const lines = log.split('\n').slice(0, -1);
  return lines.some((line) => logSchema.parse(JSON.parse(line)).msg?.startsWith('Working ') === true);
}

async function stop(worker: ChildProcess): Promise<void> {
  const ended = once(worker, 'close');
  worker.kill('SIGTERM');
  await ended;
}
