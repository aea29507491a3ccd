/**
 * The job that pushes a CSV of network pipes to the bulk endpoint: one unit, the file, streamed by one worker at a time
 * from its checkpoint to its end (DESIGN.md section 4.3).
 */
import path from 'node:path';
import { z } from 'zod';
import { balancePush } from '../src/core/balance.ts';
import { PermanentError, UsageError } from '../src/core/errors.ts';
import type { PushCheckpoint } from '../src/core/push-checkpoint.ts';
import type { UnitOutcome } from '../src/core/run.ts';
import { listFields, pipeFields } from '../src/core/pipe-fields.ts';
import type { PipeFiles } from '../src/pipes/pipe-files.ts';
import type { ChunkOfWork, Job, JobParts, Leftover } from '../src/runs/job.ts';
import { BodyLimit } from '../src/runs/push/body-limit.ts';
import type { PushStep } from '../src/runs/push/checkpoint-writer.ts';
import { FilePush, type FilePushSettings } from '../src/runs/push/file-push.ts';
import { SliceSender } from '../src/runs/push/slice-sender.ts';

export const networkPipesJobName = 'push network-pipes';

export interface NetworkPipesSettings {
  /** UTF-8 bytes of a request body, unless the service was found to take less. */
  readonly chunkBytes: number;
  /** Chunks that one push sends at one time. */
  readonly concurrency: number;
  /** How often the checkpoint moves, and so how much is sent again after a kill. */
  readonly checkpointEveryMs: number;
}

/** What one push holds in memory, as JSON text: about 40 MB of heap, so that a worker can do two and an export (G8). */
const maxHeldBytes = 8_000_000;
/** Slices that are read ahead of those in flight, for each of these: a stubborn one must not hold up the others at once. */
const openSlicesEach = 4;
/** A size that was learnt from a 413 is tried anew after this time. */
const bodyLimitKeptMs = 30 * 24 * 3_600_000;

const numberLimit = z.strictObject({
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
  above: z.number().exactOptional(),
});

/** How the file is read stands in the run: every worker, and every retry, must read it alike. */
const paramsSchema = z.strictObject({
  /** What the operator called the file. */
  name: z.string().min(1),
  /** Absolute: workers read it there, so it lies on a disk that they share. */
  file: z.string().min(1),
  identity: z.strictObject({ bytes: z.number(), mtimeMs: z.number(), sha256: z.string() }),
  /** The file is a copy of standard input that nobody needs once it has arrived. */
  isSpooled: z.boolean(),
  /** Unpacked: what the ledger knows it by, and the whole of the progress. */
  content: z.strictObject({ bytes: z.number(), sha256: z.string() }),
  rejectsFolder: z.string().min(1),
  chunkItems: z.number().int().positive(),
  reading: z.strictObject({
    form: z.enum(['auto', 'wide', 'long']),
    delimiter: z.string().length(1),
    aliases: z.record(z.string(), z.enum(pipeFields)),
    ignoreUnknownColumns: z.boolean(),
    limits: z.partialRecord(z.enum(listFields), numberLimit),
  }),
  /** What the command found out about the network, for the report. */
  notices: z.array(z.string()),
});
export type NetworkPipesParams = z.output<typeof paramsSchema>;

/** Those of a run of this job, as they are read back. */
export function networkPipesParamsOf(params: unknown): NetworkPipesParams {
  return paramsSchema.parse(params);
}

/** Where the rejects of a run lie; there is no file as long as there are none. */
export function rejectsFileOf(rejectsFolder: string, runId: string): string {
  return path.join(rejectsFolder, `${runId}.csv`);
}

export function createNetworkPipesJob(settings: NetworkPipesSettings, files: PipeFiles): Job<NetworkPipesParams> {
  return {
    name: networkPipesJobName,
    queue: 'push',
    params: paramsSchema,
    exceptions: ['rejectedByUs', 'rejectedByService', 'failed'],
    balance: balancePush,
    isExclusive: true,
    plan: async ({ name }) => [{ unit: 0, chunk: 0, target: name, spec: {} }],
    work: (chunk, parts) => workFile(chunk, { ...parts, settings, files }),
  };
}

type Parts = JobParts & { readonly settings: NetworkPipesSettings; readonly files: PipeFiles };

async function workFile(chunk: ChunkOfWork<NetworkPipesParams>, parts: Parts): Promise<readonly Leftover[]> {
  const [unit] = chunk.units;
  if (unit === undefined) return [];
  try {
    await pushFile(chunk, parts);
    return [];
  } catch (error) {
    return [{ unit, error: withPlace(error, chunk.params) }];
  }
}

async function pushFile(chunk: ChunkOfWork<NetworkPipesParams>, parts: Parts): Promise<void> {
  const { runId, params } = chunk;
  const { warehouse, files, now } = parts;
  const whose = { runId, unit: 0 };
  const began = { ...whose, fileSha256: params.content.sha256, serviceUrl: parts.service.baseUrl, begunAtMs: now() };
  const { fence, checkpoint } = await warehouse.pushes.begin(began);
  // Where an earlier attempt got to, before this one gets further.
  if (checkpoint.position !== undefined) await tellProgress(checkpoint, chunk);
  const limit = await knownLimit(parts);
  let hasAdvanced = false;

  async function save(step: PushStep & { readonly settled?: UnitOutcome }): Promise<void> {
    await warehouse.pushes.save({ ...whose, fence, ...step, savedAtMs: now() });
    await noteLimit(limit, parts);
    hasAdvanced = true;
    await tellProgress(step.checkpoint, chunk);
  }

  await using rejects = await files.openRejects(rejectsFileOf(params.rejectsFolder, runId), checkpoint.rejectsBytes);
  const { file, identity, reading } = params;
  const { service } = parts;
  const { signal, isHeld } = chunk;
  // Once the push has come further it has all its attempts anew, so nothing need be given up yet.
  const givesUpItems = (): boolean => chunk.isLastAttempt && !hasAdvanced;
  const sender = new SliceSender({ service, limit, signal, isHeld, givesUpItems });
  const pushParts = { files, file, identity, reading, rejects, sender, limit, signal, isHeld, now, save };
  const push = new FilePush(filePushSettings(params, parts.settings), checkpoint, pushParts);
  await push.run();
  const notices = [`file: ${params.name}`, ...push.notices, ...params.notices];
  const settled: UnitOutcome = { unit: 0, state: 'done', counts: push.checkpoint.counts, notices };
  await save({ checkpoint: push.checkpoint, chunks: [], settled });
  await chunk.settled([settled]);
  if (params.isSpooled) await files.remove(params.file);
}

function filePushSettings(
  { chunkItems }: NetworkPipesParams,
  { concurrency, checkpointEveryMs }: NetworkPipesSettings,
): FilePushSettings {
  return { chunkItems, concurrency, maxOpenSlices: concurrency * openSlicesEach, maxHeldBytes, checkpointEveryMs };
}

async function tellProgress(
  { position, counts }: PushCheckpoint,
  { params, advanced }: ChunkOfWork<NetworkPipesParams>,
): Promise<void> {
  await advanced({ unit: 0, done: position?.byte ?? 0, whole: params.content.bytes, counts });
}

async function knownLimit({ warehouse, service, settings, now }: Parts): Promise<BodyLimit> {
  const known = await warehouse.pushes.bodyLimit(service.baseUrl, now() - bodyLimitKeptMs);
  return new BodyLimit(settings.chunkBytes, known);
}

async function noteLimit(limit: BodyLimit, { warehouse, service, now }: Parts): Promise<void> {
  const maxBytes = limit.takeFound();
  if (maxBytes === undefined) return;
  await warehouse.pushes.noteBodyLimit({ serviceUrl: service.baseUrl, maxBytes, foundAtMs: now() });
}

/** A file that is not there may well lie on the host where the push was asked for. */
function withPlace(error: unknown, { file }: NetworkPipesParams): unknown {
  if (!(error instanceof UsageError) || error.message !== `there is no file ${file}`) return error;
  return new PermanentError('source-missing', `the worker finds no file ${file}`, {
    cause: error,
    hint: 'Put it where every worker can read it, or hand it in by standard input with a data folder that they share.',
  });
}
