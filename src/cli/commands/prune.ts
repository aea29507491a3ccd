/** `wellsync prune`: removes what was kept long enough. */
import type { PrunedAll } from '../../app/warehouse/retention.ts';
import { figure } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Call, Flags, Layout, ProgramCommand } from '../command.ts';
import { listenForStop } from '../process/stop-signals.ts';

export function addPruneCommand(program: ProgramCommand): void {
  program
    .command('prune')
    .description('remove runs, units, rejects and history that are older than the configuration says')
    .option('--dry-run', 'say what would be removed; remove nothing')
    .explained(explanation, ['wellsync prune --dry-run', 'wellsync prune'])
    .runs(pruneOld);
}

const explanation = `
Workers do the same by themselves, once a day. It may be stopped at any time and
goes on the next time. The settings are retention.* and push.rememberDays.

Never removed: the audit with the plans and runs that it names, unfinished runs,
quarantined records, and one row for each file that was pushed within
push.rememberDays. History is removed only where retention.historyDays is set.
`;

/** Prints what was removed, or what would be. SIGINT ends it between two steps. */
async function pruneOld(call: Call<Flags<'dryRun'>>): Promise<ExitCode> {
  const { countPrunable, prune } = await import('../../app/warehouse/retention.ts');
  using stop = listenForStop(exitCodes.cancelled);
  const { options, output } = call;
  await using app = await call.openStored();
  const isDryRun = options.dryRun === true;
  const pruned = isDryRun ? await countPrunable(app, Date.now()) : await prune(app, Date.now(), stop.signal);
  await output.report(prunedText(pruned, isDryRun, call.layout), { ...pruned, dryRun: isDryRun });
  return stop.signal.aborted ? exitCodes.cancelled : exitCodes.done;
}

const names: Readonly<Record<keyof PrunedAll, string>> = {
  units: 'units of ended runs',
  runs: 'runs',
  plans: 'plans that were never applied',
  pushes: 'rows of pushes',
  history: 'versions in the history',
  alerts: 'resolved alerts',
  rejectsFiles: 'files with rejected rows',
  inboxFiles: 'files of the inbox that are done',
  copies: 'copies of standard input and uploads',
  sharedFiles: 'shared files that no run needs',
};

function prunedText(pruned: PrunedAll, isDryRun: boolean, { tableText }: Layout): string {
  const keys = (Object.keys(names) as (keyof PrunedAll)[]).filter((key) => pruned[key] > 0);
  if (keys.length === 0) return 'Nothing is older than the configuration says.';
  const rows = keys.map((key) => [names[key], figure(pruned[key])]);
  const head = isDryRun ? 'Would remove' : 'Removed';
  return `${head}\n${tableText([{}, { align: 'right' }], rows, '  ')}`;
}
