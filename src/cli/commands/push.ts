/**
 * `wellsync push`: starts a run that sends a file of network pipes, and leaves, follows or works it; or only checks the
 * file.
 */
import { InvalidArgumentError, Option } from 'commander';
import type { PipesDryRun } from '../../app/pushes/dry-run.ts';
import type { PreparedPush, PushRequest } from '../../app/pushes/push.ts';
import { bytesText, counted, instantText, printable } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import {
  type Call,
  type EmptyOption,
  type Flags,
  type Numbers,
  type ProgramCommand,
  type StartOptions,
  type Texts,
  wholeNumber,
} from '../command.ts';

export function addPushCommand(program: ProgramCommand): void {
  const group = program.command('push').description('send data to the service');
  group
    .command('network-pipes')
    .argument('<file>', 'a CSV file, gzip or not; - is standard input')
    .description('send the network pipes of a CSV file to the bulk endpoint')
    .option('--dry-run', 'check everything, send nothing')
    .option('--check-topology', 'report repeated and parallel pipes, self-loops, open and dead ends, unconnected parts')
    .option('--again', 'push a file again whose content has been pushed')
    .option('--corrects <run>', 'the file has what that run rejected, corrected: its alert ends with the last of them')
    .option('--chunk-items <count>', 'pipes in a request, at most', wholeNumber)
    .addOption(new Option('--long', 'one row a segment, consecutive rows make a pipe').conflicts('wide'))
    .option('--wide', 'one row a pipe')
    .option('--delimiter <character>', 'stands between cells; tab is a tab (push.delimiter)', delimiter)
    .allowsEmpty()
    .option('--ignore-unknown-columns', 'leave columns aside that are no field of a pipe')
    .starts()
    .explained(explanation, [
      'wellsync push network-pipes pipes.csv --dry-run --check-topology',
      'wellsync push network-pipes pipes.csv --wait',
      'wellsync push network-pipes rejects.csv --corrects 20240301-0215',
      'zcat pipes.csv.gz | wellsync push network-pipes - --inline --json',
    ])
    .runs(pushNetworkPipes);
}

const explanation = `
The first line names the columns: the ten fields of a pipe, in any order and
case (push.aliases in the configuration gives them other names). Array cells are
JSON arrays or lists with ";"; the long form is recognised by itself.

Every date of a pipe is sent, in the order of the file, those of one pipe in requests
one after the other; of one date the last row wins. push.pipeIdentity: with-date lets
dates share a request, for a service that keeps every date of a pipe.
Rows that are wrong, and pipes that the service refuses, land in one rejects file,
with line, column and reason; the rest arrives. They are an alert of the file until
their pipes are accepted: correct the rejects file (wellsync runs rejects RUN) and
push it with --corrects RUN. A file whose content has been pushed is not pushed
again without --again. The file must stay as it is, where workers can read it, until the run has
ended; standard input is kept in the data folder until then.

Exit codes
  0  done, or pushed before; without --wait or --inline: queued
  1  failed
  2  wrong use
  3  done, with rejected rows
  4  cancelled, or interrupted by Ctrl-C
  5  could not reach the queue, the warehouse or the service
`;

function delimiter(text: string): string {
  const character = text === 'tab' || text === '\\t' ? '\t' : text;
  if (/^[^"\r\n]$/.test(character)) return character;
  throw new InvalidArgumentError('It must be one character, and no quote.');
}

type PushOptions = StartOptions &
  EmptyOption &
  Flags<'dryRun' | 'checkTopology' | 'again' | 'long' | 'wide' | 'ignoreUnknownColumns'> &
  Texts<'delimiter' | 'corrects'> &
  Numbers<'chunkItems'>;

type Push = Call<PushOptions>;

type Known = NonNullable<Awaited<ReturnType<PreparedPush['findKnown']>>>;

async function pushNetworkPipes(call: Push): Promise<ExitCode> {
  const { checkBeforeRun } = await import('../../app/preflight.ts');
  const { dryRunPush, preparePush } = await import('../../app/pushes/push.ts');
  const { carryOutStarted, queueAsOptions } = await import('../carry-out.ts');
  const { options, output, stdin } = call;
  const config = await call.config();
  const request = requestOf(call);
  if (options.dryRun) {
    const { name, dryRun } = await dryRunPush(request, stdin, config);
    return printDryRun(name, dryRun, call);
  }
  await using push = await preparePush(request, stdin, config);
  await using app = await call.openApp(config);
  const known = await push.findKnown(app);
  if (known?.state === 'done') return await sayPushed(known, push, call);
  const notices = await push.notices();
  // A command that follows the run prints them with its report.
  if (!options.wait && !options.inline) for (const notice of notices) output.say(notice);
  await checkBeforeRun(app);
  const run = await push.start(app, notices, async (job, params) => {
    const { runId, kind } = await queueAsOptions(app, { job, params }, options);
    return { runId, kind };
  });
  const opening = [
    `Run ${run.runId}: network pipes of ${push.name}, ${bytesText(push.bytes)}`,
    ...(known === undefined ? [] : [`Run ${known.runId} is pushing this content: run ${run.runId} waits for it`]),
  ].join('\n');
  return await carryOutStarted(run, options, { app, output, opening }, { file: push.file, sha256: push.sha256 });
}

function requestOf({ options, args }: Push): PushRequest {
  return {
    file: args[0] ?? '-',
    form: options.long ? 'long' : options.wide ? 'wide' : 'auto',
    ignoreUnknownColumns: options.ignoreUnknownColumns ?? false,
    chunkItems: options.chunkItems,
    isAgain: options.again ?? false,
    corrects: options.corrects,
    withTopology: options.checkTopology ?? false,
    allowsEmpty: options.allowEmpty ?? false,
    delimiter: options.delimiter,
  };
}

/** Exit code 0: the content has arrived, whichever run pushed it. */
async function sayPushed({ runId, atMs }: Known, push: PreparedPush, { output, layout }: Push): Promise<ExitCode> {
  const { job, name, sha256 } = push;
  const text = `The content of ${name} has been pushed by run ${runId}, ${instantText(atMs)}: wellsync runs show ${runId} tells what became of its rows. Push it again with --again.`;
  const at = new Date(atMs).toISOString();
  await output.report(layout.foldedHint(text, output.width), { runId, job, state: 'already-pushed', at, sha256 });
  return exitCodes.done;
}

/** Returns exit code 3 if rows were rejected, as the push would. */
async function printDryRun(name: string, dryRun: PipesDryRun, call: Push): Promise<ExitCode> {
  const { dryRunDocument } = await import('../../app/pushes/dry-run.ts');
  const exitCode = dryRun.rejectsFile === undefined ? exitCodes.done : exitCodes.doneWithExceptions;
  await call.output.report(await dryRunText(name, dryRun, call), dryRunDocument(name, dryRun, exitCode));
  return exitCode;
}

async function dryRunText(name: string, dryRun: PipesDryRun, { output: { width }, layout }: Push): Promise<string> {
  const { topologySentences } = await import('../../app/pushes/dry-run.ts');
  const { shownCounts } = await import('../../app/runs/run-document.ts');
  const { balanceText, countRows, noticesText } = await import('../text/runs.ts');
  const { rows, rejected } = dryRun;
  const fine = rows === 0 ? 'There are no rows behind the header.' : 'Every row can be sent.';
  const outcome = rejected === 0 ? fine : `${counted(rejected, 'row')} would be rejected.`;
  const notices = [...dryRun.notices, ...(dryRun.topology === undefined ? [] : topologySentences(dryRun.topology))];
  return [
    `${printable(name)}: checked, nothing sent\n${outcome}`,
    layout.tableText(
      [{}, { align: 'right' }, {}],
      countRows(shownCounts(dryRun.counts, { counts: dryRun.described })),
      '  ',
    ),
    balanceText(dryRun.balance, width),
    noticesText(notices, width),
    dryRun.rejectsFile === undefined ? '' : `Rejects: ${dryRun.rejectsFile}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}
