/**
 * The parts of an export, one after the other in one process: scan (bytes of plain records to the rows of a window), what
 * takes its place on other pages, parse (bytes to records) and check (records to the rows of a window), staging (rows to a
 * temporary table, as those of known wells go), and commit (rows appended, and COMMIT, into an empty warehouse). `CPU us` is
 * what a row costs, with the threads of the engine. Baselines are JSON.parse of the same pages, and a bare INSERT of the
 * same rows, staged before.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Secrets } from '../src/core/base/secrets.ts';
import type { WindowBatch } from '../src/core/daily/merge.ts';
import { productionCalendar } from '../src/core/time/production-day.ts';
import { DAY_MS } from '../src/core/time/window.ts';
import { RecordCounter } from '../src/service/record-counter.ts';
import { recordPage, type RecordPage } from '../src/service/record-page.ts';
import type { NumberedWindow } from '../src/warehouse/duckdb/daily/row-chunks.ts';
import { stageRows } from '../src/warehouse/duckdb/daily/daily-engine.ts';
import { sessionOf } from '../src/warehouse/duckdb/file/session.ts';
import { createDuckdbWarehouse } from '../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { Sample } from './report/measurement.ts';
import { firstDay, uwiOf, type DailyOrder } from './support/daily-service.ts';
import { bareInsert, planRun } from './support/loaded-warehouse.ts';
import { measureWork } from './support/measured-work.ts';
import { Recorder, rounds } from './support/record.ts';
import { startService } from './support/service-process.ts';

const wells = Number(process.env['WELLSYNC_BENCH_WELLS'] ?? 60);
const wellsPerBatch = 30;
const days = 1_826;
const limit = 1_000;
const rowCount = wells * days;
const fromMs = Date.parse(firstDay(days));
const window = { fromMs, toMs: fromMs + days * DAY_MS };
const readDays = { fromDay: fromMs / DAY_MS, toDay: fromMs / DAY_MS + days };
const calendar = productionCalendar('UTC');

const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
try {
  const pages = await fetchPages();
  const recorder = new Recorder();
  for (let round = 0; round < rounds; round += 1) await measureRound(recorder, pages, `${folder}/${round}.duckdb`);
  recorder.finish();
} finally {
  await rm(folder, { recursive: true });
}

/** The pages of each well, as they come. */
async function fetchPages(): Promise<ReadonlyArray<readonly Buffer[]>> {
  await using service = await startService<DailyOrder>('daily-service', [wells, days, 0].map(String));
  const pageOf = async (well: number, page: number): Promise<Buffer> => {
    const address = `${service.url}/api/production/daily/${encodeURIComponent(uwiOf(well))}`;
    const answer = await fetch(`${address}?page=${page}&limit=${limit}`);
    return Buffer.from(await answer.arrayBuffer());
  };
  const pagesOf = Array.from({ length: Math.ceil(days / limit) }, (_, index) => index + 1);
  const all: Buffer[][] = [];
  for (let well = 0; well < wells; well += 1) all.push(await Promise.all(pagesOf.map((page) => pageOf(well, page))));
  return all;
}

async function measureRound(recorder: Recorder, pages: ReadonlyArray<readonly Buffer[]>, file: string): Promise<void> {
  const bareParse = await measureWork(rowCount, async (counted) => {
    for (const page of pages.flat()) await counted(async () => JSON.parse(page.toString()) as unknown);
  });
  const windows: WindowBatch[] = [];
  const parse = await measureWork(rowCount, async (counted) => {
    const steps = { parse: async <T>(work: () => T) => counted(async () => work()), check: uncounted };
    for (const [unit, of] of pages.entries()) await windowOf(unit, of, steps);
  });
  const check = await measureWork(rowCount, async (counted) => {
    const steps = { parse: uncounted, check: async <T>(work: () => T) => counted(async () => work()) };
    for (const [unit, of] of pages.entries()) windows.push(await windowOf(unit, of, steps));
  });
  const scan = await measureWork(rowCount, async (counted) => {
    for (const of of pages) await counted(async () => scanWindow(of));
  });
  const staging = await stage(windows);
  const commit = await commitAll(windows, file);
  const insert = await bareInsert(file, rowCount, wellsPerBatch * days);
  const parsed = { unit: 'rows', baseline: 'JSON.parse' };
  const stored = { unit: 'rows', baseline: 'INSERT' };
  recorder.add('part: scan', parsed, { baseline: bareParse, subject: scan });
  recorder.add('part: parse', parsed, { baseline: bareParse, subject: parse });
  recorder.add('part: check', parsed, { baseline: bareParse, subject: check });
  recorder.add('part: staging', stored, { baseline: insert, subject: staging });
  recorder.add('part: commit', stored, { baseline: insert, subject: commit });
}

type Step = <T>(work: () => T) => Promise<T>;

async function uncounted<T>(work: () => T): Promise<T> {
  return work();
}

async function windowOf(
  unit: number,
  pages: readonly Buffer[],
  { parse, check }: { readonly parse: Step; readonly check: Step },
): Promise<WindowBatch> {
  const counter = new RecordCounter(window, calendar, new Secrets());
  for (const page of pages) {
    const records = await parse(() => recordPage(page.toString(), { limit }));
    await check(() => counter.add(asPage(records), window, 0));
  }
  const { rows, quarantined, counts } = await check(() => counter.reading(pages.length, []));
  const uwi = uwiOf(unit);
  return {
    unit,
    uwi,
    window,
    timeZone: 'UTC',
    mode: 'incremental',
    isVerified: true,
    readDays,
    rows,
    quarantined,
    counts,
    notices: [],
  };
}

function scanWindow(pages: readonly Buffer[]): void {
  const counter = new RecordCounter(window, calendar, new Secrets());
  for (const page of pages) {
    if (counter.addPlainPage(page, limit, window, 0) === undefined)
      throw new Error('a page of the service is not plain');
  }
  counter.reading(pages.length, []);
}

function asPage(records: ReturnType<typeof recordPage>): RecordPage {
  if (typeof records === 'string') throw new Error(`a page of the service was refused: ${records}`);
  return records;
}

function batchesOf(windows: readonly WindowBatch[]): ReadonlyArray<readonly WindowBatch[]> {
  return Array.from({ length: Math.ceil(windows.length / wellsPerBatch) }, (_, batch) =>
    windows.slice(batch * wellsPerBatch, (batch + 1) * wellsPerBatch),
  );
}

function numbered(windows: readonly WindowBatch[]): readonly NumberedWindow[] {
  return windows.map((each, windowNo) => ({ windowNo, window: each }));
}

async function stage(windows: readonly WindowBatch[]): Promise<Sample> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  const sample = await measureWork(rowCount, async (counted) => {
    for (const batch of batchesOf(windows)) await counted(() => stageRows(sessionOf(connection), numbered(batch)));
  });
  connection.closeSync();
  instance.closeSync();
  return sample;
}

async function commitAll(windows: readonly WindowBatch[], file: string): Promise<Sample> {
  const warehouse = createDuckdbWarehouse({ path: file, now: Date.now });
  await planRun(warehouse, 'bench', wells);
  const shrink = { maxShare: 0.2, maxRows: 3, allow: false };
  const sample = await measureWork(rowCount, async (counted) => {
    for (const batch of batchesOf(windows)) {
      const order = { runId: 'bench', windows: batch, shrink, committedAtMs: Date.now() };
      await counted(() => warehouse.dailyProduction.commit(order));
    }
  });
  await warehouse.close();
  return sample;
}
