/** The lines of the log of an export, a push and a cleanup: each names the run, the job, and what else is known of its work. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../../config/load.ts';
import { createApp } from '../../../src/app/app.ts';
import { chunkQueues } from '../../../src/core/run/job-description.ts';
import { workHere } from '../../../src/app/runs/worker-host.ts';
import { equipment, smallField, targetsCsv, well } from '../../support/cleanup-cli.ts';
import { cliHome } from '../../support/cli.ts';
import { tenColumns } from '../../support/pipes.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const lineSchema = z.looseObject({
  level: z.string(),
  msg: z.string(),
  runId: z.string().optional(),
  job: z.string().optional(),
  chunk: z.number().optional(),
});

const config = `
service: { retry: { attempts: 2, baseDelayMs: 5, maxDelayMs: 10 } }
queue: { attempts: 2, baseDelayMs: 5, maxDelayMs: 10 }
cleanup: { maxShareOfWellsPercent: 100 }
`;

/** Of the process, whichever runs it works; on a busy machine there may be some. */
const ofTheProcess = /^(?:the queue |an item lost|work (?:still )?waits|.* can be used again)/;

test('every line of a run names run and job, and those of its work the chunk and the well or the equipment', async () => {
  // Of each request the first is refused, and all of one well.
  const seen = new Set<string>();
  await using server = await startWithTenDays({
    assets: smallField(),
    onRequest: ({ method, url, parameters }) => {
      if (parameters[0] === 'never') return 'unavailable';
      const request = `${method} ${url}`;
      const isFirst = !seen.has(request);
      seen.add(request);
      return isFirst ? 'unavailable' : undefined;
    },
  });
  await using home = await cliHome(server.url, { config });
  await home.here(['export', 'daily-production', '--uwi', UWI, '--uwi', 'never', '--from', '2024-01-01']);
  await home.here([
    'push',
    'network-pipes',
    await home.write('pipes.csv', `${tenColumns}\nN,P1,2024-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]\n`),
  ]);
  const file = await home.write('targets.csv', targetsCsv);
  const planned = await home.here(['cleanup', '--file', file, '--include-producing', '--json']);
  const { planId } = z.object({ planId: z.string() }).parse(JSON.parse(planned.stdout));
  await home.here(['cleanup', '--apply', planId, '--yes', '--json']);

  const lines: string[] = [];
  const log = pino(
    { level: 'debug', formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void lines.push(line) },
  );
  await using app = createApp(loadConfig({ environment: home.env }), { log });
  const jobs = new Map<string, string>();
  await workHere({ app, queues: chunkQueues, log }, async () => {
    const areEnded = async (): Promise<boolean> => {
      const { runs } = await app.ledger.runs.list({ limit: 10 });
      for (const { runId, job } of runs) jobs.set(runId, job);
      return runs.length === 3 && runs.every(({ finishedAtMs }) => finishedAtMs !== undefined);
    };
    await expect.poll(areEnded, { timeout: 120_000, interval: 200 }).toBe(true);
  });

  const told = lines.map((line) => lineSchema.parse(JSON.parse(line)));
  const ofRuns = told.filter(({ msg }) => !ofTheProcess.test(msg));
  expect(ofRuns.filter(({ runId, job }) => runId === undefined || jobs.get(runId) !== job)).toEqual([]);
  for (const job of jobs.values()) {
    const messages = ofRuns.filter((line) => line.job === job).map(({ msg }) => msg);
    expect([job, ...messages]).toEqual(expect.arrayContaining(['planned', 'finished', 'a request is tried again']));
  }
  // Behind the plan, a line of work has its chunk.
  const unchunked = ofRuns.filter(({ chunk, msg }) => chunk === undefined && !['planned', 'finished'].includes(msg));
  expect(unchunked).toEqual([]);
  const requests = ofRuns.filter(({ msg }) => msg === 'a request is tried again');
  expect(new Set(requests.map(({ well: of }) => of))).toEqual(new Set([UWI, 'never', well, undefined]));
  expect(new Set(requests.map(({ equipment: of }) => of))).toEqual(new Set([equipment, undefined]));
  expect(ofRuns.filter(({ msg }) => msg === 'failed')).toMatchObject([{ target: 'never', well: 'never', chunk: 0 }]);
});
