/**
 * The ledger of runs at its sizes (G8), in one process with a worker's engine limit: 20 runs of 100,000 wells, and 10,000
 * small ones. Prints how long each query takes, the median and the longest of eleven. The baseline of all of them
 * together is as many SELECTs of one run by its id, without a transaction.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createDuckdbWarehouse } from '../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { RunLedger } from '../src/warehouse/port/runs.ts';
import type { Sample } from './report/measurement.ts';
import { measureWork } from './support/measured-work.ts';
import { Recorder, rounds } from './support/record.ts';
import { addManyRuns, manyRunsId, manyRunsStartMs, unitsInChunk } from './support/many-runs.ts';

const times = 11;
const recorder = new Recorder();
const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
try {
  await measure('20 runs of 100,000 wells', 20, 100_000);
  await measure('10,000 runs of 3 wells', 10_000, 3);
  recorder.finish();
} finally {
  await rm(folder, { recursive: true });
}

async function measure(name: string, runs: number, units: number): Promise<void> {
  const file = path.join(folder, `${runs}.duckdb`);
  const empty = createDuckdbWarehouse({ path: file, now: Date.now });
  await empty.check();
  await empty.close();
  await addManyRuns(file, runs, units);
  console.log(`${name}: ${megabytes((await stat(file)).size)} MB file`);
  for (let round = 0; round < rounds; round += 1) {
    const subject = await askLedger(file, runs, units, round === 0);
    const baseline = await askBare(file, manyRunsId(runs - 2), subject.amount);
    recorder.add(`ledger, ${name}`, { unit: 'queries', baseline: 'SELECT by id' }, { baseline, subject });
  }
}

/** All queries, `times` times each. */
async function askLedger(file: string, runs: number, units: number, isShown: boolean): Promise<Sample> {
  const warehouse = createDuckdbWarehouse({ path: file, now: Date.now });
  await warehouse.check();
  const queries = queriesOf(warehouse.ledger.runs, runs, units);
  const sample = await measureWork(queries.length * times, async (counted) => {
    for (const [query, ask] of queries) await counted(() => timed(query, ask, isShown));
  });
  await warehouse.close();
  return sample;
}

async function askBare(file: string, runId: string, amount: number): Promise<Sample> {
  const instance = await DuckDBInstance.create(file, { threads: '1' });
  const connection = await instance.connect();
  const sample = await measureWork(amount, async (counted) => {
    for (let time = 0; time < amount; time += 1) {
      await counted(() => connection.runAndReadAll('FROM run WHERE run_id = $1', [runId]));
    }
  });
  connection.closeSync();
  instance.closeSync();
  return sample;
}

type Query = readonly [name: string, ask: (time: number) => Promise<unknown>];

function queriesOf(ledger: RunLedger, runs: number, units: number): readonly Query[] {
  const ended = manyRunsId(runs - 2);
  const open = manyRunsId(runs - 1);
  const lastChunk = Math.floor((units - 1) / unitsInChunk);
  const filter = { states: ['done'], job: 'export daily-production', sinceMs: manyRunsStartMs + 5 } as const;
  const cursor = Buffer.from(JSON.stringify([manyRunsStartMs + runs / 2, manyRunsId(runs / 2)])).toString('base64url');
  return [
    ['list', () => ledger.list({ limit: 20 })],
    ['list by state, job and time', () => ledger.list({ limit: 20, ...filter })],
    ['list after a cursor', () => ledger.list({ limit: 20, cursor })],
    ['list all', () => ledger.list({ limit: runs })],
    ['find by prefix', () => ledger.find(open.slice(0, -1), 5)],
    ['show', () => ledger.read(ended)],
    ['revival', () => ledger.unfinished()],
    ['chunk start: run', () => ledger.readHead(open)],
    ['chunk start: open units', () => ledger.openUnits(open, lastChunk)],
    ['chunk end: settle', (time) => ledger.settle(open, [{ unit: time % units, state: 'done', counts: { read: 1 } }])],
    ['plan: first targets', () => ledger.targets('waiting')[Symbol.asyncIterator]().next()],
    ['open chunks', () => ledger.openChunks(open)],
    ['totals', () => ledger.totals(open)],
  ];
}

async function timed(name: string, ask: Query[1], isShown: boolean): Promise<void> {
  const tookMs: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const startedMs = performance.now();
    await ask(time);
    tookMs.push(performance.now() - startedMs);
  }
  if (!isShown) return;
  const sorted = tookMs.toSorted((left, right) => left - right);
  const [median = 0, longest = 0] = [sorted[Math.floor(times / 2)], sorted.at(-1)];
  console.log(`  ${name.padEnd(28)} ${median.toFixed(1).padStart(7)} ms, ${longest.toFixed(1).padStart(7)} ms longest`);
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000);
}
