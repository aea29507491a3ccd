/** A file in inbox/network-pipes: pushed by one run, or known as pushed. */
import { Readable } from 'node:stream';
import { networkPipesJobName } from '../../../jobs/network-pipes/job.ts';
import { PermanentError } from '../../core/base/errors.ts';
import { isAgainName } from '../../core/inbox/arrival.ts';
import type { RunRecord } from '../../core/run/run.ts';
import type { Claim } from '../../files/inbox/inbox-folder.ts';
import { newRunId } from '../../runs/run-service.ts';
import type { App } from '../app.ts';
import { followRun, type RunObserver } from '../follow-run.ts';
import { preparePush, type PreparedPush } from '../requests/push.ts';
import { type ArrivalContext, type ArrivalEnd, endOfRun } from './arrival-end.ts';

const unwatched: RunObserver = { show: () => {}, note: () => {}, end: () => {} };

/** Files may be small and many: the next one waits for the end of a run. */
const lookEveryMs = 100;

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
    await inbox.note(claim, runId);
    await start(push, runId, context);
  } else if ((await app.ledger.runs.readHead(runId)) === undefined) {
    await using push = await prepared(claim, app);
    await start(push, runId, context);
  }
  await followRun(app, { runId, job: networkPipesJobName }, { observer: unwatched, signal, lookEveryMs });
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
