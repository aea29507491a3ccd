/**
 * What a night costs by the size of the warehouse: commits of 700 wells with 7 days, and the queries around them, at 10 and
 * 100 million rows (WELLSYNC_BENCH_MILLIONS, separated by commas). The baseline is the same at 1 million rows of 700
 * wells, in the same round: a ratio of 0.5 is twice the time. The wells have long common prefixes, were filled one after
 * the other, and have a tail of 30 nights. The batch is 690 wells that adjoin and the last ten; at 1 million rows it is all
 * wells.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createDuckdbWarehouse } from '../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { WarehouseHandle } from '../src/warehouse/port/warehouse.ts';
import { fillWarehouse, firstDay, rowGroupsOf, uwiOf, windowOf, type Size } from './support/growing-warehouse.ts';
import { measureWork } from './support/measured-work.ts';
import { Recorder, rounds } from './support/record.ts';

const wellsInBatch = 700;
const lateWells = 10;
const daysInWindow = 7;
const nights = 30;
const least: Size = { wells: wellsInBatch, days: 1_430, nights };
const millions = (process.env['WELLSYNC_BENCH_MILLIONS'] ?? '10,100').split(',').map(Number);

interface Grown extends Size {
  readonly path: string;
  readonly warehouse: WarehouseHandle;
}

type Work = (grown: Grown, round: number) => Promise<void>;

const names = {
  nothing: 'nothing changed',
  newDay: 'one new day',
  restated: '1 % restated',
  earlier: 'an earlier week',
};

let runs = 0;

/** Commits a window of each well of the batch, as a run of its own; only the commit is counted. */
const committed =
  (windowFrom: (grown: Grown, round: number) => number, change: (key: number, day: number, round: number) => number) =>
  (grown: Grown, round: number) => {
    runs += 1;
    const runId = `run ${runs}`;
    const from = windowFrom(grown, round);
    const windows = keysOf(grown).map((key, unit) =>
      windowOf(unit, key, [from, from + daysInWindow], (...at) => change(...at, round)),
    );
    return { runId, windows };
  };

/** Wells from the middle, one after the other, and the last ones: a list by name has wells that came years later. */
function keysOf({ wells }: Size): readonly number[] {
  const first = Math.floor((wells - wellsInBatch) / 2) + 1;
  const together = wellsInBatch - lateWells;
  return Array.from({ length: wellsInBatch }, (_, place) =>
    place < together ? first + place : wells - wellsInBatch + place + 1,
  );
}

const unchanged = (): number => 0;
const isRestated = (key: number, day: number, round: number): number => ((key + day) % 100 === 0 ? round + 1 : 0);
const batches: Readonly<Record<string, ReturnType<typeof committed>>> = {
  [names.nothing]: committed(({ days }) => days - daysInWindow, unchanged),
  [names.earlier]: committed(({ days }) => days - nights - 400, unchanged),
  [names.newDay]: committed(({ days }, round) => days - daysInWindow + 1 + round, unchanged),
  [names.restated]: committed(({ days }) => days - nights - 800, isRestated),
};

const queries: Readonly<Record<string, Work>> = {
  watermarks: async (grown) => void (await grown.warehouse.dailyProduction.watermarks(keysOf(grown).map(uwiOf))),
  'sound days': async (grown) => {
    const toDay = firstDay + grown.days;
    await grown.warehouse.dailyProduction.cleanDays(keysOf(grown).map(uwiOf), { fromDay: toDay - 92, toDay });
  },
  'known days': async (grown) => void (await grown.warehouse.coverage.knownDays(keysOf(grown).map(uwiOf))),
  'coverage of 700 wells': async (grown) => {
    const question = { uwis: keysOf(grown).map(uwiOf), toDay: firstDay + grown.days };
    await grown.warehouse.coverage.survey(question, (survey) => survey.totals());
  },
  restatements: async ({ warehouse }) => {
    const since = { sinceMs: Date.now() - 3_600_000, untilMs: Date.now() + 3_600_000 };
    await warehouse.dailyProduction.restatements(since, async (versions) => {
      for await (const version of versions) if (version.uwi === '') throw new Error('a version without a well');
    });
  },
  'tail of nights': async ({ warehouse }) => void (await warehouse.ledger.order.tail()),
};

const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
const recorder = new Recorder();
try {
  const base = await grownTo('1', least);
  for (const million of millions) {
    const grown = await grownTo(String(million), { wells: Math.round((million * 1e6) / 3_650), days: 3_650, nights });
    for (let round = 0; round < rounds; round += 1) await measureRound(base, grown, round, million);
    await grown.warehouse.close();
    await rm(grown.path);
  }
  await base.warehouse.close();
  recorder.finish();
} finally {
  await rm(folder, { recursive: true });
}

async function grownTo(name: string, size: Size): Promise<Grown> {
  const file = path.join(folder, `${name}.duckdb`);
  await fillWarehouse(file, size);
  for (const from of [size.days - daysInWindow, size.days - nights - 400]) {
    const read = await rowGroupsOf(file, keysOf(size), [from, from + daysInWindow]);
    console.log(`${name} million rows, days from ${from} on: ${read}`);
  }
  return { ...size, path: file, warehouse: createDuckdbWarehouse({ path: file, now: Date.now }) };
}

async function measureRound(base: Grown, grown: Grown, round: number, million: number): Promise<void> {
  const about = { baseline: '1 million' };
  for (const [name, batch] of Object.entries(batches)) {
    const [baseline, subject] = [await timedCommit(base, batch, round), await timedCommit(grown, batch, round)];
    recorder.add(`${million} million, ${name}`, { ...about, unit: 'rows' }, { baseline, subject });
  }
  for (const [name, query] of Object.entries(queries)) {
    const timed = (of: Grown) => measureWork(1, (counted) => counted(() => query(of, round)));
    const [baseline, subject] = [await timed(base), await timed(grown)];
    recorder.add(`${million} million, ${name}`, { ...about, unit: 'queries' }, { baseline, subject });
  }
}

async function timedCommit(grown: Grown, batch: ReturnType<typeof committed>, round: number) {
  const { runId, windows } = batch(grown, round);
  const { warehouse } = grown;
  await warehouse.ledger.runs.create({
    runId,
    job: 'bench',
    params: {},
    service: 'https://service.example',
    actor: 'tester@host',
    requestedAtMs: Date.now(),
  });
  const units = windows.map(({ unit, uwi }) => ({ unit, chunk: 0, target: uwi, spec: {} }));
  await warehouse.ledger.runs.savePlan(runId, units, Date.now());
  return measureWork(windows.length * daysInWindow, (counted) =>
    counted(async () => {
      const shrink = { maxShare: 0.2, maxRows: 3, allow: false };
      const { outcomes } = await warehouse.dailyProduction.commit({
        runId,
        windows,
        shrink,
        committedAtMs: Date.now(),
      });
      if (outcomes.length !== windows.length) throw new Error(`${outcomes.length} of ${windows.length} units`);
    }),
  );
}
