/** How a file of an inbox ends: the folder, the report beside it, and what the log says. */
import type { Logger } from 'pino';
import { BlockedError, faultOf, UsageError } from '../../core/base/errors.ts';
import type { RunRecord, RunReport } from '../../core/run/run.ts';
import { rejectsNameBeside } from '../../core/inbox/arrival.ts';
import type { Claim, EndFolder, InboxFolder } from '../../files/inbox/inbox-folder.ts';
import type { App } from '../app.ts';
import { outcomeOf } from '../run-status.ts';
import { rejectsOfRun } from '../requests/rejects.ts';
import { reportDocument } from '../views/run-document.ts';

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
export async function endOfRun(
  claim: Claim,
  run: RunRecord,
  { app, inbox }: Pick<ArrivalContext, 'app' | 'inbox'>,
  { isAlreadyPushed }: { readonly isAlreadyPushed: boolean },
): Promise<ArrivalEnd> {
  const { runId } = run;
  const report = run.report as RunReport;
  const { exitCode } = outcomeOf(app, report);
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
      run: reportDocument(report, exitCode, ({ hint }) => hint),
    },
    line: { runId, state: report.state },
  };
}
