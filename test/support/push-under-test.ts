/** The push job without a queue: real files, a real warehouse, a real service; the test acts as the worker. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { networkPipes } from '../../jobs/network-pipes/counts.ts';
import { createNetworkPipesJob, type NetworkPipesParams } from '../../jobs/network-pipes/job.ts';
import { defaultPipeLimits } from '../../src/core/pipes/pipe.ts';
import { balanceOfCounts } from '../../src/core/run/balance.ts';
import type { PlannedUnit } from '../../src/core/run/run.ts';
import { identifyContent, identifyFile, localPipeFiles } from '../../src/pipes/pipe-files.ts';
import type { Advance, ChunkOfWork, UnsettledUnit } from '../../src/runs/job.ts';
import { serviceAt } from './service-under-test.ts';
import { openTemporaryDuckdb } from './warehouse-duckdb.ts';

const unit: PlannedUnit = { unit: 0, chunk: 0, target: 'pipes.csv', spec: {} };

export interface PushedFile {
  readonly runId: string;
  readonly file: string;
  readonly rejectsFile: string;
  /** One attempt of a worker; returns the unsettled unit, if any. */
  work(how?: Partial<ChunkOfWork<NetworkPipesParams>>): Promise<UnsettledUnit | undefined>;
  /** Every progress that the job reported. */
  readonly advances: readonly Advance[];
}

export async function pushUnderTest(serviceUrl: string) {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-push-'));
  const opened = await openTemporaryDuckdb();
  const { warehouse } = opened;
  const { service } = serviceAt(serviceUrl);
  const settings = { chunkBytes: 1_000_000, concurrency: 3, checkpointEveryMs: 1 };
  const job = createNetworkPipesJob(settings, localPipeFiles);
  let runs = 0;

  /** A planned run for a file of this content. */
  async function fileOf(content: string | Uint8Array, how: Partial<NetworkPipesParams> = {}): Promise<PushedFile> {
    const runId = `run-${(runs += 1)}`;
    const file = path.join(folder, `${runId}.in.csv`);
    await writeFile(file, content);
    const identity = await identifyFile(file);
    const params: NetworkPipesParams = {
      name: 'pipes.csv',
      file,
      identity,
      content: await identifyContent({ path: file, name: file }, identity),
      isSpooled: false,
      isAgain: true,
      rejectsFolder: folder,
      chunkItems: 3,
      pipeIdentity: 'unknown',
      reading: { form: 'wide', delimiter: ',', aliases: {}, ignoreUnknownColumns: false, limits: defaultPipeLimits },
      notices: [],
      ...how,
    };
    await warehouse.ledger.runs.create({
      runId,
      job: job.name,
      params,
      service: 'https://service.example',
      actor: 'tester@host',
      requestedAtMs: 0,
    });
    await warehouse.ledger.runs.savePlan(runId, [unit], 0);
    const advances: Advance[] = [];
    const chunk: ChunkOfWork<NetworkPipesParams> = {
      runId,
      params,
      units: [unit],
      signal: new AbortController().signal,
      isLastAttempt: false,
      isOwned: () => true,
      read: () => undefined,
      advanced: async (advance) => void advances.push(advance),
      resumed: async (advance) => void advances.push(advance),
      settled: async () => undefined,
    };
    const parts = { service, warehouse, ledger: warehouse.ledger, now: Date.now };
    return {
      runId,
      file,
      rejectsFile: path.join(folder, `${runId}.csv`),
      advances,
      work: async (differently = {}) => (await job.work({ ...chunk, ...differently }, parts))[0],
    };
  }

  return {
    warehouse,
    fileOf,
    /** The counts of a run, and whether they balance. */
    async totalsOf({ runId }: PushedFile) {
      const { units, counts, notices } = await warehouse.ledger.runs.totals(runId);
      return { units, counts, notices, balanced: balanceOfCounts(networkPipes, counts).balanced };
    },
    async [Symbol.asyncDispose]() {
      await service.close();
      await opened.dispose();
      await rm(folder, { recursive: true });
    },
  };
}
