/**
 * The cleanup of 10,000 time series records against a bare loop of DELETEs that also looks whether they are gone, with as
 * many requests at one time and one read of each piece of equipment. `wellsync cleanup --apply --inline` reads each piece
 * once before as well, asks the shared limits for every request, and adds the audit: each intent durable before its
 * request, each outcome after. The plan is made beforehand. Both sides count as whole commands: at a service that answers
 * at once, where only the work of the two counts, and at services that take 5 and 20 ms. WELLSYNC_BENCH_TARGETS sets the
 * number of records.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { equipmentId, sourceId, type AssetOrder } from './support/asset-service.ts';
import { runBare, runMeasured, wellsync, type CommandRun } from './support/measured-command.ts';
import { benchRedis, Recorder, rounds } from './support/record.ts';
import { startService } from './support/service-process.ts';

const targetCount = Number(process.env['WELLSYNC_BENCH_TARGETS'] ?? 10_000);
const recordsEach = 10;
const concurrency = 8;
const equipment = targetCount / recordsEach;
const services = [
  { subject: 'cleanup', latencyMs: 0 },
  { subject: 'cleanup, 5 ms', latencyMs: 5 },
  { subject: 'cleanup, 20 ms', latencyMs: 20 },
];

const redisUrl = benchRedis();
const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
await using service = await startService<AssetOrder>('asset-service');
try {
  const config = path.join(folder, 'wellsync.yaml');
  await writeFile(config, `cleanup: { maxTargets: ${targetCount}, maxShareOfWellsPercent: 100 }\n`);
  const targets = path.join(folder, 'targets.csv');
  await writeFile(targets, ['kind,well,equipment,source_id', ...targetLines()].join('\n'));
  const recorder = new Recorder();
  for (let round = 0; round < rounds; round += 1) {
    for (const { subject, latencyMs } of services) {
      const field: AssetOrder = { equipment, recordsEach, latencyMs };
      const bare = await bareLoop(field);
      const ours = await cleanup(field, config, targets);
      recorder.add(
        subject,
        { unit: 'targets', baseline: 'DELETE and look' },
        { baseline: { amount: targetCount, ...bare }, subject: { amount: targetCount, ...ours } },
      );
    }
  }
  recorder.finish();
} finally {
  await rm(folder, { recursive: true });
}

function targetLines(): readonly string[] {
  return Array.from({ length: targetCount }, (_, target) => {
    const owner = equipmentId(Math.floor(target / recordsEach));
    return `time-series,,"${owner}",${sourceId(target % recordsEach)}`;
  });
}

async function bareLoop(field: AssetOrder): Promise<CommandRun> {
  await service.tell(field);
  const run = await runBare('bare-cleanup', [service.url, ...[equipment, recordsEach, concurrency].map(String)]);
  z.object({ deleted: z.literal(targetCount), left: z.literal(0) }).parse(JSON.parse(run.stdout));
  return run;
}

async function cleanup(field: AssetOrder, config: string, targets: string): Promise<CommandRun> {
  await service.tell(field);
  const env = {
    WELLSYNC_CONFIG: config,
    WELLSYNC_SERVICE_URL: service.url,
    WELLSYNC_REDIS_URL: redisUrl,
    WELLSYNC_DATA_DIR: folder,
    WELLSYNC_QUEUE_PREFIX: 'bench',
  };
  const command = { program: wellsync, env, redisUrl };
  const plan = await runMeasured({ ...command, args: ['cleanup', '--file', targets, '--json'] });
  const { planId } = z.object({ planId: z.string() }).parse(JSON.parse(plan.stdout));
  const run = await runMeasured({ ...command, args: ['cleanup', '--apply', planId, '--yes', '--inline', '--json'] });
  const counts = z.object({ deleted: z.literal(targetCount), verifiedGone: z.literal(targetCount) });
  z.object({ counts }).parse(JSON.parse(run.stdout));
  return run;
}
