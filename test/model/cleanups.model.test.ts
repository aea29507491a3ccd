/**
 * Cleanups by plans that a person makes and confirms, at a service that refuses, is busy, and deletes what it does not
 * answer. Whether a deletion may be is asked at the moment at which it arrives, and every guarantee after each command
 * (cleanup-guarantees.ts); in the end all has ended, and a plan of everything leaves what the service protects.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCleanupJob } from '../../jobs/cleanup/job.ts';
import { targetText } from '../../src/core/cleanup/target.ts';
import { anyJob } from '../../src/runs/job.ts';
import type { QueueKind } from '../../src/core/run/warehouse-queue.ts';
import { expectForAllModels, modelTimeoutMs, queues } from '../support/model-runs.ts';
import {
  applied,
  type CleanupScene,
  cleanupSettings,
  faulty,
  makePlanOf,
  planned,
  removed,
  requestCleanup,
  retriedWithNumber,
  unanswered,
} from './cleanup-commands.ts';
import { auditViolations, cleanupViolations, deletionViolations } from './cleanup-guarantees.ts';
import { allTargets, CleanupService, isProtected, producingWell } from './cleanup-service.ts';
import { baseUrl } from './memory-client.ts';
import {
  cancelled,
  copied,
  endsAll,
  killed,
  lost,
  passed,
  pruned,
  started,
  steps,
  suspended,
  takenOver,
} from './world-commands.ts';
import { secretsAnywhere } from './world-guarantees.ts';
import { type Asked, World } from './world.ts';

const usual = [steps(60), steps(60), steps(60), steps(200), planned, planned, applied, applied, applied];
const ofService = [removed, faulty, unanswered, unanswered];
const rare = [
  retriedWithNumber,
  cancelled,
  started,
  started,
  killed,
  suspended,
  lost,
  passed,
  passed,
  copied,
  pruned,
  takenOver,
];

test.each(queues)(
  'G1 G2 G6 G7 G10 G11: cleanups hold whatever comes between any two of their steps (queue: $queue)',
  async ({ queue, runs }) => {
    await expectForAllModels(
      fc.asyncProperty(
        fc.scheduler(),
        fc.noBias(
          fc.commands([...usual, ...ofService, ...rare.filter((each) => queue === 'redis' || each !== lost)], {
            maxCommands: 60,
            size: 'max',
          }),
        ),
        (scheduler, script) => modelled(scheduler, script, queue),
      ),
      runs({ usual: 2, full: 8 }),
    );
  },
  modelTimeoutMs,
);

async function modelled(
  scheduler: fc.Scheduler,
  script: Iterable<fc.AsyncCommand<object, CleanupScene>>,
  queue: QueueKind,
): Promise<void> {
  const confirmed = new Map<string, string>();
  const service = new CleanupService((asked) => deletionViolations(world, confirmed, asked));
  const jobs = [anyJob(createCleanupJob(cleanupSettings))];
  await using world: World = await World.open({
    scheduler,
    serviceUrl: baseUrl,
    service: (pace, own) =>
      service.client(pace, () => world.processes.some((each) => each.own === own && each.isWorking())),
    jobs: () => [anyJob(createCleanupJob(cleanupSettings))],
    chunkQueues: ['cleanup'],
    queue,
  });
  const violations = () => cleanupViolations(scene);
  const violationsOfCopy = (copy: Asked) => auditViolations(scene, copy);
  const scene: CleanupScene = { world, service, jobs, plans: [], confirmed, violations, violationsOfCopy };
  world.start(0);
  while (!world.processes.every((each) => each.isWorking())) await world.step();
  // Its production was read long ago, and that of the others never.
  await world.rows(
    `INSERT INTO watermark (uwi, watermark) VALUES ('${producingWell}', TIMESTAMPTZ '2020-01-01 00:00:00+00')`,
  );
  await world.rows(
    `INSERT INTO watermark (uwi, watermark) SELECT 'X' || i, TIMESTAMPTZ '2020-01-01 00:00:00+00' FROM range(9) known(i)`,
  );
  await fc.asyncModelRun(() => ({ model: {}, real: scene }), script);
  [service.faults, service.losses] = [0, 0];
  await deletesAll(scene);
}

/** G6: once nothing happens any more, a confirmed plan of everything leaves what the service protects. */
async function deletesAll(scene: CleanupScene): Promise<void> {
  const { world, service, violations } = scene;
  const last = await endsAll(scene);
  const { length } = scene.plans;
  world.tell(makePlanOf(scene, last, allTargets, true));
  while (scene.plans.length === length) expect(await world.step()).toBe(true);
  requestCleanup(scene, last, scene.plans[length] ?? '', true);
  await world.finish();
  expect([...(await violations()), ...(await secretsAnywhere(world))]).toEqual([]);
  const left = allTargets.filter((target) => service.has(target));
  const kept = allTargets.filter((target) => isProtected(target) && !service.removedBy.has(targetText(target)));
  expect(left).toEqual(kept);
}
