/** What may happen in a model of pushes, beside what may happen in any world. */
import fc from 'fast-check';
import { networkPipesJobName, type NetworkPipesParams } from '../../jobs/network-pipes/job.ts';
import type { PipeIdentity } from '../../src/core/pipes/pipe.ts';
import type { ModelFiles } from './model-files.ts';
import type { ModelFile } from './pipe-texts.ts';
import type { PushService } from './push-service.ts';
import { Act, actor, type Scene, someIndex, working } from './world-commands.ts';
import type { WorldProcess } from './world.ts';

export interface PushScene extends Scene {
  readonly service: PushService;
  readonly texts: readonly ModelFile[];
  readonly files: ModelFiles;
  readonly identity: PipeIdentity;
  /** The file of each requested run. */
  readonly fileOf: Map<string, ModelFile>;
}

interface PushHow {
  readonly isAgain: boolean;
  /** None where a run of the same content has not ended. */
  readonly isOnce: boolean;
}

/** Requests a push by a process. Returns the id of its run. */
export function requestPush(scene: PushScene, { runs }: WorldProcess, file: ModelFile, how: PushHow): string {
  const content = { bytes: Buffer.byteLength(file.text), sha256: file.sha256 };
  const params: NetworkPipesParams = {
    name: file.name,
    file: file.name,
    shared: { id: 'files', address: 'memory', folder: 'files' },
    identity: { ...content, mtimeMs: 0 },
    isSpooled: false,
    content,
    rejectsFolder: 'rejects',
    chunkItems: 3,
    pipeIdentity: scene.identity,
    reading: { form: file.form, delimiter: ',', aliases: {}, ignoreUnknownColumns: false, limits: {} },
    isAgain: how.isAgain,
    notices: [],
  };
  const runId = scene.world.request((id) => {
    const details = { actor, runId: id };
    if (how.isOnce) return runs.startOnce(networkPipesJobName, params, details);
    return runs.start(networkPipesJobName, params, details);
  });
  scene.fileOf.set(runId, file);
  return runId;
}

const how = fc.constantFrom<PushHow>(
  { isAgain: false, isOnce: false },
  { isAgain: false, isOnce: false },
  { isAgain: false, isOnce: true },
  { isAgain: true, isOnce: false },
);

export const pushed = fc.tuple(someIndex, how, someIndex).map(([index, asked, by]) => {
  const name = `push file ${index % 2}${asked.isAgain ? ' again' : ''}${asked.isOnce ? ' once' : ''}`;
  return new Act<PushScene>(name, (scene) => {
    const [file, process] = [scene.texts[index % scene.texts.length], working(scene, by)];
    if (file !== undefined && process !== undefined) requestPush(scene, process, file, asked);
  });
});

export const faulty = fc
  .integer({ min: 1, max: 6 })
  .map(
    (many) =>
      new Act<PushScene>(`the service answers ${many} requests with 503`, ({ service }) => (service.faults = many)),
  );

export const unanswered = fc.integer({ min: 1, max: 3 }).map(
  (many) =>
    new Act<PushScene>(`the service takes ${many} requests without an answer`, ({ service }) => {
      service.losses = many;
    }),
);
