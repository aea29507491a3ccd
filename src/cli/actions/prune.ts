import { countPrunable, prune, type PrunedAll } from '../../app/warehouse/retention.ts';
import { figure } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { listenForStop } from '../process/stop-signals.ts';
import { tableText } from '../text/table.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface PruneOptions {
  readonly dryRun?: true;
}

/** Prints what was removed, or what would be. SIGINT ends it between two steps. */
export async function pruneOld(invocation: Invocation<PruneOptions>): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  const { options, output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const isDryRun = options.dryRun === true;
  const pruned = isDryRun ? await countPrunable(app, Date.now()) : await prune(app, Date.now(), stop.signal);
  if (output.json) await output.document({ ...pruned, dryRun: isDryRun });
  else await output.report(prunedText(pruned, isDryRun));
  return stop.signal.aborted ? exitCodes.cancelled : exitCodes.done;
}

const names: Readonly<Record<keyof PrunedAll, string>> = {
  units: 'units of ended runs',
  runs: 'runs',
  plans: 'plans that were never applied',
  pushes: 'rows of pushes',
  history: 'versions in the history',
  rejectsFiles: 'files with rejected rows',
  inboxFiles: 'files of the inbox that are done',
  copies: 'copies of standard input and uploads',
  sharedFiles: 'shared files that no run needs',
};

function prunedText(pruned: PrunedAll, isDryRun: boolean): string {
  const keys = (Object.keys(names) as (keyof PrunedAll)[]).filter((key) => pruned[key] > 0);
  if (keys.length === 0) return 'Nothing is older than the configuration says.';
  const rows = keys.map((key) => [names[key], figure(pruned[key])]);
  const head = isDryRun ? 'Would remove' : 'Removed';
  return `${head}\n${tableText([{}, { align: 'right' }], rows, '  ')}`;
}
