import { bytesText, instantText } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { checkBeforeRun } from '../../app/preflight.ts';
import { dryRunPush, preparePush, type PreparedPush, type PushRequest } from '../../app/pushes/push.ts';
import type { Invocation } from '../commands/command-line.ts';
import { carryOutStarted, queueAsOptions } from './carry-out.ts';
import { configOf } from './config.ts';
import { appFor } from './open-app.ts';
import type { EmptyOption } from '../commands/empty-option.ts';
import type { StartOptions } from '../commands/start-options.ts';
import type { Output } from '../output.ts';
import { foldedHint } from '../text/table.ts';
import { printLook } from '../text/pipes-look.ts';

export interface PushOptions extends StartOptions, EmptyOption {
  readonly delimiter?: string;
  readonly dryRun?: true;
  readonly checkTopology?: true;
  readonly again?: true;
  readonly chunkItems?: number;
  readonly long?: true;
  readonly wide?: true;
  readonly ignoreUnknownColumns?: true;
}

type Push = Invocation<PushOptions>;
type Known = NonNullable<Awaited<ReturnType<PreparedPush['findKnown']>>>;

export async function pushNetworkPipes(invocation: Push): Promise<ExitCode> {
  const { options, output, stdin } = invocation;
  const config = configOf(invocation);
  const request = requestOf(invocation);
  if (options.dryRun) {
    const { name, look } = await dryRunPush(request, stdin, config);
    return printLook(name, look, output);
  }
  await using push = await preparePush(request, stdin, config);
  await using app = appFor(config, output);
  const known = await push.findKnown(app);
  if (known?.state === 'done') return await sayPushed(known, push, output);
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
    withTopology: options.checkTopology ?? false,
    allowsEmpty: options.allowEmpty ?? false,
    delimiter: options.delimiter,
  };
}

/** Exit code 0: the content has arrived, whichever run pushed it. */
async function sayPushed({ runId, atMs }: Known, push: PreparedPush, output: Output): Promise<ExitCode> {
  const { job, name, sha256 } = push;
  const text = `The content of ${name} has been pushed by run ${runId}, ${instantText(atMs)}: wellsync runs show ${runId} tells what became of its rows. Push it again with --again.`;
  const at = new Date(atMs).toISOString();
  if (output.json) await output.document({ runId, job, state: 'already-pushed', at, sha256 });
  else await output.report(foldedHint(text, output.width));
  return exitCodes.done;
}
