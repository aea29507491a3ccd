/** `wellsync restatements`: what the service said otherwise later, field by field. */
import type { Command } from 'commander';
import { UsageError } from '../core/errors.ts';
import { restatementsOf, type Restatement, type RestatedVersion } from '../core/restatement.ts';
import type { QueryResult } from '../warehouse/warehouse.ts';
import { namedInstant } from './backfill-bounds.ts';
import { actionOf, collected, configOf, examples, wholeNumber, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { openInstallation } from './installation.ts';
import type { Output } from './output.ts';
import { printCsv, printJsonLines, printTable } from './query-formats.ts';
import { counted, instantText, listed } from './words.ts';

interface RestatementsOptions {
  readonly since: string;
  readonly until?: string;
  readonly uwi?: readonly string[];
  readonly csv?: true;
  readonly limit: number;
}

export function addRestatementsCommand(program: Command, shell: Shell): void {
  program
    .command('restatements')
    .description('list what the service said otherwise later: a line a field')
    .requiredOption('--since <day>', 'noticed from this day on (or an ISO date-time)')
    .option('--until <day>', 'noticed before this day; without it, until now')
    .option('--uwi <uwi>', 'only of this well; may be given more than once', collected)
    .option('--csv', 'print CSV with a header')
    .option('--limit <lines>', 'lines of the table at most; --json and --csv always print all', wholeNumber, 100)
    .addHelpText('after', explanation)
    .action(actionOf(shell, listRestatements));
}

const explanation = `
updated   the record says something else
replaced  the record has a new xid, and may say something else too
removed   the service has the record no more; the line names no field

The whole warehouse as it was known at a time is in the SQL function
daily_production_as_known, exact to the commit.
${examples([
  'wellsync restatements --since 2024-03-03',
  'wellsync restatements --since 2024-03-03 --uwi "15/9-F-1 C" --csv > restated.csv',
  `wellsync query "SELECT sum(oil_rate) FROM daily_production_as_known('2024-03-03 06:00:00Z')"`,
])}`;

async function listRestatements(invocation: Invocation<RestatementsOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  const { csv, limit } = options;
  if (csv && output.json) throw new UsageError('--csv and --json exclude each other');
  const config = configOf(invocation);
  const question = questionOf(options, config.timeZone, Date.now());
  await using installation = openInstallation(config, output);
  await installation.warehouse.dailyProduction.restatements(question, async (versions) => {
    const lines = linesOf(versions);
    if (output.json) await printJsonLines(lines, output);
    else if (csv)
      await printCsv(
        tableOf(lines, (line) => line.noticedAt),
        output,
      );
    else await printListed(lines, output, limit);
  });
  return exitCodes.done;
}

function questionOf({ since, until, uwi }: RestatementsOptions, timeZone: string, nowMs: number) {
  const sinceMs = namedInstant('--since', since, timeZone);
  // What is noticed this very millisecond is noticed now.
  const untilMs = until === undefined ? nowMs + 1 : namedInstant('--until', until, timeZone);
  if (sinceMs >= untilMs) {
    throw new UsageError(`--since ${since} is not before ${until === undefined ? 'now' : `--until ${until}`}`, {
      hint: until === undefined ? `It is ${instantText(nowMs)} now.` : '--until is the first day that is left out.',
    });
  }
  return { sinceMs, untilMs, ...(uwi === undefined ? {} : { uwis: uwi }) };
}

async function* linesOf(versions: AsyncIterable<RestatedVersion>): AsyncGenerator<Restatement> {
  for await (const version of versions) yield* restatementsOf(version);
}

const columns = ['day', 'uwi', 'change', 'field', 'old', 'new', 'run', 'noticed_at'].map((name) => ({
  name,
  type: 'VARCHAR',
}));

function tableOf(lines: AsyncIterable<Restatement>, timeOf: (line: Restatement) => string): QueryResult {
  async function* rows(): AsyncGenerator<readonly unknown[]> {
    for await (const line of lines) {
      const { field, runId } = line;
      const values = field === null ? ['', '', ''] : [field, line.old, line.new];
      yield [line.day, line.uwi, line.change, ...values, runId, timeOf(line)];
    }
  }
  return { columns, rows: rows() };
}

/** The first lines as a table, then how many there are of each change. */
async function printListed(lines: AsyncIterable<Restatement>, output: Output, limit: number): Promise<void> {
  const tally = { fields: 0, removed: 0, wells: new Set<string>() };
  async function* tallied(): AsyncGenerator<Restatement> {
    for await (const line of lines) {
      if (line.change === 'removed') tally.removed += 1;
      else tally.fields += 1;
      tally.wells.add(line.uwi);
      yield line;
    }
  }
  const table = tableOf(tallied(), (line) => instantText(Date.parse(line.noticedAt)));
  await printTable(table, output, limit);
  const parts = [
    ...(tally.fields > 0 ? [`${counted(tally.fields, 'field')} restated`] : []),
    ...(tally.removed > 0 ? [`${counted(tally.removed, 'row')} removed`] : []),
  ];
  const all = parts.length === 0 ? 'Nothing was restated' : `${listed(parts)} in ${counted(tally.wells.size, 'well')}`;
  await output.print(`${all}.`);
}
