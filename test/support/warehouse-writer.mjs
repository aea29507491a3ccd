/**
 * A second process at a warehouse: `node warehouse-writer.mjs PATH WELL BATCHES`. Commits that many batches to the well,
 * each a window of its own with `rowsPerBatch` rows, and tells of each commit on standard output; with BATCHES 0 it goes
 * on until it is killed. Runs from dist, as a worker does.
 */
import process from 'node:process';

/** @type {typeof import('../../src/core/daily/row-columns.ts')} */
const { RowColumnsBuilder } = await built('core/daily/row-columns.js');
/** @type {typeof import('../../src/core/daily/row.ts')} */
const { measureFields } = await built('core/daily/row.js');
/** @type {typeof import('../../src/warehouse/duckdb/duckdb-warehouse.ts')} */
const { createDuckdbWarehouse } = await built('warehouse/duckdb/duckdb-warehouse.js');

/** @param {string} file under dist/src, which is there only once it is built */
function built(file) {
  return import(new URL(`../../dist/src/${file}`, import.meta.url).href);
}

const [path = '', uwi = '', wanted = '0'] = process.argv.slice(2);
const batches = Number(wanted) === 0 ? Infinity : Number(wanted);
const rowsPerBatch = 500;
const dayMs = 86_400_000;
const warehouse = createDuckdbWarehouse({ path, now: Date.now, lockWaitMs: 30_000 });

/** @param {number} batch @returns {import('../../src/core/daily/merge.ts').WindowBatch} */
function windowOf(batch) {
  const fromMs = batch * rowsPerBatch * dayMs;
  const rows = new RowColumnsBuilder();
  for (let index = 0; index < rowsPerBatch; index += 1) {
    rows.putRow(rows.next, {
      xid: `${String(batch).padStart(8, '0')}-0000-4000-8000-${String(index).padStart(12, '0')}`,
      instantMs: fromMs + index * dayMs,
      day: batch * rowsPerBatch + index,
      measures: measureFields.map(({ kind }) => (kind === 'double' ? batch + index / 7 : null)),
      extras: null,
    });
  }
  const window = { fromMs, toMs: fromMs + rowsPerBatch * dayMs };
  const counts = { read: rowsPerBatch, repeated: 0, outsideWindow: 0, quarantined: 0, defaulted: 0, requests: 1 };
  const readDays = { fromDay: batch * rowsPerBatch, toDay: (batch + 1) * rowsPerBatch };
  return {
    unit: batch,
    uwi,
    window,
    timeZone: 'UTC',
    mode: 'incremental',
    isVerified: true,
    readDays,
    rows: rows.rows(),
    quarantined: [],
    counts,
    notices: [],
  };
}

const units = Array.from({ length: Math.min(batches, 5_000) }, (_, unit) => ({
  unit,
  chunk: 0,
  target: uwi,
  spec: {},
}));
await warehouse.ledger.runs.create({
  runId: uwi,
  job: 'export',
  params: {},
  service: 'https://service.example',
  actor: 'tester@host',
  requestedAtMs: Date.now(),
});
await warehouse.ledger.runs.savePlan(uwi, units, Date.now());
const shrink = { maxShare: 0.2, maxRows: 3, allow: false };
for (let batch = 0; batch < batches; batch += 1) {
  await warehouse.dailyProduction.commit({ runId: uwi, windows: [windowOf(batch)], shrink, committedAtMs: Date.now() });
  process.stdout.write(`committed ${batch + 1}\n`);
}
await warehouse.close();
