/** `wellsync runs release` and `held`: what runs hold, and the run that lets the rows go. */
import { findRun } from '../../app/runs/find-runs.ts';
import { allHolds, holdsToRelease, releaseRows } from '../../app/runs/retry.ts';
import { heldDocument } from '../../app/runs/run-document.ts';
import { AbortedError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { HeldRows } from '../../core/run/held-rows.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { StartOptions } from '../commands/start-options.ts';
import { isAtTerminal } from '../process/question.ts';
import { heldRowsText } from '../text/held-rows.ts';
import { askerOf, carryOut } from './carry-out.ts';
import { configOf } from './config.ts';
import { refusalOfTyped, unconfirmed } from './confirm-number.ts';
import { openApp } from './open-app.ts';

export interface ReleaseOptions extends StartOptions {
  readonly dryRun?: true;
  readonly yes?: true;
  /** Held rows that the caller was shown. */
  readonly rows?: number;
}

export async function releaseRun(invocation: Invocation<ReleaseOptions>): Promise<ExitCode> {
  const { options, output, stdin } = invocation;
  const asks = !options.yes && !options.dryRun;
  await using app = openApp(configOf(invocation), output);
  const run = await findRun(app.ledger.runs, invocation.args[0] ?? '');
  const held = await holdsToRelease(app, run, options.dryRun ? undefined : options.rows);
  if (asks && !isAtTerminal(stdin, output))
    throw unconfirmed('lets held rows leave the warehouse', 'nothing was released');
  if (options.dryRun) {
    if (output.json) await output.document({ runId: run.runId, job: run.job, ...heldDocument(held) });
    else await output.report(`${heldRowsText(held, output.width)}\n\n${releaseText(run.runId)}`);
    return exitCodes.done;
  }
  if (asks) await confirm(held, invocation);
  const released = await releaseRows(app, { of: run.runId, rows: held.rows }, askerOf(options));
  const opening = `Run ${released.runId}: releases ${counted(held.rows, 'row')} that run ${run.runId} holds`;
  return await carryOut(released, options, { app, output, opening }, { releaseOf: run.runId, rows: held.rows });
}

function releaseText(runId: string): string {
  return `Nothing was released. To let them go: wellsync runs release ${runId}`;
}

/** Throws AbortedError unless the operator types the number of rows. */
async function confirm(held: HeldRows, { output, stdin }: Invocation<ReleaseOptions>): Promise<void> {
  output.tell(`${heldRowsText(held, output.width)}\n`);
  const shown = { number: held.rows, whole: `${counted(held.rows, 'row')} are held` };
  const why = await refusalOfTyped('Type the number of rows to release: ', shown, { output, stdin });
  if (why !== undefined) throw new AbortedError(`${why}. Nothing was released`);
}

export async function showHeld(invocation: Invocation<object>): Promise<ExitCode> {
  const { output } = invocation;
  await using app = openApp(configOf(invocation), output);
  app.warehouse.requireStored();
  const all = await allHolds(app);
  if (output.json) await output.document(all.map(({ job, held }) => ({ job, ...heldDocument(held) })));
  else if (all.length === 0) await output.print('No rows are held.');
  else
    await output.print(
      all.map(({ job, held }) => `${job}\n${heldRowsText(held, output.width)}`).join('\n\n') +
        '\n\nTo let rows go: wellsync runs release RUN',
    );
  return exitCodes.done;
}
