/**
 * Requests that push a file of network pipes: identifies its content, checks its header, prepares its run, and gives
 * its rejects.
 */
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Config } from '../../../config/schema.ts';
import { networkPipes } from '../../../jobs/network-pipes/counts.ts';
import { type ImaginedPushOptions, slowStart } from '../../../jobs/network-pipes/dry-run.ts';
import { alertOfPush, networkPipesJobName, type NetworkPipesParams } from '../../../jobs/network-pipes/job.ts';
import { UsageError } from '../../core/base/errors.ts';
import { serviceIdentity } from '../../core/base/service-key.ts';
import { pushFormOf } from '../../core/pipes/pipe.ts';
import { rejectedOf } from '../../core/run/job-description.ts';
import type { RunRecord, SharedLocation } from '../../core/run/run.ts';
import { type PipeSource, sourceName } from '../../pipes/content.ts';
import type { PipeEntry } from '../../pipes/items.ts';
import { readPipes, type ReadPipesOptions } from '../../pipes/read-pipes.ts';
import { Topology } from '../../pipes/topology.ts';
import { shownBaseUrl } from '../../service/settings.ts';
import type { KnownPush } from '../../warehouse/port/pushes.ts';
import type { RunLedger } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { EmptyListError } from '../exports/csv-list.ts';
import { findRun } from '../runs/find-runs.ts';
import type { StartedOnce } from '../runs/start-run.ts';
import { rejectsFolderOf } from '../warehouse/retention.ts';
import { type DryRunOptions, dryRunPipes, type PipesDryRun, topologySentences } from './dry-run.ts';
import { dropSource, type PushedFile, pushSource, type PushSource, standardInput } from './pipes-source.ts';

export interface PushRequest extends PushedFile {
  readonly form: 'auto' | 'wide' | 'long';
  readonly ignoreUnknownColumns: boolean;
  /** Limit of pipes in a request; undefined: that of the configuration. */
  readonly chunkItems: number | undefined;
  /** Pushes even a content that has been pushed, or is being pushed. */
  readonly isAgain: boolean;
  /** The run whose rejected rows the file has, as it was given; its content is pushed as with `isAgain`. */
  readonly corrects?: string | undefined;
  readonly withTopology: boolean;
  /** One character between cells; undefined: that of the configuration. */
  readonly delimiter: string | undefined;
  /** Whether the file may hold its header alone. */
  readonly allowsEmpty: boolean;
}

/**
 * A push that is prepared and not started. Disposing it removes the copy of standard input, unless its run needs it.
 */
export class PreparedPush implements AsyncDisposable {
  readonly job = networkPipesJobName;
  readonly #source: PushSource;
  readonly #request: PushRequest;
  readonly #config: Config;
  readonly #slow: readonly string[];
  #isNeeded = false;

  /** `slow`: that the push will take long, judged by the first rows. */
  constructor(source: PushSource, request: PushRequest, config: Config, slow: readonly string[]) {
    this.#slow = slow;
    this.#source = source;
    this.#request = request;
    this.#config = config;
  }

  /** A correction may have come before, as a push of its own. */
  get #isAgain(): boolean {
    return this.#request.isAgain || this.#request.corrects !== undefined;
  }

  /** The operator's name for the file. */
  get name(): string {
    return this.#source.name;
  }

  /** Absolute path. */
  get file(): string {
    return this.#source.file;
  }

  /** Size of the file as stored: compressed, if it is gzip. */
  get bytes(): number {
    return this.#source.identity.bytes;
  }

  /** SHA-256 of the uncompressed content. */
  get sha256(): string {
    return this.#source.content.sha256;
  }

  /** The push that makes this one needless or that it has to wait for; undefined with `isAgain`. */
  async findKnown({ ledger, warehouse }: App): Promise<KnownPush | undefined> {
    if (this.#isAgain || !(await warehouse.isStored())) return undefined;
    const { url, id } = this.#config.service;
    const form = pushFormOf(this.#request.form, this.#config.push.pipeIdentity);
    const content = { fileSha256: this.sha256, form };
    if (url === undefined) return ledger.pushes.find({ ...content, serviceUrl: undefined });
    const service = serviceIdentity(url, id)?.key;
    return ledger.pushes.find({ ...content, serviceUrl: shownBaseUrl(url), ...(service && { service }) });
  }

  /** What is to be said of the file before it is pushed, a sentence each: with the topology if that was requested. */
  async notices(): Promise<readonly string[]> {
    if (!this.#request.withTopology) return this.#slow;
    const { file, name } = this.#source;
    const topology = new Topology();
    for await (const { entries } of readPipes({ path: file, name }, readingHere(this.#request, this.#config))) {
      for (const entry of entries) if (entry.kind === 'item') topology.add(entry);
    }
    return [...this.#slow, ...topologySentences(topology.report())];
  }

  /** Reads the whole file as its run would, and sends nothing. The rejected rows are in the look's file. */
  async dryRun(): Promise<PipesDryRun> {
    const { file, name } = this.#source;
    return dryRunPipes({ path: file, name }, dryRunOptions(this.#request, this.#config));
  }

  /**
   * Puts the file where every host finds it, if the configuration names such a place, and starts the run; `start` queues
   * it, or finds an unfinished one of the same content, which has a copy of its own. Throws UsageError if there is nothing
   * to correct in the run that it names.
   */
  async start<T extends Pick<StartedOnce, 'kind'>>(
    { sharedFiles, ledger }: Pick<App, 'sharedFiles' | 'ledger'>,
    notices: readonly string[],
    start: (job: string, params: NetworkPipesParams) => Promise<T>,
  ): Promise<T & { readonly job: string }> {
    const { file, identity } = this.#source;
    const { corrects: given } = this.#request;
    const corrects = given === undefined ? undefined : await correctionOf(given, ledger.runs);
    const shared = await sharedFiles?.put(file, identity);
    const started = await start(this.job, this.#params(notices, { shared, corrects }));
    // A worker reads the shared copy.
    this.#isNeeded = started.kind === 'started' && shared === undefined;
    return { ...started, job: this.job };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isNeeded) await dropSource(this.#source);
  }

  #params(
    notices: readonly string[],
    { shared, corrects }: { readonly shared: SharedLocation | undefined; readonly corrects: Correction | undefined },
  ): NetworkPipesParams {
    const { name, file, identity, content } = this.#source;
    return {
      name,
      file,
      isSpooled: this.#source.isSpooled && shared === undefined,
      ...(shared && { shared }),
      identity,
      content,
      isAgain: this.#isAgain,
      ...(corrects && { corrects }),
      rejectsFolder: rejectsFolderOf(this.#config),
      chunkItems: chunkItemsOf(this.#request, this.#config),
      pipeIdentity: this.#config.push.pipeIdentity,
      reading: readingOf(this.#request, this.#config),
      notices: [...notices],
    };
  }
}

type Correction = NonNullable<NetworkPipesParams['corrects']>;

/** Throws UsageError for a run that has not ended, is no push, or lost no row. */
async function correctionOf(given: string, runs: RunLedger): Promise<Correction> {
  const run = await findRun(runs, given);
  const { runId, state, report } = run;
  const alerted = alertOfPush(run);
  if (alerted === undefined) {
    throw new UsageError(`run ${runId} is no push: it has no rejected rows`, { action: { kind: 'show-run', runId } });
  }
  if (report === undefined) {
    throw new UsageError(`run ${runId} is ${state}: its rejected rows are known at its end`, {
      action: { kind: 'look-at-run', runId },
    });
  }
  // A correction may have left rows that it had not.
  if (rejectedOf(networkPipes, report.counts) === 0 && report.state === 'done' && !alerted.isCorrection) {
    throw new UsageError(`run ${runId} has rejected no row: there is nothing to correct`, {
      hint: 'Push the file as a new one, or name the run that rejected its rows.',
    });
  }
  return { runId, file: alerted.file };
}

/**
 * Reads the source once, and its first rows. Throws UsageError for a file that cannot be read, or has no usable header,
 * EmptyListError for one that has no row and may not be empty.
 */
export async function preparePush(request: PushRequest, stdin: Readable, config: Config): Promise<PreparedPush> {
  const source = await pushSource(request, stdin, config.dataDir);
  try {
    const first = await firstRows(source, readingHere(request, config), request.allowsEmpty);
    return new PreparedPush(source, request, config, slowStart(first, sendingOf(request, config)));
  } catch (error) {
    await dropSource(source);
    throw error;
  }
}

/** The file whose rows a correction of this run is for: that of the first push. Undefined for a run that is no push. */
export function correctedFileOf(run: Pick<RunRecord, 'job' | 'params'>): string | undefined {
  return alertOfPush(run)?.file;
}

/** Checks a whole file as a push would, and sends nothing. Uses neither service nor Redis nor warehouse. */
export async function dryRunPush(
  request: PushRequest,
  stdin: Readable,
  config: Config,
): Promise<{ readonly name: string; readonly dryRun: PipesDryRun }> {
  const source: PipeSource = request.file === '-' ? { stream: stdin, name: standardInput } : { path: request.file };
  const dryRun = await dryRunPipes(source, dryRunOptions(request, config));
  if (dryRun.rows === 0 && !request.allowsEmpty) throw noRow(sourceName(source));
  return { name: sourceName(source), dryRun };
}

function dryRunOptions(request: PushRequest, config: Config): DryRunOptions {
  const atText = new Date().toISOString().replaceAll(/[^\d]/g, '').slice(0, 17);
  return {
    reading: readingHere(request, config),
    ...sendingOf(request, config),
    rejectsFile: path.join(rejectsFolderOf(config), `dry-run-${atText}.csv`),
    withTopology: request.withTopology,
  };
}

/** How the requests of a push are made, for an estimate of their number. */
function sendingOf(request: PushRequest, { push }: Config): ImaginedPushOptions {
  const { chunkBytes, concurrency, pipeIdentity } = push;
  const chunkItems = request.chunkItems ?? push.chunkItems;
  return { chunkItems, chunkBytes, concurrency, pipeIdentity };
}

function readingOf(request: PushRequest, config: Config): NetworkPipesParams['reading'] {
  const { form, ignoreUnknownColumns, delimiter = config.push.delimiter } = request;
  const { aliases, limits } = config.push;
  return { form, delimiter, aliases, ignoreUnknownColumns, limits };
}

/** In this process, for as long as the request lasts. */
function readingHere(request: PushRequest, config: Config): ReadPipesOptions {
  const { signal } = request;
  return { ...readingOf(request, config), ...(signal && { signal }) };
}

function chunkItemsOf({ chunkItems }: PushRequest, config: Config): number {
  return chunkItems ?? config.push.chunkItems;
}

/** Of these the first rows are taken. */
const firstBytes = 64 * 1024;

/** The first rows that a block of the file holds; throws EmptyListError if there are none and there must be some. */
async function firstRows(
  { file, name }: PushSource,
  reading: ReadPipesOptions,
  allowsEmpty: boolean,
): Promise<readonly PipeEntry[]> {
  for await (const { entries } of readPipes({ path: file, name }, { ...reading, blockBytes: firstBytes })) {
    if (allowsEmpty || entries.length > 0) return entries;
  }
  throw noRow(name);
}

function noRow(name: string): EmptyListError {
  return new EmptyListError(`${name} has no row behind its header`);
}

// The rejects of a push: where they lie, and their bytes.

export interface RunRejects {
  /** Absolute path of the file, or its address among shared files. There is none if nothing was rejected. */
  readonly location: string;
  readonly isShared: boolean;
  /** 0 if nothing was rejected. */
  readonly bytes: number;
  read(): AsyncIterable<Buffer>;
}

/**
 * Throws UsageError for a run that is not a push, BlockedError where its rejects lie in a place that this host has not,
 * UnreachableError where that cannot be reached.
 */
export async function rejectsOfRun(
  { runId, job: name, params }: RunRecord,
  { jobs, pipeFiles }: App,
): Promise<RunRejects> {
  const location = jobs.find((job) => job.name === name)?.rejectsLocation?.(params, runId);
  if (location === undefined) {
    throw new UsageError(`run ${runId} is no push: it has no rejects`, {
      hint: 'Its report tells what became of its records.',
      action: { kind: 'show-run', runId },
    });
  }
  const log = await pipeFiles.rejects(location);
  return { location: log.location, isShared: 'shared' in location, bytes: await log.size(), read: () => log.read() };
}
