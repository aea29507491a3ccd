/**
 * The job that pushes a CSV of network pipes to the bulk endpoint: one unit, the file, streamed by one worker at a time
 * from its checkpoint to its end (docs/design.md section 4.3).
 */
import path from 'node:path';
import { z } from 'zod';
import { observePush } from '../../src/core/alerts/run-observations.ts';
import { BlockedError, PermanentError, UsageError } from '../../src/core/base/errors.ts';
import { counted } from '../../src/core/base/text.ts';
import type { PushCheckpoint, RejectsLocation } from '../../src/core/pipes/checkpoint.ts';
import { listFields, pipeFields, pipeIdentities, pushFormOf, textOfKey } from '../../src/core/pipes/pipe.ts';
import type { Counts, RunRecord, RunReport, SharedLocation, UnitOutcome } from '../../src/core/run/run.ts';
import { DAY_MS } from '../../src/core/time/window.ts';
import type { PipeFiles } from '../../src/pipes/pipe-files.ts';
import type { Advance, ChunkOfWork, Job, JobContext, UnsettledUnit } from '../../src/runs/job.ts';
import type { PushStart } from '../../src/warehouse/port/pushes.ts';
import type { PushStep } from './checkpoint-writer.ts';
import { networkPipes } from './counts.ts';
import { BodyLimit, ChunkSender } from './chunk-sender.ts';
import { FilePush } from './file-push.ts';

export const networkPipesJobName = networkPipes.name;

export interface NetworkPipesSettings {
  /** Limit of a request body in UTF-8 bytes, unless the service was found to accept less. */
  readonly chunkBytes: number;
  /** Chunks that one push sends concurrently. */
  readonly concurrency: number;
  /** Interval between checkpoints: the most that is sent again after a kill. */
  readonly checkpointEveryMs: number;
}

/**
 * Limit of what one push has in memory, as JSON text: about 40 MB of heap, so that a worker can run two pushes and an
 * export (G8).
 */
const maxBufferedBytes = 8_000_000;
/** A limit found by a 413 is retested after this time. */
const bodyLimitKeptMs = 30 * DAY_MS;

const numberLimit = z.strictObject({
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
  above: z.number().exactOptional(),
});

/** How the file is read is stored in the run: every worker, and every retry, must read it alike. */
const paramsSchema = z.strictObject({
  /** The operator's name for the file. */
  name: z.string().min(1),
  /** Absolute path on the host that requested the push: without `shared`, workers read the file there. */
  file: z.string().min(1),
  /** Where every host finds the file, and its rejects go. */
  shared: z.strictObject({ id: z.string(), address: z.string(), folder: z.string() }).optional(),
  identity: z.strictObject({ bytes: z.number(), mtimeMs: z.number(), sha256: z.string() }),
  /** The file is a copy of standard input, removed once its content has arrived. */
  isSpooled: z.boolean(),
  /** Size and hash of the uncompressed content: its identity in the ledger, and the whole of the progress. */
  content: z.strictObject({ bytes: z.number(), sha256: z.string() }),
  rejectsFolder: z.string().min(1),
  chunkItems: z.number().int().positive(),
  /** By what the service tells pipes apart. Unknown for older runs, which lack it. */
  pipeIdentity: z.enum(pipeIdentities).default('unknown'),
  reading: z.strictObject({
    form: z.enum(['auto', 'wide', 'long']),
    delimiter: z.string().length(1),
    aliases: z.record(z.string(), z.enum(pipeFields)),
    ignoreUnknownColumns: z.boolean(),
    limits: z.partialRecord(z.enum(listFields), numberLimit),
  }),
  /** Pushes even a content that others have pushed or are pushing. False for older runs, which lack it. */
  isAgain: z.boolean().default(false),
  /** The push whose rejected rows this file has, and the file by which those are an alert. */
  corrects: z.strictObject({ runId: z.string(), file: z.string() }).optional(),
  /** Findings of the command about the network, for the report. */
  notices: z.array(z.string()),
});
export type NetworkPipesParams = z.output<typeof paramsSchema>;

/** What a run reads beside the files of people: a shared file, by SHA-256 and place, or a copy on its host. */
export function filesOfPush(params: unknown): {
  readonly shared?: { readonly sha256: string; readonly place: SharedLocation };
  readonly copy?: string;
} {
  const { data } = paramsSchema.safeParse(params);
  if (data === undefined) return {};
  const { shared, identity, isSpooled, file } = data;
  return {
    ...(shared !== undefined && { shared: { sha256: identity.sha256, place: shared } }),
    ...(isSpooled && { copy: file }),
  };
}

/** A correction is of the file that was pushed first. */
function alertedFileOf({ name, corrects }: Pick<NetworkPipesParams, 'name' | 'corrects'>): string {
  return corrects?.file ?? name;
}

/** Of a push: the file by which its rejects are an alert; undefined for a run of another job. */
export function alertOfPush({ job, params }: Pick<RunRecord, 'job' | 'params'>) {
  const { data } = paramsSchema.safeParse(params);
  if (job !== networkPipesJobName || data === undefined) return undefined;
  return { file: alertedFileOf(data), isCorrection: data.corrects !== undefined };
}

/** Where the rejects of a run lie; there is no file as long as there are none. */
function rejectsLocationOf(
  { shared, rejectsFolder }: Pick<NetworkPipesParams, 'shared' | 'rejectsFolder'>,
  runId: string,
): RejectsLocation {
  return shared === undefined ? { file: path.join(rejectsFolder, `${runId}.csv`) } : { shared, runId };
}

export function createNetworkPipesJob(settings: NetworkPipesSettings, files: PipeFiles): Job<NetworkPipesParams> {
  return {
    ...networkPipes,
    queue: 'push',
    params: paramsSchema,
    // The content and how it is read tell two pushes apart, not where a copy of it lies.
    varyingParams: ['name', 'file', 'shared', 'identity', 'isSpooled', 'rejectsFolder', 'chunkItems', 'notices'],
    isExclusive: true,
    plan: async ({ name }) => [{ unit: 0, chunk: 0, target: name, spec: {} }],
    checkRetry: async (runId, { ledger }) => {
      const run = await ledger.runs.readHead(runId);
      if (run !== undefined) await requireSourceAgain(paramsSchema.parse(run.params), files);
    },
    work: (chunk, context) => workFile(chunk, { ...context, settings, files }),
    observe: async (params, ended) => observePush(ended, { file: alertedFileOf(params), corrects: params.corrects }),
    rejectsLocation: rejectsLocationOf,
  };
}

/** A retry is refused where it is requested: its file would be missing on the way, or this process could wait for ever. */
async function requireSourceAgain(params: NetworkPipesParams, files: PipeFiles): Promise<void> {
  try {
    await files.requireSource(params);
  } catch (error) {
    if (error instanceof BlockedError) {
      throw new UsageError(error.message, {
        hint: 'Set files.url to that place, as it is on the other hosts.',
        cause: error,
      });
    }
    if (!(error instanceof PermanentError)) throw error;
    throw new UsageError(error.message, { ...(error.hint !== undefined && { hint: error.hint }), cause: error });
  }
}

type PushContext = JobContext & { readonly settings: NetworkPipesSettings; readonly files: PipeFiles };

async function workFile(
  chunk: ChunkOfWork<NetworkPipesParams>,
  context: PushContext,
): Promise<readonly UnsettledUnit[]> {
  const [unit] = chunk.units;
  if (unit === undefined) return [];
  try {
    await pushFile(chunk, context);
    return [];
  } catch (error) {
    return [{ unit, error: withLocation(error, chunk.params) }];
  }
}

async function pushFile(chunk: ChunkOfWork<NetworkPipesParams>, context: PushContext): Promise<void> {
  const { runId, params, signal } = chunk;
  const { ledger, files, now } = context;
  // Before the claim, which would keep a push away that another worker can read.
  await files.requireSource(params, signal);
  const start = await ledger.pushes.begin({
    runId,
    unit: 0,
    fileSha256: params.content.sha256,
    serviceUrl: context.service.baseUrl,
    form: pushFormOf(params.reading.form, params.pipeIdentity),
    isAgain: params.isAgain,
    begunAtMs: now(),
  });
  if (start.kind === 'waits') throw blockedBy(start.runId, start.claimedAtMs, now());
  if (start.kind === 'pushed') await takeOutcome(start, chunk, context);
  else await sendFile(start, chunk, context);
  if (params.isSpooled) await files.remove(params.file);
}

/** Settles the push with the outcome of another run that has pushed its content; sends nothing. */
async function takeOutcome(
  { runId: otherRunId, counts, sent }: Extract<PushStart, { readonly kind: 'pushed' }>,
  { runId, params, settled, signal }: ChunkOfWork<NetworkPipesParams>,
  { ledger, files }: PushContext,
): Promise<void> {
  const other = await ledger.runs.read(otherRunId);
  // A push is known for longer than its run is kept.
  const others = other === undefined ? params : paramsSchema.parse(other.params);
  await files.copyRejects(rejectsLocationOf(others, otherRunId), rejectsLocationOf(params, runId), signal);
  const outcome = outcomeOfOther(
    other?.report ?? { runId: otherRunId, counts, notices: [] },
    { own: params.name, other: others.name },
    sent,
  );
  await ledger.runs.settle(runId, [outcome]);
  await settled([outcome]);
}

async function sendFile(
  { fence, checkpoint }: { readonly fence: number; readonly checkpoint: PushCheckpoint },
  chunk: ChunkOfWork<NetworkPipesParams>,
  context: PushContext,
): Promise<void> {
  const { runId, params } = chunk;
  const { ledger, files, now } = context;
  if (checkpoint.position !== undefined) await chunk.resumed(advanceOf(checkpoint, params));
  const limit = await knownLimit(context);
  let hasAdvanced = false;

  async function save(step: PushStep & { readonly settled?: UnitOutcome }): Promise<void> {
    await ledger.pushes.save({ runId, unit: 0, fence, ...step, savedAtMs: now() });
    await recordLimit(limit, context);
    hasAdvanced = true;
    await chunk.advanced(advanceOf(step.checkpoint, params));
  }

  const { service, settings } = context;
  const { signal, isOwned } = chunk;
  const { reading } = params;
  await using source = await files.open(params, signal);
  const { file, identity } = source;
  await using rejects = await files.openRejects(rejectsLocationOf(params, runId), checkpoint.rejectsBytes, signal);
  // A push that has advanced gets all its attempts again, so no item need be given up yet.
  const givesUpItems = (): boolean => chunk.isLastAttempt && !hasAdvanced;
  const sender = new ChunkSender({ service, limit, signal, isOwned, givesUpItems });
  const lacking = new Set((await ledger.pushes.lacking(runId)).map(textOfKey));
  const alertedFile = alertedFileOf(params);
  const pushContext = {
    files,
    file,
    lacking,
    alertedFile,
    identity,
    reading,
    rejects,
    sender,
    limit,
    signal,
    isOwned,
    now,
    save,
  };
  const { chunkItems, pipeIdentity } = params;
  const push = new FilePush({ ...settings, chunkItems, pipeIdentity, maxBufferedBytes }, checkpoint, pushContext);
  await push.run();
  const notices = [fileNotice(params.name), ...push.notices, ...params.notices];
  const { pipesWithSeveralDates } = push.versions;
  const counts = { ...push.checkpoint.counts, pipesWithSeveralDates };
  const settled: UnitOutcome = { unit: 0, state: 'done', counts, notices };
  await save({ checkpoint: push.checkpoint, chunks: [], settled });
  await chunk.settled([settled]);
}

function advanceOf({ position, counts }: PushCheckpoint, { content }: NetworkPipesParams): Advance {
  return { unit: 0, done: position?.byte ?? 0, whole: content.bytes, counts };
}

async function knownLimit({ ledger, service, settings, now }: PushContext): Promise<BodyLimit> {
  const known = await ledger.pushes.bodyLimit(service.baseUrl, now() - bodyLimitKeptMs);
  return new BodyLimit(settings.chunkBytes, known);
}

async function recordLimit(limit: BodyLimit, { ledger, service, now }: PushContext): Promise<void> {
  const maxBytes = limit.takeFound();
  if (maxBytes === undefined) return;
  await ledger.pushes.recordBodyLimit({ serviceUrl: service.baseUrl, maxBytes, foundAtMs: now() });
}

/** A missing file may be on the host where the push was requested. */
function withLocation(error: unknown, { file }: NetworkPipesParams): unknown {
  if (!(error instanceof UsageError) || error.message !== `there is no file ${file}`) return error;
  return new PermanentError('source-missing', `the worker finds no file ${file}`, {
    cause: error,
    hint: 'Put it where every worker can read it, or set files.url to a place that all hosts share, and push it again.',
  });
}

// A push whose content another run pushes, or has pushed (docs/design.md section 4.3): it waits, or takes that run's
// outcome.

/** The pause after which a new push is checked again; one that has run for an hour is checked rarely. */
const shortestPollMs = 500;
const longestPollMs = 15_000;

/** The pause before a claim is checked again: a quarter of its age, within bounds. */
export function blockedBy(runId: string, claimedAtMs: number, nowMs: number): BlockedError {
  const delayMs = Math.min(longestPollMs, Math.max(shortestPollMs, (nowMs - claimedAtMs) / 4));
  return new BlockedError('push-under-way', `run ${runId} is pushing this content`, Math.round(delayMs));
}

/**
 * Every count of a push as zero, so that the counts of an earlier attempt do not remain beside those of the other run.
 */
const noCounts: Counts = Object.fromEntries(
  [...networkPipes.counts.map(({ name }) => name), 'chunks', 'requests'].map((name) => [name, 0]),
);

/**
 * The outcome of a push that another run completed: the rows and notices of that run, and its id. Chunks and requests
 * are those of this run: `sent` has the counts of its own checkpoint, undefined if it never began to push.
 */
export function outcomeOfOther(
  { runId, counts, notices }: Pick<RunReport, 'runId' | 'counts' | 'notices'>,
  names: { readonly own: string; readonly other: string },
  sent: Counts | undefined,
): UnitOutcome {
  const ofContent = notices.filter((notice) => notice !== fileNotice(names.other));
  return {
    unit: 0,
    state: 'done',
    counts: { ...noCounts, ...counts, chunks: sent?.['chunks'] ?? 0, requests: sent?.['requests'] ?? 0 },
    notices: [fileNotice(names.own), `run ${runId} pushed this content: ${sentText(sent)}`, ...ofContent],
  };
}

function sentText(sent: Counts | undefined): string {
  if (sent === undefined) return 'this run sent nothing';
  const requests = sent['requests'] ?? 0;
  // A worker that was killed before its first checkpoint may have sent something.
  if (requests === 0) return 'this run had begun before, and recorded no request';
  return `this run had sent ${counted(requests, 'request')} before`;
}

function fileNotice(name: string): string {
  return `file: ${name}`;
}
