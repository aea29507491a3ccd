/** How a file of an inbox ends: the folder, the report beside it, and what the log says. */
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { networkPipesJobName } from '../../../jobs/network-pipes/job.ts';
import { BlockedError, faultOf, PermanentError, UsageError } from '../../core/base/errors.ts';
import { isAgainName, rejectsNameBeside } from '../../core/pipes/inbox.ts';
import type { RunRecord, RunReport } from '../../core/run/run.ts';
import type { Claim, EndFolder, InboxFolder } from '../../files/inbox-folder.ts';
import { newRunId } from '../../runs/run-service.ts';
import type { App } from '../app.ts';
import { askService } from '../service/ask-service.ts';
import { followRun, type RunObserver } from '../runs/follow-run.ts';
import { planTargets } from '../cleanups/plan.ts';
import { ofFile } from '../cleanups/cleanup-targets.ts';
import { type PreparedPush, preparePush, rejectsOfRun } from '../pushes/push.ts';
import { jobDescriptionOf } from '../runs/run-status.ts';
import { planDocument } from '../cleanups/plan-document.ts';
import { reportDocument } from '../runs/run-document.ts';

/** What the work on a file needs. */
export interface ArrivalContext {
  readonly app: App;
  readonly inbox: InboxFolder;
  /** Who asks, for the ledger. */
  readonly actor: string;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface ArrivalEnd {
  readonly state: EndFolder;
  /** Members of the report beside the state and the name of the file. */
  readonly report: Readonly<Record<string, unknown>>;
  /** Members of the log line. */
  readonly line: Readonly<Record<string, string>>;
}

/** The file is at fault, or wellsync: nothing was sent. */
export function endOfFault({ file, shownName }: Claim, error: unknown): ArrivalEnd {
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
export async function planArrival(
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
export async function pushArrival(claim: Claim, context: ArrivalContext): Promise<ArrivalEnd> {
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
