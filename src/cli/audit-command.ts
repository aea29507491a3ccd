/** `wellsync audit`: what was deleted, by whom and with what outcome, and the proof that nobody changed the record of it. */
import { InvalidArgumentError, type Command } from 'commander';
import { instantOfDateTime, instantOfDay, productionCalendar } from '../core/production-day.ts';
import { UsageError } from '../core/errors.ts';
import type { DeletionFilter } from '../warehouse/cleanup.ts';
import { actionOf, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { createInstallation } from './installation.ts';
import { printCsv, printJson, printTable } from './query-formats.ts';
import { counted } from './words.ts';

interface DeletionOptions {
  readonly since?: string;
  readonly target?: string;
  readonly run?: string;
  readonly csv?: true;
  readonly limit: number;
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
    .option('--limit <rows>', 'rows of the table at most; --json and --csv always print all', rowLimit, 100)
    .addHelpText(
      'after',
      examples(['wellsync audit deletions --since 2024-03-01', 'wellsync audit deletions --target "15/9-F-1 C" --csv']),
    )
    .action(actionOf(shell, listDeletions));
  group
    .command('verify')
    .description('prove that no row of the audit was changed, removed or added')
    .addHelpText('after', `${verifyExplanation}${examples(['wellsync audit verify'])}`)
    .action(actionOf(shell, verify));
}

const verifyExplanation = `
Every row holds the hash (SHA-256) of its content and of the row before it. The
hash of the last row stands for all of them: kept elsewhere, it shows later that
nobody wrote the whole audit anew. Exit code 1 where a row is broken.
`;

function rowLimit(given: string): number {
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
  throw new InvalidArgumentError('It must be a whole number above 0.');
}

async function listDeletions(invocation: Invocation<DeletionOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  if (options.csv && output.json) throw new UsageError('--csv and --json exclude each other');
  const config = configOf(invocation);
  const filter = filterOf(options, config.timeZone);
  await using installation = createInstallation(config);
  await installation.warehouse.deletions.list(filter, async (result) => {
    if (output.json) await printJson(result, output);
    else if (options.csv) await printCsv(result, output);
    else await printTable(result, output, options.limit);
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

async function verify(invocation: Invocation<object>): Promise<ExitCode> {
  const { output } = invocation;
  await using installation = createInstallation(configOf(invocation));
  const { head, broken } = await installation.warehouse.deletions.verify();
  if (output.json) {
    await output.document({ intact: broken === undefined, rows: head.rows, head: head.hash, broken: broken ?? null });
  } else if (broken === undefined) {
    await output.print(`The audit is whole: ${counted(head.rows, 'row')}, the last one with the hash ${head.hash}.`);
  } else {
    await output.print(
      `The audit is broken: row ${broken.seq} ${broken.reason}.\n${counted(head.rows, 'row')} before it are right.`,
    );
  }
  return broken === undefined ? exitCodes.done : exitCodes.failed;
}
