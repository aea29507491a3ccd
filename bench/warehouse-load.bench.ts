/**
 * The DuckDB warehouse under load, in one process: 1 million rows in batches of 20,000 into an empty file, then batches
 * without a change, and batches with one changed row in fifty. Prints rows per second, the longest commit, peak memory
 * and the size of the file. Rows are generated while they are loaded, as in a worker.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { measureFields, type DailyProductionRow, type Measure } from '../src/core/daily/row.ts';
import type { WindowBatch } from '../src/core/daily/merge.ts';
import { DAY_MS } from '../src/core/time/window.ts';
import { createDuckdbWarehouse } from '../src/warehouse/duckdb/duckdb-warehouse.ts';

const wells = Number(process.env['WELLSYNC_BENCH_WELLS'] ?? 1_000);
const daysPerWell = 1_000;
const wellsPerBatch = 20;
const batchesAgain = 20;
const firstDayMs = Date.parse('2020-01-01T00:00:00Z');
const window = { fromMs: firstDayMs, toMs: firstDayMs + daysPerWell * DAY_MS };
const readDays = { fromDay: firstDayMs / DAY_MS, toDay: firstDayMs / DAY_MS + daysPerWell };

const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
const file = path.join(folder, 'warehouse.duckdb');
const warehouse = createDuckdbWarehouse({ path: file, now: Date.now });
try {
  const batches = Math.floor(wells / wellsPerBatch);
  print(await measured('first load', batches, () => 0));
  print(await measured('nothing changed', batchesAgain, () => 0));
  print(await measured('2 % changed', batchesAgain, (day) => (day % 50 === 0 ? 1 : 0)));
  const { dailyProductionRows } = await warehouse.check();
  await warehouse.close();
  const { size } = await stat(file);
  console.log(
    `${dailyProductionRows} rows, ${megabytes(size)} MB file, ${Math.round(size / dailyProductionRows)} bytes a row`,
  );
  console.log(`${megabytes(process.resourceUsage().maxRSS * 1024)} MB peak memory of the process`);
} finally {
  await warehouse.close();
  await rm(folder, { recursive: true });
}

interface Figure {
  readonly name: string;
  readonly rows: number;
  readonly commitMs: readonly number[];
}

async function measured(name: string, batches: number, change: (day: number) => number): Promise<Figure> {
  const commitMs: number[] = [];
  await plan(name, batches * wellsPerBatch);
  for (let batch = 0; batch < batches; batch += 1) {
    const windows = windowsOf(batch, change);
    const startedMs = performance.now();
    await warehouse.dailyProduction.commit({
      runId: name,
      windows,
      shrink: { maxShare: 0.2, maxRows: 3, allow: false },
      committedAtMs: Date.now(),
    });
    commitMs.push(performance.now() - startedMs);
  }
  return { name, rows: batches * wellsPerBatch * daysPerWell, commitMs };
}

async function plan(runId: string, units: number): Promise<void> {
  await warehouse.ledger.runs.create({
    runId,
    job: 'bench',
    params: {},
    service: 'https://service.example',
    actor: 'tester@host',
    requestedAtMs: Date.now(),
  });
  const planned = Array.from({ length: units }, (_, unit) => ({ unit, chunk: 0, target: `well ${unit}`, spec: {} }));
  await warehouse.ledger.runs.savePlan(runId, planned, Date.now());
}

function windowsOf(batch: number, change: (day: number) => number): readonly WindowBatch[] {
  return Array.from({ length: wellsPerBatch }, (_, place) => {
    const unit = batch * wellsPerBatch + place;
    const rows = Array.from({ length: daysPerWell }, (__, day) => rowOf(unit, day, change(day)));
    const counts = { read: rows.length, repeated: 0, outsideWindow: 0, quarantined: 0, defaulted: 0, requests: 1 };
    const mode = 'incremental';
    return {
      unit,
      uwi: `NO 15/9-F-${unit}`,
      window,
      mode,
      isVerified: true,
      readDays,
      rows,
      quarantined: [],
      counts,
      notices: [],
    };
  });
}

/** Measures of a declining well with some noise. Every third field is null, since a well has one kind of lift. */
function rowOf(well: number, day: number, change: number): DailyProductionRow {
  const decline = Math.exp(-day / 900);
  const measures = measureFields.map(({ kind, required }, index): Measure => {
    if (!required && index % 3 === 0) return null;
    if (kind === 'boolean') return day % 2 === 0;
    if (kind === 'string') return day % 9 === 0 ? 'PLANNED' : null;
    const value = (1 + index) * 100 * decline * (1 + 0.05 * Math.sin(day * (index + 1) + well)) + change;
    return kind === 'int32' ? Math.round(value) : Math.round(value * 1000) / 1000;
  });
  const instantMs = firstDayMs + day * DAY_MS;
  return {
    xid: `${String(well).padStart(8, '0')}-0000-4000-8000-${String(day).padStart(12, '0')}`,
    instantMs,
    day: new Date(instantMs).toISOString().slice(0, 10),
    measures,
    extras: null,
  };
}

function print({ name, rows, commitMs }: Figure): void {
  const totalMs = commitMs.reduce((sum, each) => sum + each, 0);
  const rate = Math.round((rows / totalMs) * 1000).toLocaleString('en');
  console.log(`${name.padEnd(16)} ${rate.padStart(9)} rows/s, longest commit ${Math.round(Math.max(...commitMs))} ms`);
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}
