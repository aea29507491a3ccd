/**
 * What the checks of daily production add to a commit of the DuckDB warehouse: a first load, and mornings in which each well
 * has a new day and a corrected one. The baseline is the same without checks, in a file of its own. Ten columns of every row
 * are uniform noise, which costs the checks more than real data do.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configSchema, type Config } from '../config/schema.ts';
import { wellChecksOf } from '../src/app/job-settings.ts';
import type { WindowBatch } from '../src/core/daily/merge.ts';
import { RowColumnsBuilder } from '../src/core/daily/row-columns.ts';
import { measureFields, type Measure } from '../src/core/daily/row.ts';
import { DAY_MS } from '../src/core/time/window.ts';
import { createDuckdbWarehouse } from '../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { Sample } from './report/measurement.ts';
import { planRun, type Warehouse } from './support/loaded-warehouse.ts';
import { measureWork } from './support/measured-work.ts';
import { Recorder, rounds } from './support/record.ts';

const wells = Number(process.env['WELLSYNC_BENCH_WELLS'] ?? 200);
const firstDays = 1_800;
const wellsPerBatch = 33;
const mornings = 5;
const lookback = 7;
const firstDay = Date.parse('2020-01-01T00:00:00Z') / DAY_MS;
const checks = wellChecksOf(configSchema.parse({}) as unknown as Config);

const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
const recorder = new Recorder();
try {
  for (let round = 0; round < rounds; round += 1) {
    const plain = await measureRound(path.join(folder, `${round}-plain.duckdb`), undefined);
    const checked = await measureRound(path.join(folder, `${round}-checked.duckdb`), checks);
    const names = { unit: 'rows', baseline: 'unchecked' };
    recorder.add('checked commit, first load', names, { baseline: plain.first, subject: checked.first });
    recorder.add('checked commit, mornings', names, { baseline: plain.mornings, subject: checked.mornings });
  }
  recorder.finish();
} finally {
  await rm(folder, { recursive: true });
}

async function measureRound(file: string, how: typeof checks): Promise<Readonly<Record<'first' | 'mornings', Sample>>> {
  const warehouse = createDuckdbWarehouse({ path: file, now: Date.now });
  const first = await measured(warehouse, 'first', { from: 0, to: firstDays }, how);
  const next: Sample[] = [];
  for (let night = 0; night < mornings; night += 1) {
    const days = { from: firstDays + night - lookback, to: firstDays + night + 1 };
    next.push(await measured(warehouse, `morning ${night}`, days, how));
  }
  await warehouse.close();
  const sum = (name: 'amount' | 'seconds' | 'cpuSeconds'): number =>
    next.reduce((total, each) => total + each[name], 0);
  const [last = first] = next;
  return {
    first,
    mornings: { ...last, amount: sum('amount'), seconds: sum('seconds'), cpuSeconds: sum('cpuSeconds') },
  };
}

async function measured(
  warehouse: Warehouse,
  runId: string,
  { from, to }: { readonly from: number; readonly to: number },
  how: typeof checks,
): Promise<Sample> {
  await planRun(warehouse, runId, wells);
  return measureWork(wells * (to - from), async (counted) => {
    for (let well = 0; well < wells; well += wellsPerBatch) {
      const names = Array.from({ length: Math.min(wellsPerBatch, wells - well) }, (_, index) => well + index);
      const windows = names.map((name) => windowOf(name, from, to));
      const shrink = { maxShare: 0.2, maxRows: 3, allow: false };
      await counted(() => warehouse.dailyProduction.commit({ runId, windows, shrink, checks: how }));
    }
  });
}

function windowOf(well: number, from: number, to: number): WindowBatch {
  const rows = new RowColumnsBuilder();
  for (let day = from; day < to; day += 1) {
    // The second last day of a morning was another one before.
    const isCorrected = from > 0 && day === to - 2;
    const at = firstDay + day;
    rows.putRow(rows.next, {
      xid: `${String(well).padStart(8, '0')}-0000-4000-8000-${String(day).padStart(12, '0')}`,
      instantMs: at * DAY_MS,
      day: at,
      measures: measuresOf(well, day, isCorrected ? 0.5 : 0),
      extras: null,
    });
  }
  const counts = { read: to - from, repeated: 0, outsideWindow: 0, quarantined: 0, defaulted: 0, requests: 1 };
  return {
    unit: well,
    uwi: `NO 15/9-F-${well}`,
    window: { fromMs: (firstDay + from) * DAY_MS, toMs: (firstDay + to) * DAY_MS },
    timeZone: 'UTC',
    mode: 'incremental',
    isVerified: true,
    readDays: { fromDay: firstDay + from, toDay: firstDay + to },
    rows: rows.rows(),
    quarantined: [],
    counts,
    notices: [],
  };
}

/** Oil declines by a curve; the rest is noise, the same for the same day. */
function measuresOf(well: number, day: number, correction: number): readonly Measure[] {
  const isDown = noise(well, day, 99) < 0.05;
  return measureFields.map(({ name, kind }, index): Measure => {
    const share = noise(well, day, index);
    if (name === 'oilRate') return (50 + well) * Math.exp(-day / 2_500) * (0.9 + 0.2 * share) + correction;
    if (name === 'downtimeHours') return isDown ? 24 * share : 0;
    if (kind === 'boolean') return share < 0.1;
    if (kind === 'string') return isDown ? 'WORKOVER' : 'NONE';
    return kind === 'int32' ? Math.round(100 * share) : Math.round(90_000 * share) / 100;
  });
}

/** From 0 to 1. */
function noise(well: number, day: number, index: number): number {
  let hash =
    Math.imul(well + 1, 0x9e_37_79_b1) ^ Math.imul(day + 1, 0x85_eb_ca_6b) ^ Math.imul(index + 1, 0xc2_b2_ae_35);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d);
  return ((hash ^ (hash >>> 12)) >>> 0) / 2 ** 32;
}
