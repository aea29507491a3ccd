/**
 * The commits of the DuckDB warehouse in one process: batches of 20,000 rows into an empty file, then again without a
 * change, and with one changed row in fifty. The baseline is a bare INSERT of the same rows, staged before, with a COMMIT
 * a batch. Rows are generated while they are loaded, as in a worker; only commits count. Prints the longest commit and the
 * size of the file.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Sample } from './report/measurement.ts';
import { daysPerWell, noChange, type RowChange, windowsOf } from './support/generated-windows.ts';
import { bareInsert, planRun, type Warehouse } from './support/loaded-warehouse.ts';
import { measureWork } from './support/measured-work.ts';
import { Recorder, rounds } from './support/record.ts';
import { createDuckdbWarehouse } from '../src/warehouse/duckdb/duckdb-warehouse.ts';

const wells = Number(process.env['WELLSYNC_BENCH_WELLS'] ?? 400);
const wellsPerBatch = 20;
const batchRows = wellsPerBatch * daysPerWell;
const batchesAgain = 10;
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
  const first = await measured(warehouse, 'first load', batches, noChange);
  const unchanged = await measured(warehouse, 'nothing changed', batchesAgain, noChange);
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

async function measured(warehouse: Warehouse, name: string, count: number, change: RowChange): Promise<Sample> {
  await planRun(warehouse, name, count * wellsPerBatch);
  let longestMs = 0;
  const sample = await measureWork(count * wellsPerBatch * daysPerWell, async (counted) => {
    for (let batch = 0; batch < count; batch += 1) {
      const windows = windowsOf(batch, wellsPerBatch, change);
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
