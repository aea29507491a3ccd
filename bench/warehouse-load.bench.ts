/**
 * The commits of the DuckDB warehouse in one process: batches of 20,000 rows into an empty file, then again without a
 * change, and with one changed row in fifty. The baseline is a bare INSERT of the same rows, staged before, with a COMMIT
 * a batch. Rows are generated while they are loaded, as in a worker; only commits count. Prints the longest commit and the
 * size of the file.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { measureFields, type DailyProductionRow, type Measure } from '../src/core/daily/row.ts';
import type { Sample } from './report/measurement.ts';
import { bareInsert, planRun, type Warehouse } from './support/loaded-warehouse.ts';
import { measureWork } from './support/measured-work.ts';
import { Recorder, rounds } from './support/record.ts';
import { RowColumnsBuilder } from '../src/core/daily/row-columns.ts';
import type { WindowBatch } from '../src/core/daily/merge.ts';
import { DAY_MS } from '../src/core/time/window.ts';
import { createDuckdbWarehouse } from '../src/warehouse/duckdb/duckdb-warehouse.ts';

const wells = Number(process.env['WELLSYNC_BENCH_WELLS'] ?? 400);
const daysPerWell = 1_000;
const wellsPerBatch = 20;
const batchRows = wellsPerBatch * daysPerWell;
const batchesAgain = 10;
const firstDayMs = Date.parse('2020-01-01T00:00:00Z');
const window = { fromMs: firstDayMs, toMs: firstDayMs + daysPerWell * DAY_MS };
const readDays = { fromDay: firstDayMs / DAY_MS, toDay: firstDayMs / DAY_MS + daysPerWell };

const batches = Math.floor(wells / wellsPerBatch);

const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
const recorder = new Recorder();
try {
  for (let round = 0; round < rounds; round += 1) await measureRound(path.join(folder, `${round}.duckdb`));
  recorder.finish();
} finally {
  await rm(folder, { recursive: true });
}

async function measureRound(file: string): Promise<void> {
  const warehouse = createDuckdbWarehouse({ path: file, now: Date.now });
  const first = await measured(warehouse, 'first load', batches, () => 0);
  const unchanged = await measured(warehouse, 'nothing changed', batchesAgain, () => 0);
  const changed = await measured(warehouse, '2 % changed', batchesAgain, (day) => (day % 50 === 0 ? 1 : 0));
  await warehouse.close();
  const { size } = await stat(file);
  console.log(
    `${Math.round(size / 1e6)} MB file, ${Math.round(size / (batches * wellsPerBatch * daysPerWell))} bytes a row`,
  );
  const baseline = await bareInsert(file, batches * batchRows, batchRows);
  const names = { unit: 'rows', baseline: 'INSERT' };
  recorder.add('commit, first load', names, { baseline, subject: first });
  recorder.add('commit, nothing changed', names, { baseline, subject: unchanged });
  recorder.add('commit, 2 % changed', names, { baseline, subject: changed });
}

async function measured(
  warehouse: Warehouse,
  name: string,
  count: number,
  change: (day: number) => number,
): Promise<Sample> {
  await planRun(warehouse, name, count * wellsPerBatch);
  let longestMs = 0;
  const sample = await measureWork(count * wellsPerBatch * daysPerWell, async (counted) => {
    for (let batch = 0; batch < count; batch += 1) {
      const windows = windowsOf(batch, change);
      const beganMs = performance.now();
      await counted(() =>
        warehouse.dailyProduction.commit({
          runId: name,
          windows,
          shrink: { maxShare: 0.2, maxRows: 3, allow: false },
          committedAtMs: Date.now(),
        }),
      );
      const tookMs = performance.now() - beganMs;
      longestMs = Math.max(longestMs, tookMs);
    }
  });
  console.log(`${name}: longest commit ${Math.round(longestMs)} ms`);
  return sample;
}

function windowsOf(batch: number, change: (day: number) => number): readonly WindowBatch[] {
  return Array.from({ length: wellsPerBatch }, (_, place) => {
    const unit = batch * wellsPerBatch + place;
    const rows = new RowColumnsBuilder();
    for (let day = 0; day < daysPerWell; day += 1) rows.putRow(rows.next, rowOf(unit, day, change(day)));
    const counts = { read: daysPerWell, repeated: 0, outsideWindow: 0, quarantined: 0, defaulted: 0, requests: 1 };
    const mode = 'incremental';
    return {
      unit,
      uwi: `NO 15/9-F-${unit}`,
      window,
      mode,
      isVerified: true,
      readDays,
      rows: rows.rows(),
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
    day: instantMs / DAY_MS,
    measures,
    extras: null,
  };
}
