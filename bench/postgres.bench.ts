/**
 * The commits of the PostgreSQL warehouse: batches of 20,000 rows into an empty database, then again without a change, and
 * with one changed row in a hundred; and four commits at a time, of 1,000 rows and of 20,000. The baseline of the first is
 * a bare binary COPY of the same rows, encoded before, into a table with the same columns and indexes, with a COMMIT a
 * batch; those of the others are the first, and one commit at a time. Rows are generated before they are committed; only
 * commits count. `CPU us` has the server in it. WELLSYNC_BENCH_POSTGRES_URL names a server to take in place of a new one,
 * WELLSYNC_BENCH_WELLS the number of wells.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from } from 'pg-copy-streams';
import { z } from 'zod';
import type { WindowBatch } from '../src/core/daily/merge.ts';
import { copiedRows } from '../src/warehouse/postgres/staging.ts';
import { createPostgresWarehouse } from '../src/warehouse/postgres/postgres-warehouse.ts';
import { parsePostgresAddress } from '../src/warehouse/postgres/server/connections.ts';
import type { Sample } from './report/measurement.ts';
import { benchPostgres } from './support/bench-postgres.ts';
import { daysPerWell, type RowChange, noChange, windowsOf } from './support/generated-windows.ts';
import { planRun, type Warehouse } from './support/loaded-warehouse.ts';
import { measureWork } from './support/measured-work.ts';
import { Recorder, rounds } from './support/record.ts';

const { WELLSYNC_BENCH_WELLS: wells } = z
  .object({ WELLSYNC_BENCH_WELLS: z.coerce.number().int().min(80).default(400) })
  .parse(process.env);
const wellsPerBatch = 20;
const sessions = 4;
const batches = Math.floor(wells / wellsPerBatch);
const rowCount = batches * wellsPerBatch * daysPerWell;
const unit = 'rows';
const shrink = { maxShare: 0.2, maxRows: 3, allow: false };
/** Every hundredth row of a well. */
const onePercent: RowChange = (day) => (day % 100 === 0 ? 1 : 0);

await using postgres = await benchPostgres();
const recorder = new Recorder();
for (let round = 0; round < rounds; round += 1) await measureRound();
recorder.finish();

async function measureRound(): Promise<void> {
  const warehouse = await emptyWarehouse('loaded');
  const first = await commitInTurn(warehouse, 'first load', noChange);
  const again = await commitInTurn(warehouse, 'nothing changed', noChange);
  const changed = await commitInTurn(warehouse, '1 % changed', onePercent);
  await warehouse.close();
  await postgres.drop('loaded');
  const bare = await bareCopy();
  recorder.add('PostgreSQL commit, first load', { unit, baseline: 'COPY' }, { baseline: bare, subject: first });
  const ofFirst = { unit, baseline: 'first load' };
  recorder.add('PostgreSQL commit, nothing changed', ofFirst, { baseline: first, subject: again });
  recorder.add('PostgreSQL commit, 1 % changed', ofFirst, { baseline: first, subject: changed });
  for (const wellsInCommit of [1, wellsPerBatch]) {
    const baseline = await commitAtOnce(1, wellsInCommit);
    const subject = await commitAtOnce(sessions, wellsInCommit);
    const name = `PostgreSQL, ${sessions} sessions, commits of ${wellsInCommit * daysPerWell}`;
    recorder.add(name, { unit, baseline: '1 session' }, { baseline, subject });
  }
}

async function emptyWarehouse(name: string): Promise<Warehouse> {
  return openAt(await postgres.database(name));
}

/** A warehouse that has its tables. */
async function openAt(url: string): Promise<Warehouse> {
  const warehouse = createPostgresWarehouse({
    address: parsePostgresAddress(url),
    password: async () => undefined,
    retryMs: 0,
  });
  await warehouse.check();
  return warehouse;
}

async function commit(warehouse: Warehouse, runId: string, windows: readonly WindowBatch[]): Promise<void> {
  const order = { runId, windows, shrink, committedAtMs: Date.now() };
  const { outcomes } = await warehouse.dailyProduction.commit(order);
  if (outcomes.length !== windows.length) throw new Error(`${outcomes.length} of ${windows.length} units were settled`);
}

/** One batch after the other. */
async function commitInTurn(warehouse: Warehouse, runId: string, change: RowChange): Promise<Sample> {
  await planRun(warehouse, runId, wells);
  return measureWork(
    rowCount,
    async (counted) => {
      for (let batch = 0; batch < batches; batch += 1) {
        const windows = windowsOf(batch, wellsPerBatch, change);
        await counted(() => commit(warehouse, runId, windows));
      }
    },
    () => postgres.spentSeconds(),
  );
}

/** All wells into an empty warehouse, so many commits at a time, each by a connection of its own. */
async function commitAtOnce(count: number, wellsInCommit: number): Promise<Sample> {
  const warehouse = await emptyWarehouse('shared');
  await planRun(warehouse, 'shared', wells);
  const commits = (batches * wellsPerBatch) / wellsInCommit;
  const all = Array.from({ length: commits }, (_, each) => windowsOf(each, wellsInCommit, noChange));
  const queue = all.values();
  const session = async (): Promise<void> => {
    for (const windows of queue) await commit(warehouse, 'shared', windows);
  };
  const sample = await measureWork(
    rowCount,
    (counted) => counted(async () => void (await Promise.all(Array.from({ length: count }, session)))),
    () => postgres.spentSeconds(),
  );
  await warehouse.close();
  await postgres.drop('shared');
  return sample;
}

async function bareCopy(): Promise<Sample> {
  const url = await postgres.database('bare');
  // Makes the table.
  await (await openAt(url)).close();
  const client = new Client({ connectionString: url });
  await client.connect();
  const sample = await measureWork(
    rowCount,
    async (counted) => {
      for (let batch = 0; batch < batches; batch += 1) {
        const chunks = await encoded(batch);
        await counted(async () => {
          await client.query('BEGIN');
          const copy = client.query(from('COPY internal.daily_production FROM STDIN (FORMAT binary)'));
          await pipeline(Readable.from(chunks), copy);
          await client.query('COMMIT');
        });
      }
    },
    () => postgres.spentSeconds(),
  );
  await client.end();
  await postgres.drop('bare');
  return sample;
}

/** The rows of a batch as the warehouse copies them. */
async function encoded(batch: number): Promise<readonly Buffer[]> {
  const after = [{ text: 'bare' }, { text: 'bare' }, { timestamptzMs: Date.now() }];
  const rows = windowsOf(batch, wellsPerBatch, noChange).map((window) => ({
    rows: window.rows,
    before: [{ int4: window.unit }],
    after,
  }));
  const chunks: Buffer[] = [];
  for await (const chunk of copiedRows(rows)) chunks.push(chunk);
  return chunks;
}
