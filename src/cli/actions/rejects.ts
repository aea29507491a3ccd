import { createReadStream } from 'node:fs';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { isFinished } from '../../core/run/run.ts';
import { findRun } from '../../app/requests/find-run.ts';
import { rejectsOfRun } from '../../app/requests/rejects.ts';
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
  const { file, bytes } = await rejectsOfRun(run, app);
  if (!isFinished(run.state)) output.say(`Run ${run.runId} has not ended: there may be more.`);
  if (output.json) {
    await output.document({ runId: run.runId, rejectsFile: bytes === 0 ? null : file, bytes });
  } else if (bytes === 0) {
    output.say(`Run ${run.runId} rejected nothing, or its rejects were taken away from ${file}.`);
  } else if (options.path) {
    await output.print(file);
  } else {
    for await (const text of createReadStream(file, 'utf8')) await output.write(text as string);
  }
  return exitCodes.done;
}
