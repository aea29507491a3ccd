/** `wellsync audit`: what was deleted, by whom and with what outcome, and the proof that nobody changed the record of it. */
import type { Command } from 'commander';
import type { AuditHead, BrokenRow } from '../core/deletion-audit.ts';
import { instantOfDateTime, instantOfDay, productionCalendar } from '../core/production-day.ts';
import { UsageError } from '../core/errors.ts';
import type { DeletionFilter } from '../warehouse/cleanup.ts';
import { actionOf, configOf, examples, wholeNumber, type Invocation, type Shell } from './command-line.ts';
import { readableDeletions } from './deletions-text.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { openInstallation } from './installation.ts';
import { printCsv, printJson, printTable } from './query-formats.ts';
import { counted } from './words.ts';

interface DeletionOptions {
  readonly since?: string;
  readonly target?: string;
  readonly run?: string;
  readonly csv?: true;
  readonly limit: number;
}

interface VerifyOptions {
  readonly kept?: string;
}

export function addAuditCommand(program: Command, shell: Shell): void {
  const group = program
    .command('audit')
    .description('what was deleted at the service, and whether the record of it is whole');
  group
    .command('deletions')
    .description('list deletions, the newest first')
    .option('--since <day>', 'from this day on, or from an ISO date-time on')
    .option('--target <id>', 'of this equipment, well or record, by its source id')
    .option('--run <run>', 'of this run')
    .option('--csv', 'print CSV with a header')
    .option('--limit <rows>', 'rows of the table at most; --json and --csv always print all', wholeNumber, 100)
    .addHelpText(
      'after',
      examples(['wellsync audit deletions --since 2024-03-01', 'wellsync audit deletions --target "15/9-F-1 C" --csv']),
    )
    .action(actionOf(shell, listDeletions));
  group
    .command('verify')
    .description('prove that no row of the audit was changed, removed or added')
    .option('--kept <hash>', 'a hash that an earlier verify showed: it must still stand in the audit')
    .addHelpText('after', `${verifyExplanation}${examples(['wellsync audit verify'])}`)
    .action(actionOf(shell, verify));
}

const verifyExplanation = `
Every row holds the hash (SHA-256) of its content and of the row before it, and
every deletion that a run has settled must stand in a row. The hash of the last
row stands for all of them: keep it elsewhere, and --kept shows later that nobody
wrote the whole audit anew. Exit code 1 where a row is broken.
`;

async function listDeletions(invocation: Invocation<DeletionOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  if (options.csv && output.json) throw new UsageError('--csv and --json exclude each other');
  const config = configOf(invocation);
  const filter = filterOf(options, config.timeZone);
  await using installation = openInstallation(config, output);
  await installation.warehouse.deletions.list(filter, async (result) => {
    if (output.json) await printJson(result, output);
    else if (options.csv) await printCsv(result, output);
    else await printTable(readableDeletions(result), output, options.limit);
  });
  return exitCodes.done;
}

function filterOf({ since, target, run }: DeletionOptions, timeZone: string): DeletionFilter {
  return {
    ...(since === undefined ? {} : { sinceMs: instantOf(since, timeZone) }),
    ...(target === undefined ? {} : { target }),
    ...(run === undefined ? {} : { runId: run }),
  };
}

function instantOf(since: string, timeZone: string): number {
  const instantMs = instantOfDay(since, timeZone) ?? instantOfDateTime(since, productionCalendar(timeZone));
  if (instantMs !== undefined) return instantMs;
  throw new UsageError(`--since ${JSON.stringify(since)} is not a day or a date-time`, {
    hint: 'Write a day of the calendar as 2024-03-31, or an ISO date-time as 2024-03-31T06:00:00Z.',
  });
}

async function verify(invocation: Invocation<VerifyOptions>): Promise<ExitCode> {
  const { output, options } = invocation;
  const kept = options.kept?.trim().toLowerCase();
  if (kept !== undefined && !/^[\da-f]{64}$/.test(kept)) {
    throw new UsageError(`--kept ${JSON.stringify(options.kept)} is not a hash of the audit`, {
      hint: 'It has 64 letters from 0 to f, as wellsync audit verify shows them.',
    });
  }
  await using installation = openInstallation(configOf(invocation), output);
  const { head, broken } = await installation.warehouse.deletions.verify(kept);
  if (output.json) {
    await output.document({ intact: broken === undefined, rows: head.rows, head: head.hash, broken: broken ?? null });
  } else {
    await output.print(broken === undefined ? wholeText(head) : brokenText(broken));
  }
  return broken === undefined ? exitCodes.done : exitCodes.failed;
}

function wholeText({ rows, hash }: AuditHead): string {
  if (rows === 0) return 'The audit is empty: this warehouse knows of no deletion.';
  return `The audit is whole: ${counted(rows, 'row')}, the last one with the hash\n  ${hash}`;
}

function brokenText({ seq, reason }: BrokenRow): string {
  const before = seq === 1 ? [] : [`${counted(seq - 1, 'row')} before it ${seq === 2 ? 'is' : 'are'} right.`];
  return [
    `The audit is broken: row ${seq} ${reason}.`,
    ...before,
    'Somebody wrote to the warehouse past wellsync: compare it with a backup.',
    `  wellsync query "FROM deletion_audit WHERE seq >= ${Math.max(1, seq - 1)} ORDER BY seq"`,
  ].join('\n');
}
