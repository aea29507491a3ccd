import { adoptedText, adoptInbox as adopt } from '../../app/inbox/adopt-inbox.ts';
import { exitCodes, type ExitCode } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { ask, isAtTerminal } from '../process/question.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface InboxFlags {
  readonly dryRun?: true;
  readonly yes?: true;
}

export async function adoptInbox(invocation: Invocation<InboxFlags>): Promise<ExitCode> {
  const { output, options, stdin } = invocation;
  await using app = openApp(configOf(invocation), output);
  const dryRun = options.dryRun === true;
  const adopted = await adopt(app, {
    dryRun,
    yes: options.yes === true,
    ask: isAtTerminal(stdin, output) ? (question) => ask(question, stdin, output) : undefined,
  });
  if (output.json) await output.document({ ...adopted, dryRun });
  else if (adopted.folders.length === 0) await output.report('The inbox belongs to this installation already.');
  else await output.report(`${adoptedText(adopted)}\n${dryRun ? 'Dry run: nothing was changed.' : 'It is changed.'}`);
  return exitCodes.done;
}
