/** `wellsync restatements`: values that the service changed later, field by field. */
import type { QueryResult } from '../../app/warehouse/query-file.ts';
import { UsageError } from '../../core/base/errors.ts';
import { counted, instantText, listed } from '../../core/base/text.ts';
import type { Restatement } from '../../core/daily/row.ts';
import {
  type Call,
  collected,
  type Flags,
  type Lists,
  type ProgramCommand,
  type Texts,
  wholeNumber,
} from '../command.ts';
import type { Output } from '../output.ts';

export function addRestatementsCommand(program: ProgramCommand): void {
  program
    .command('restatements')
    .description('list what the service said otherwise later: a line a field')
    .option('--since <day>', 'noticed from this day on (or an ISO date-time); without it, in the last 7 days')
    .option('--until <day>', 'noticed before this day; without it, until now')
    .option('--uwi <uwi>', 'only of this well; may be given more than once', collected)
    .option('--csv', 'print CSV with a header')
    .option('--limit <lines>', 'lines of the table at most; --json and --csv always print all', wholeNumber, 100)
    .explained(explanation, [
      'wellsync restatements',
      'wellsync restatements --since 2024-03-03',
      'wellsync restatements --since 2024-03-03 --uwi "15/9-F-1 C" --csv > restated.csv',
      `wellsync query "SELECT sum(oil_rate) FROM daily_production_as_known('2024-03-03 06:00:00Z')"`,
    ])
    .runs(listRestatements);
}

const explanation = `
updated   the record says something else
replaced  the record has a new xid, and may say something else too
removed   the service has the record no more; the line names no field

The whole warehouse as it was known at a time is in the SQL function
daily_production_as_known, exact to the commit.
`;

type RestatementsOptions = Flags<'csv'> & Texts<'since' | 'until'> & Lists<'uwi'> & { readonly limit: number };

const flags = { since: '--since', until: '--until' };

async function listRestatements(call: Call<RestatementsOptions>): Promise<void> {
  const { readRestatements, requestRestatements } = await import('../../app/wells/restatements.ts');
  const { printCsv, printJsonLines } = await import('../text/query-formats.ts');
  const { options, output } = call;
  const { since, until, uwi: uwis, csv, limit } = options;
  if (csv && output.json) throw new UsageError('--csv and --json exclude each other');
  const config = await call.config();
  const { timeZone } = config;
  const question = requestRestatements({ since, until, uwis }, { timeZone, nowMs: Date.now(), names: flags });
  await using app = await call.openStored(config);
  await readRestatements(app, question, async (lines) => {
    if (output.json) await printJsonLines(lines, output);
    else if (csv) await printCsv(restatementTable(lines), output);
    else await printListed(lines, output, limit);
  });
}

/** Prints the first lines as a table, then the number of each change. */
async function printListed(lines: AsyncIterable<Restatement>, output: Output, limit: number): Promise<void> {
  const { printTable } = await import('../text/query-formats.ts');
  const totals = new RestatementTotals();
  await printTable(readableRestatements(totals.over(lines), output.width), output, limit);
  await output.print(totals.text());
}

const names = ['day', 'uwi', 'change', 'field', 'old', 'new', 'run', 'noticed_at'];

/** For programs: times as ISO text. */
function restatementTable(lines: AsyncIterable<Restatement>): QueryResult {
  return { columns: columnsOf(names), rows: rowsOf(lines, ({ runId, noticedAt }) => [runId, noticedAt]) };
}

/** A terminal of fewer columns would cut the id of the run, which is then of no use. */
const wideWidth = 110;

/** For people: the minute at which it was noticed, in UTC, and the run where there is room for it. */
export function readableRestatements(lines: AsyncIterable<Restatement>, width: number): QueryResult {
  const isWide = width >= wideWidth;
  const shown = [...names.slice(0, -2), 'noticed_at', ...(isWide ? ['run'] : [])];
  const minute = (iso: string): string => instantText(Date.parse(iso)).slice(0, 'YYYY-MM-DD HH:mm'.length);
  return {
    columns: columnsOf(shown),
    rows: rowsOf(lines, ({ runId, noticedAt }) => [minute(noticedAt), ...(isWide ? [runId] : [])]),
  };
}

function columnsOf(shown: readonly string[]): QueryResult['columns'] {
  return shown.map((name) => ({ name, type: 'VARCHAR' }));
}

async function* rowsOf(
  lines: AsyncIterable<Restatement>,
  noticeOf: (line: Restatement) => readonly string[],
): AsyncGenerator<readonly unknown[]> {
  for await (const line of lines) {
    const { field } = line;
    const values = field === null ? ['', '', ''] : [field, line.old, line.new];
    yield [line.day, line.uwi, line.change, ...values, ...noticeOf(line)];
  }
}

/** Counts lines on their way to a table. */
class RestatementTotals {
  #fields = 0;
  #removed = 0;
  readonly #wells = new Set<string>();

  async *over(lines: AsyncIterable<Restatement>): AsyncGenerator<Restatement> {
    for await (const line of lines) {
      if (line.change === 'removed') this.#removed += 1;
      else this.#fields += 1;
      this.#wells.add(line.uwi);
      yield line;
    }
  }

  /** `12 fields restated and 1 row removed in 3 wells.` */
  text(): string {
    const parts = [
      ...(this.#fields > 0 ? [`${counted(this.#fields, 'field')} restated`] : []),
      ...(this.#removed > 0 ? [`${counted(this.#removed, 'row')} removed`] : []),
    ];
    return parts.length === 0 ? 'Nothing was restated.' : `${listed(parts)} in ${counted(this.#wells.size, 'well')}.`;
  }
}
