/**
 * Takes the files of one inbox, one after another in the order in which they came, since a later file may hold a later
 * version of the same pipe. One process at a time does so, by a lease; what it leaves when it dies is continued by the
 * next one (docs/inbox.md, G7).
 */
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import {
  AbortedError,
  AccessError,
  BlockedError,
  faultOf,
  outagePartOf,
  type OutageRecord,
  PermanentError,
  ServiceHoldError,
  UsageError,
  WarehouseGoneError,
  WellsyncError,
} from '../../core/base/errors.ts';
import {
  type InboxKind,
  InboxRefusedError,
  isAgainName,
  isSameSighting,
  rejectsNameBeside,
  Settling,
  type Sighting,
} from '../../core/pipes/inbox.ts';
import { type Arrival, type Claim, type EndFolder, InboxFolder } from '../../files/inbox-folder.ts';
import { sleep } from '../../timers/sleep.ts';
import type { App } from '../app.ts';
import { inboxFoldersOf, type InboxRight } from './inbox-owner.ts';
import { Readable } from 'node:stream';
import { networkPipesJobName } from '../../../jobs/network-pipes/job.ts';
import type { RunRecord, RunReport } from '../../core/run/run.ts';
import { newRunId } from '../../runs/run-service.ts';
import { askService } from '../service/ask-service.ts';
import { followRun, type RunObserver } from '../runs/follow-run.ts';
import { planTargets } from '../cleanups/plan.ts';
import { ofFile } from '../cleanups/cleanup-targets.ts';
import { type PreparedPush, preparePush, rejectsOfRun } from '../pushes/push.ts';
import { jobDescriptionOf } from '../runs/run-status.ts';
import { planDocument } from '../cleanups/plan-document.ts';
import { reportDocument } from '../runs/run-document.ts';

interface InboxWorkerOptions extends Omit<ArrivalContext, 'signal'> {
  readonly kind: InboxKind;
  readonly outages: OutageRecord;
  readonly pollEveryMs: number;
}

/** Resolves with the end of a file. Throws for a state that passes: the file waits then. */
type WorkArrival = (claim: Claim, context: ArrivalContext) => Promise<ArrivalEnd>;

const workOf: Readonly<Record<InboxKind, WorkArrival>> = { 'network-pipes': pushArrival, cleanup: planArrival };

class InboxWorker {
  readonly #options: InboxWorkerOptions;
  readonly #settling: Settling;
  readonly #claimsSettling: Settling;
  /** Names that were told as left alone, while they lie there. */
  #reported: ReadonlySet<string> = new Set();
  #lastWait: string | undefined;
  /** Whether another installation has the inbox, which was told. */
  #isLost = false;

  constructor(options: InboxWorkerOptions) {
    this.#options = options;
    const { settleMs } = options.app.config.inbox;
    this.#settling = new Settling(settleMs);
    this.#claimsSettling = new Settling(settleMs);
  }

  /** Works until the signal aborts. Never throws: a fault is told, and the next look may be without it. */
  async keepWorking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#workUnderLease(signal);
      } catch (error) {
        this.#recordFault(error, signal);
      }
      await this.#pause(signal);
    }
  }

  async #workUnderLease(signal: AbortSignal): Promise<void> {
    const { app, inbox, kind, log } = this.#options;
    const id = await inbox.open();
    if (this.#isLost) log.info({ inbox: kind }, 'the inbox is of this installation again: files are taken');
    this.#isLost = false;
    await using lease = await (await app.queue('lasting')).tryLease(`inbox:${id}`);
    if (lease === undefined) return;
    const ending = AbortSignal.any([signal, lease.signal]);
    while (!ending.aborted) {
      await this.#workAll(ending);
      await this.#pause(ending);
    }
  }

  /** Ends every claim, then takes each file that has settled. */
  async #workAll(signal: AbortSignal): Promise<void> {
    const { inbox } = this.#options;
    const claims = await inbox.claims(Date.now());
    const atRest = this.#claimsSettling.poll(
      sightingsOf(claims, ({ id }) => id),
      performance.now(),
    );
    for (const claim of claims) {
      // Those behind it came later, and wait for it.
      if (signal.aborted || !(isAtRest(claim) || atRest.has(claim.id))) return;
      await this.#work(claim, signal);
    }
    const { arrivals, ignored } = await inbox.poll();
    this.#reportIgnored(ignored);
    const settled = this.#settling.poll(sightingsOf(arrivals, keyOf), performance.now());
    for (const arrival of arrivals.filter((each) => settled.has(keyOf(each)))) {
      if (signal.aborted) return;
      const claim = await inbox.claim(arrival, Date.now());
      // One that has changed between look and claim is looked at again, where it lies now.
      if (claim !== undefined && !isAtRest(claim)) return;
      if (claim !== undefined) await this.#work(claim, signal);
    }
  }

  async #work(claim: Claim, signal: AbortSignal): Promise<void> {
    const { inbox, log, kind } = this.#options;
    const { end, line } = claim.end === undefined ? await this.#ended(claim, signal) : { end: claim.end, line: {} };
    await inbox.end(claim, end);
    this.#lastWait = undefined;
    const fields = { inbox: kind, file: claim.shownName, claim: claim.id, ...line };
    if (end === 'done') log.info(fields, 'a file of the inbox is done');
    else log.error(fields, 'a file of the inbox failed');
  }

  /** Works a file and writes its report. */
  async #ended(
    claim: Claim,
    signal: AbortSignal,
  ): Promise<{ readonly end: ArrivalEnd['state']; readonly line: ArrivalEnd['line'] }> {
    const { app, inbox, kind, actor, log } = this.#options;
    const worked = workOf[kind](claim, { app, inbox, actor, log, signal });
    const { state, line, report } = await worked.catch((error: unknown) => {
      if (signal.aborted || maySucceedLater(error)) throw error;
      if (!(error instanceof WellsyncError)) log.error({ err: error, file: claim.shownName }, 'a fault of wellsync');
      return endOfFault(claim, error);
    });
    await inbox.writeReport(claim, { state, file: claim.shownName, ...report });
    return { end: state, line };
  }

  #reportIgnored(ignored: ReadonlyArray<{ readonly shownName: string; readonly reason: string }>): void {
    for (const { shownName, reason } of ignored) {
      if (!this.#reported.has(shownName)) {
        this.#options.log.warn({ inbox: this.#options.kind, file: shownName, because: reason }, 'left in the inbox');
      }
    }
    this.#reported = new Set(ignored.map(({ shownName }) => shownName));
  }

  #recordFault(error: unknown, signal: AbortSignal): void {
    if (signal.aborted || error instanceof AbortedError) return;
    const part = outagePartOf(error);
    const { outages, log, kind } = this.#options;
    if (part !== undefined) return void outages.down(part, faultOf(error).message);
    const because = faultOf(error).message;
    if (error instanceof InboxRefusedError) {
      if (!this.#isLost) log.error({ inbox: kind, because }, 'this process takes no more files from the inbox');
      this.#isLost = true;
      return;
    }
    // One line for one cause, however often it is met.
    if (because !== this.#lastWait) log.warn({ inbox: kind, because }, 'the inbox waits');
    this.#lastWait = because;
  }

  async #pause(signal: AbortSignal): Promise<void> {
    await sleep(this.#options.pollEveryMs, { signal }).catch(() => undefined);
  }
}

function keyOf({ name }: Arrival): string {
  return name.toString('base64');
}

function sightingsOf<T extends { readonly sighting: Sighting | undefined }>(
  files: readonly T[],
  key: (file: T) => string,
): ReadonlyMap<string, Sighting> {
  return new Map(files.flatMap((file) => (file.sighting === undefined ? [] : [[key(file), file.sighting]])));
}

/** Whether the file looks as it did when it had stopped changing; one with a report needs no look. */
function isAtRest({ end, sighting, settled, runId }: Claim): boolean {
  if (end !== undefined || runId !== undefined || sighting === undefined) return true;
  return settled !== undefined && isSameSighting(sighting, settled);
}

/** Only what the file itself is to blame for ends it; all else passes, or is fixed by an operator. */
function maySucceedLater(error: unknown): boolean {
  if (error instanceof InboxRefusedError) return true;
  if (error instanceof UsageError || error instanceof PermanentError) return false;
  if (error instanceof BlockedError || error instanceof AccessError || error instanceof ServiceHoldError) return true;
  return error instanceof WarehouseGoneError || error instanceof WellsyncError || isOfSystem(error);
}

function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

// The inbox of a worker, by the configuration.

/** The longest pause between two looks at a folder. */
const longestPollMs = 2_000;

/**
 * Takes the files of every kind of inbox until the signal aborts; ends at once where the configuration names no folder.
 * Resolves when the work on files has been handed back.
 */
export async function keepTaking(
  { app, log, right }: { readonly app: App; readonly log: Logger; readonly right: InboxRight },
  outages: OutageRecord,
  signal: AbortSignal,
): Promise<void> {
  const pollEveryMs = Math.min(longestPollMs, Math.max(50, app.config.inbox.settleMs / 2));
  const workers = inboxFoldersOf(app.config).map(
    ({ kind, root }) =>
      new InboxWorker({
        app,
        inbox: new InboxFolder(root, () => right.hold(root)),
        actor: `inbox/${kind}@${hostname()}`,
        kind,
        log,
        outages,
        pollEveryMs,
      }),
  );
  await Promise.all(workers.map((worker) => worker.keepWorking(signal)));
}

// How a file of an inbox ends: the folder, the report beside it, and what the log says.

/** What the work on a file needs. */
interface ArrivalContext {
  readonly app: App;
  readonly inbox: InboxFolder;
  /** Who asks, for the ledger. */
  readonly actor: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

interface ArrivalEnd {
  readonly state: EndFolder;
  /** Members of the report beside the state and the name of the file. */
  readonly report: Readonly<Record<string, unknown>>;
  /** Members of the log line. */
  readonly line: Readonly<Record<string, string>>;
}

/** The file is at fault, or wellsync: nothing was sent. */
function endOfFault({ file, shownName }: Claim, error: unknown): ArrivalEnd {
  const { code, message, hint } = faultOf(error);
  // The operator knows the file by its name, and it lies elsewhere by now.
  const plain = (text: string): string => text.replaceAll(file, shownName);
  const issues = error instanceof UsageError ? error.issues.map(plain) : [];
  const shown = plain(error instanceof UsageError ? error.message : message);
  return {
    state: 'failed',
    report: { error: { code, message: shown, ...(hint !== undefined && { hint }), issues } },
    line: { because: plain(message) },
  };
}

/** Ends a file with the report of its run, or of the one that pushed its content before, and its rejected rows. */
async function endOfRun(
  claim: Claim,
  run: RunRecord,
  { app, inbox }: Pick<ArrivalContext, 'app' | 'inbox'>,
  { isAlreadyPushed }: { readonly isAlreadyPushed: boolean },
): Promise<ArrivalEnd> {
  const { runId } = run;
  const report = run.report as RunReport;
  const rejects = await rejectsOfRun(run, app).catch((error: unknown) => {
    // Those of an earlier run may lie in a place of another host, which need not come back.
    if (isAlreadyPushed && error instanceof BlockedError) return undefined;
    throw error;
  });
  const hasRejects = rejects !== undefined && rejects.bytes > 0;
  const rejectsName = hasRejects ? rejectsNameBeside(claim.name.toString('utf8')) : null;
  if (rejectsName !== null && rejects !== undefined) await inbox.writeBeside(claim, rejectsName, rejects.read());
  const state = report.state === 'done' ? 'done' : 'failed';
  return {
    state,
    report: {
      isAlreadyPushed,
      rejects: rejectsName,
      ...(state === 'failed' && { hint: 'Drop the file again to push it; a run of it is not retried from here.' }),
      run: reportDocument(report, jobDescriptionOf(report.job, app.jobs), ({ hint }) => hint),
    },
    line: { runId, state: report.state },
  };
}

/** A file in inbox/cleanup: a plan is made of it. Nothing is deleted: a person applies the plan (G6). */
async function planArrival(
  { file, shownName, sighting }: Claim,
  { app, actor, log, signal }: ArrivalContext,
): Promise<ArrivalEnd> {
  if (sighting === undefined) {
    throw new PermanentError(
      'inbox-file',
      `${shownName} is no regular file any more: it was replaced while it was taken`,
    );
  }
  const targets = await ofFile(file, Readable.from([]));
  const request = { targets, createdBy: actor, keep: true, includesProducing: false };
  const made = await askService(app, { log, signal }, (context, read) =>
    planTargets(request, app.config, context, read),
  );
  const { planId } = made.plan;
  const hint = `Nothing was deleted. Plan ${planId} waits for a person who has looked at it and applies it.`;
  return { state: 'done', report: { hint, plan: planDocument(made) }, line: { planId } };
}

/** A file in inbox/network-pipes: pushed by one run, or known as pushed. */
const unwatched: RunObserver = { show: () => {}, remark: () => {}, end: () => {} };

/** Files may be small and many: the next one waits for the end of a run. */
const pollEveryMs = 100;

/**
 * The id of the run is kept beside the file before the run is made, so that the process that continues after a crash
 * makes no second one (G1).
 */
async function pushArrival(claim: Claim, context: ArrivalContext): Promise<ArrivalEnd> {
  const { app, inbox, signal } = context;
  let { runId } = claim;
  if (runId === undefined) {
    await using push = await prepared(claim, app);
    const known = await push.findKnown(app);
    if (known?.state === 'done') {
      return await endOfRun(claim, await recordOf(app, known.runId), context, { isAlreadyPushed: true });
    }
    runId = newRunId(Date.now());
    await inbox.record(claim, runId);
    await start(push, runId, context);
  } else if ((await app.ledger.runs.readHead(runId)) === undefined) {
    await using push = await prepared(claim, app);
    await start(push, runId, context);
  }
  await followRun(app, { runId, job: networkPipesJobName }, { observer: unwatched, signal, pollEveryMs });
  return endOfRun(claim, await recordOf(app, runId), context, { isAlreadyPushed: false });
}

async function prepared({ file, shownName, name, sighting }: Claim, { config }: App): Promise<PreparedPush> {
  if (sighting === undefined) {
    throw new PermanentError(
      'inbox-file',
      `${shownName} is no regular file any more: it was replaced while it was taken`,
    );
  }
  const request = {
    file,
    name: shownName,
    form: 'auto',
    ignoreUnknownColumns: false,
    chunkItems: undefined,
    isAgain: isAgainName(name.toString('utf8')),
    withTopology: false,
    delimiter: undefined,
    allowsEmpty: false,
  } as const;
  return preparePush(request, Readable.from([]), config);
}

async function start(push: PreparedPush, runId: string, { app, actor }: ArrivalContext): Promise<void> {
  const runService = await app.runService();
  await push.start(app, await push.notices(), async (job, params) => {
    try {
      await runService.start(job, params, { actor, runId });
    } catch (error) {
      // Another process that holds the file too has made it.
      if ((await app.ledger.runs.readHead(runId)) === undefined) throw error;
    }
    return { kind: 'started' };
  });
}

async function recordOf({ ledger }: App, runId: string): Promise<RunRecord> {
  const run = await ledger.runs.read(runId);
  if (run?.report !== undefined) return run;
  throw new PermanentError('inbox-run', `run ${runId} of this file has no report in the warehouse`);
}
