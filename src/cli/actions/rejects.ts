import { UsageError } from '../../core/base/errors.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { isFinished } from '../../core/run/run.ts';
import { findRun } from '../../app/runs/find-runs.ts';
import { rejectsOfRun } from '../../app/pushes/rejects.ts';
import type { Invocation } from '../commands/command-line.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface RejectsOptions {
  readonly path?: true;
}

export async function printRejects(invocation: Invocation<RejectsOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const run = await findRun(app.ledger.runs, invocation.args[0] ?? '');
  const rejects = await rejectsOfRun(run, app);
  const { place, isShared, bytes } = rejects;
  if (!isFinished(run.state)) output.say(`Run ${run.runId} has not ended: there may be more.`);
  if (output.json) {
    await output.document({ runId: run.runId, rejectsFile: bytes === 0 ? null : place, bytes });
  } else if (bytes === 0) {
    output.say(`Run ${run.runId} rejected nothing, or its rejects were taken away from ${place}.`);
  } else if (options.path && isShared) {
    throw new UsageError(`the rejects of run ${run.runId} lie in parts below ${place}`, {
      hint: 'Leave out --path: the command then prints them as one file.',
    });
  } else if (options.path) {
    await output.print(place);
  } else {
    const text = new TextDecoder();
    for await (const block of rejects.read()) await output.write(text.decode(block, { stream: true }));
  }
  return exitCodes.done;
}
