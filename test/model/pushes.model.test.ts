/**
 * Pushes of files of pipes, to a service that refuses pipes and bodies, is busy, and takes what it does not answer. After
 * each command every guarantee is asked (push-guarantees.ts); in the end all has ended, a push alone leaves the last row of
 * each pipe, and one more of the same content sends nothing.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createNetworkPipesJob } from '../../jobs/network-pipes/job.ts';
import { type PipeIdentity, pipeIdentities } from '../../src/core/pipes/pipe.ts';
import { anyJob } from '../../src/runs/job.ts';
import type { QueueKind } from '../../src/core/run/warehouse-queue.ts';
import { expectForAllModels, modelTimeoutMs, queues } from '../support/model-runs.ts';
import { baseUrl } from './memory-client.ts';
import { ModelFiles } from './model-files.ts';
import { drawnFile, type ModelFile } from './pipe-texts.ts';
import { faulty, pushed, type PushScene, requestPush, unanswered } from './push-commands.ts';
import { chunkViolations, pushViolations } from './push-guarantees.ts';
import { PushService, type Refusing } from './push-service.ts';
import {
  cancelled,
  copied,
  endsAll,
  killed,
  lost,
  passed,
  pruned,
  retried,
  started,
  steps,
  suspended,
  takenOver,
} from './world-commands.ts';
import { secretsAnywhere } from './world-guarantees.ts';
import { type Asked, World, type WorldProcess } from './world.ts';

const settings = { chunkBytes: 400, concurrency: 2, checkpointEveryMs: 1 };

/** A pipe has 90 bytes and more. */
const mostBytes = fc.constantFrom(110, 200, 300, 1_000, 1_000);

const usual = [steps(60), steps(60), steps(60), steps(200), pushed, pushed, pushed, faulty, unanswered];
const rare = [cancelled, retried, started, started, killed, suspended, lost, passed, passed, copied, pruned, takenOver];

test.each(queues)(
  'G1 G2 G5 G7 G10 G11: pushes hold whatever comes between any two of their steps (queue: $queue)',
  async ({ queue, runs }) => {
    await expectForAllModels(
      fc.asyncProperty(
        fc.scheduler(),
        fc.tuple(drawnFile('wide', 'wide'), drawnFile('long', 'long')),
        fc.record({ mostBytes, storesPart: fc.boolean() }),
        fc.constantFrom(...pipeIdentities),
        fc.noBias(
          fc.commands([...usual, ...rare.filter((each) => queue === 'redis' || each !== lost)], {
            maxCommands: 60,
            size: 'max',
          }),
        ),
        (scheduler, texts, refusing, identity, script) =>
          modelled({ scheduler, texts, refusing, identity, script, queue }),
      ),
      runs({ usual: 2, full: 8 }),
    );
  },
  modelTimeoutMs,
);

async function modelled(of: {
  readonly scheduler: fc.Scheduler;
  readonly texts: readonly ModelFile[];
  readonly refusing: Refusing;
  readonly identity: PipeIdentity;
  readonly queue: QueueKind;
  readonly script: Iterable<fc.AsyncCommand<object, PushScene>>;
}): Promise<void> {
  const { scheduler, texts, refusing, identity, script, queue } = of;
  const [service, files] = [new PushService(refusing), new ModelFiles(texts)];
  await using world: World = await World.open({
    scheduler,
    serviceUrl: baseUrl,
    service: (pace, own) =>
      service.client(pace, own, () => world.processes.some((each) => each.own === own && each.isWorking())),
    jobs: (during) => [anyJob(createNetworkPipesJob(settings, files.port(during)))],
    chunkQueues: ['push'],
    queue,
  });
  const violations = () => pushViolations(scene);
  const violationsOfCopy = (copy: Asked) => chunkViolations(scene, copy);
  const scene: PushScene = { world, service, texts, files, identity, fileOf: new Map(), violations, violationsOfCopy };
  world.start(0);
  while (!world.processes.every((each) => each.isWorking())) await world.step();
  await fc.asyncModelRun(() => ({ model: {}, real: scene }), script);
  [service.faults, service.losses] = [0, 0];
  const last = await endsAll(scene);
  for (const text of texts) await pushesTwice(scene, last, text);
}

/** G1, G5: a push that runs alone leaves the last rows, and after it one of the same content sends nothing. */
async function pushesTwice(scene: PushScene, by: WorldProcess, file: ModelFile): Promise<void> {
  const { world, service, files, violations } = scene;
  // The newest push of a content is told by when it began.
  await world.pass(1);
  const first = requestPush(scene, by, file, { isAgain: true, isOnce: false });
  await world.finish();
  expect(await violations()).toEqual([]);
  const { length } = service.sent;
  const second = requestPush(scene, by, file, { isAgain: false, isOnce: false });
  await world.finish();
  expect(await violations()).toEqual([]);
  expect(await secretsAnywhere(world)).toEqual([]);
  expect(service.sent.slice(length)).toEqual([]);
  expect(files.rejectsOf(second)).toBe(files.rejectsOf(first));
}
