/**
 * The push of generated pipes against a bare loop (csv-parse with columns, JSON.stringify by 500 and undici with the same
 * concurrency); `wellsync push network-pipes --inline` adds its checks, order, checkpoint and ledger. Both send to the
 * same sink. Two subjects of the same runs: by the run's own report and the time of the loop, and as whole commands, with
 * the start of Node and the hash of the file. WELLSYNC_BENCH_ROWS sets the number of pipes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { generatePipes } from './support/generated-pipes.ts';
import { runBare, runMeasured, wellsync, type CommandRun } from './support/measured-command.ts';
import { benchRedis, Recorder, rounds } from './support/record.ts';
import { startService } from './support/service-process.ts';

const rowCount = Number(process.env['WELLSYNC_BENCH_ROWS'] ?? 500_000);
const chunkItems = 500;
const concurrency = 8;
const names = { unit: 'pipes', baseline: 'CSV and POST' };

const redisUrl = benchRedis();
const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
await using sink = await startService('pipe-sink');
try {
  const file = path.join(folder, 'pipes.csv');
  await generatePipes(file, rowCount);
  const recorder = new Recorder();
  for (let round = 0; round < rounds; round += 1) {
    const baseline = await bareLoop(file);
    const subject = await push(file);
    recorder.add('push', names, { baseline: baseline.own, subject: subject.own });
    recorder.add('push, whole command', names, { baseline: baseline.whole, subject: subject.whole });
  }
  recorder.finish();
} finally {
  await rm(folder, { recursive: true });
}

/** One command in two readings: the time of its work alone, and all of it. */
function inTwoReadings(run: CommandRun, ownSeconds: number) {
  const whole = { ...run, amount: rowCount };
  return { whole, own: { ...whole, seconds: ownSeconds } };
}

async function bareLoop(file: string) {
  const run = await runBare('bare-push', [sink.url, file, ...[chunkItems, concurrency].map(String)]);
  const loop = z.object({ rows: z.literal(rowCount), seconds: z.number() }).parse(JSON.parse(run.stdout));
  return inTwoReadings(run, loop.seconds);
}

async function push(file: string) {
  const run = await runMeasured({
    program: wellsync,
    args: ['push', 'network-pipes', file, '--again', '--inline', '--json'],
    redisUrl,
    env: {
      WELLSYNC_SERVICE_URL: sink.url,
      WELLSYNC_REDIS_URL: redisUrl,
      WELLSYNC_DATA_DIR: folder,
      WELLSYNC_QUEUE_PREFIX: 'bench',
    },
  });
  const counts = z.object({ accepted: z.literal(rowCount) });
  const report = z.object({ state: z.literal('done'), durationMs: z.number(), counts }).parse(JSON.parse(run.stdout));
  return inTwoReadings(run, report.durationMs / 1_000);
}
