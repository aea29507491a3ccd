/**
 * Two and four workers on one PostgreSQL warehouse against one: where the service is the limit, with 200 ms a page of 100
 * rows and 4 requests under way at a time from each worker; and where these cores are, without latency and with the
 * defaults. `CPU us` has the server and Redis in it.
 */
import { benchPostgres } from './support/bench-postgres.ts';
import { WorkersBench } from './support/export-workers.ts';
import { Recorder, type Round, rounds } from './support/record.ts';

const workerCounts = [2, 4];

/**
 * The pages of a well come one after the other, so that a worker has one request under way for each chunk of one well: 4,
 * since an export has one chunk more than `chunkConcurrency`. Wells of few pages, so that the last ones, at which fewer
 * and fewer readers work, are a small part of the run.
 */
const slowService = {
  name: 'slow service',
  order: {
    wells: 96,
    days: 650,
    latencyMs: 200,
    config: `
service: { concurrency: 16, pageLimit: 100 }
worker: { chunkConcurrency: 3 }
export: { chunkWells: 1 }
`,
  },
};
const quickService = {
  name: 'quick service',
  order: { wells: 300, days: 1_826, latencyMs: 0, config: 'export: { chunkWells: 20 }\n' },
};

await using postgres = await benchPostgres();
const recorder = new Recorder();
await measureWorkers(slowService);
await measureWorkers(quickService);
recorder.finish();

async function measureWorkers({ name, order }: typeof slowService): Promise<void> {
  await using bench = await WorkersBench.start(order, postgres);
  for (let round = 0; round < rounds; round += 1) {
    const { requests, ...baseline } = await bench.export(1);
    console.log(`${name}: one worker, ${requests} requests in ${baseline.seconds.toFixed(1)} s`);
    for (const count of workerCounts) {
      const { requests: _, ...subject } = await bench.export(count);
      const both: Round = { baseline, subject };
      recorder.add(`PostgreSQL, ${name}, ${count} workers`, { unit: 'rows', baseline: '1 worker' }, both);
    }
  }
}
