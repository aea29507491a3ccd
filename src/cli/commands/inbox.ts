/** `wellsync inbox`: changes the owner of the inbox. */
import type { Call, Flags, ProgramCommand } from '../command.ts';
import { questionAt } from '../process/operator.ts';

export function addInboxCommand(program: ProgramCommand): void {
  const group = program.command('inbox').description('change the installation that an inbox belongs to');
  group
    .command('adopt')
    .description('make this installation the owner of inbox.folder, in the place of another one')
    .option('--dry-run', 'say whose it is and would be, and change nothing')
    .option('--yes', 'do not ask; needed without a terminal')
    .explained(explanation, ['wellsync inbox adopt --dry-run', 'wellsync inbox adopt --yes'])
    .runs(adoptInbox);
}

const explanation = `
An inbox belongs to the installation whose worker was the first to take files from
it: a warehouse, its service and, for a DuckDB file, the place where it lies. Others
are refused, so that a copied configuration sends no file to another service. Adopt
it after a warehouse was moved to another disk, or restored from a backup. Workers of
the owner before take no more files; what is in working/ is worked again.
`;

async function adoptInbox(call: Call<Flags<'dryRun' | 'yes'>>): Promise<void> {
  const { adoptedText, adoptInbox: adopt } = await import('../../app/inbox/inbox-owner.ts');
  const { output, options } = call;
  await using app = await call.openStored();
  const dryRun = options.dryRun === true;
  const adopted = await adopt(app, { dryRun, yes: options.yes === true, ask: questionAt(call) });
  const text =
    adopted.folders.length === 0
      ? 'The inbox belongs to this installation already.'
      : `${adoptedText(adopted)}\n${dryRun ? 'Dry run: nothing was changed.' : 'It is changed.'}`;
  await output.report(text, { ...adopted, dryRun });
}
