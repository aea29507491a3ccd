/** `wellsync runs rejects`: gives the rows that a push rejected, to mend and push, or says where they lie. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { networkPipesJobName, networkPipesParamsOf, rejectsFileOf } from '../../jobs/network-pipes.ts';
import { UsageError } from '../core/errors.ts';
import { isFinished, type RunRecord } from '../core/run.ts';
import { actionOf, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { openInstallation } from './installation.ts';
import { findRun } from './run-names.ts';

interface RejectsOptions {
  readonly path?: true;
}

export function addRejectsCommand(group: Command, shell: Shell): void {
  group
    .command('rejects')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('print the rows that a push rejected, as CSV')
    .option('--path', 'print only where the file lies')
    .addHelpText('after', `${explanation}${examples(rejectsExamples)}`)
    .action(actionOf(shell, printRejects));
}

const explanation = `
Each row has its line, its column and the reason in front of the original cells.
Mend the cells and push the file as it is: those three columns are left aside.
Nothing is printed where nothing was rejected; the exit code is 0 then as well.
`;
const rejectsExamples = [
  'wellsync runs rejects 20240331-061500-4f2a9c > rejects.csv',
  'wellsync push network-pipes rejects.csv --wait',
];

async function printRejects(invocation: Invocation<RejectsOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using installation = openInstallation(configOf(invocation), output);
  const run = await findRun(installation.warehouse.runs, invocation.args[0] ?? '');
  const file = rejectsFileOfRun(run);
  const bytes = await sizeOf(file);
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

function rejectsFileOfRun({ runId, job, params }: RunRecord): string {
  if (job === networkPipesJobName) return rejectsFileOf(networkPipesParamsOf(params).rejectsFolder, runId);
  throw new UsageError(`run ${runId} is no push: it has no rejects`, {
    hint: `wellsync runs show ${runId} tells what became of its records.`,
  });
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
