/** Exports of a generated field by the built program, each beside the bare loop right before it. */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { Sample } from '../report/measurement.ts';
import { firstDay, uwiOf, type DailyOrder } from './daily-service.ts';
import { runBare, runMeasured, wellsync } from './measured-command.ts';
import { benchRedis, type Round } from './record.ts';
import { type ServiceProcess, startService } from './service-process.ts';

const concurrency = 8;
/** Days that the bare loop of a morning reads: the lookback of an export, and the new one. */
const morningDays = 7;

/** The rows that it changes are no findings: a run that tells of some ends with another code. */
const config = 'export: { restated: { maxRows: 1000000 } }\n';

export interface FieldSize {
  readonly wells: number;
  readonly days: number;
  readonly silentShare?: number;
  /** The text of a configuration file. */
  readonly config?: string;
}

/** What an export is expected to have done: the benchmark fails where it did something else. */
export interface Expected {
  readonly inserted?: number;
  readonly updated?: number;
}

/** A warehouse, with the data folder of the program that works it. */
export interface BenchWarehouse {
  readonly folder: string;
  readonly url: string;
}

const reportSchema = z.object({ state: z.literal('done'), counts: z.record(z.string(), z.number()) });

export class ExportBench implements AsyncDisposable {
  readonly size: FieldSize;
  readonly service: ServiceProcess<DailyOrder>;
  readonly #folder: string;
  readonly #redisUrl = benchRedis();
  #counts: Readonly<Record<string, number>> = {};

  constructor(size: FieldSize, service: ServiceProcess<DailyOrder>, folder: string) {
    this.size = size;
    this.service = service;
    this.#folder = folder;
  }

  static async start(size: FieldSize): Promise<ExportBench> {
    const { wells, days, silentShare = 0 } = size;
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
    const lines = Array.from({ length: wells }, (_, well) => `"${uwiOf(well)}"`);
    await writeFile(path.join(folder, 'wells.csv'), ['uwi', ...lines].join('\n'));
    await writeFile(path.join(folder, 'wellsync.yaml'), size.config ?? config);
    return new ExportBench(size, await startService('daily-service', [wells, days, silentShare].map(String)), folder);
  }

  get rows(): number {
    return this.size.wells * this.size.days;
  }

  /** What the last export counted. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  /** A warehouse in a new DuckDB file, a copy of another one's where that is given. */
  async warehouse(name: string, from?: BenchWarehouse): Promise<BenchWarehouse> {
    const folder = path.join(this.#folder, name);
    await rm(folder, { recursive: true, force: true });
    if (from === undefined) await mkdir(folder);
    else await cp(from.folder, folder, { recursive: true });
    return { folder, url: `duckdb:${path.join(folder, 'warehouse.duckdb')}` };
  }

  /** Everything, into an empty warehouse or again. */
  async whole(warehouse: BenchWarehouse, expected: Expected, encoding?: 'gzip'): Promise<Round> {
    const from = firstDay(this.size.days);
    const baseline = await this.#bareLoop(from, encoding);
    return { baseline, subject: await this.#export(warehouse, expected) };
  }

  async again(warehouse: BenchWarehouse, expected: Expected): Promise<Round> {
    const from = firstDay(this.size.days);
    const baseline = await this.#bareLoop(from);
    const to = firstDay(0);
    return { baseline, subject: await this.#export(warehouse, expected, ['--from', from, '--to', to]) };
  }

  /** The next morning, which every well has a row more for. The amount is that of the wells. */
  async morning(warehouse: BenchWarehouse): Promise<Round> {
    const { wells, silentShare = 0 } = this.size;
    const inserted = wells - Math.round(wells * silentShare);
    await this.service.tell({ isMorning: true });
    try {
      const baseline = await this.#bareLoop(firstDay(morningDays));
      const subject = await this.#export(warehouse, { inserted });
      return { baseline: { ...baseline, amount: wells }, subject: { ...subject, amount: wells } };
    } finally {
      await this.service.tell({ isMorning: false });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true });
  }

  async #bareLoop(from: string, encoding = 'identity'): Promise<Sample> {
    const args = [this.service.url, String(this.size.wells), from, String(concurrency), encoding];
    const { stdout, ...usage } = await runBare('bare-export', args);
    return { ...usage, amount: z.object({ rows: z.number() }).parse(JSON.parse(stdout)).rows };
  }

  async #export(warehouse: BenchWarehouse, expected: Expected, bounds: readonly string[] = []): Promise<Sample> {
    const wells = path.join(this.#folder, 'wells.csv');
    const { stdout, ...usage } = await runMeasured({
      program: wellsync,
      args: ['export', 'daily-production', '--wells', wells, ...bounds, '--inline', '--json'],
      redisUrl: this.#redisUrl,
      env: {
        WELLSYNC_SERVICE_URL: this.service.url,
        WELLSYNC_REDIS_URL: this.#redisUrl,
        WELLSYNC_CONFIG: path.join(this.#folder, 'wellsync.yaml'),
        WELLSYNC_WAREHOUSE: warehouse.url,
        WELLSYNC_DATA_DIR: warehouse.folder,
        WELLSYNC_QUEUE_PREFIX: 'bench',
      },
    });
    const { counts } = reportSchema.parse(JSON.parse(stdout));
    this.#counts = counts;
    for (const name of ['inserted', 'updated'] as const) {
      const [wanted = 0, got = 0] = [expected[name], counts[name]];
      if (wanted !== got) throw new Error(`${wanted} rows were to be ${name}, and ${got} were`);
    }
    return { ...usage, amount: this.rows };
  }
}
