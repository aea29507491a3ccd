/** `wellsync months`: volumes by well and month, with the days that they are of. */
import type { MonthOfWell, MonthsFrame } from '../../app/wells/months.ts';
import type { QueryResult } from '../../app/warehouse/query-file.ts';
import { UsageError } from '../../core/base/errors.ts';
import { counted, instantText, listed } from '../../core/base/text.ts';
import { withUnit } from '../../core/daily/units.ts';
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

export function addMonthsCommand(program: ProgramCommand): void {
  program
    .command('months')
    .description('sum volumes by well and month, with the days that they are of')
    .option('--well <uwi>', 'only of this well; may be given more than once', collected)
    .option('--since <day>', 'with oil, gas and water as they were known on this day (or at an ISO date-time)')
    .option('--csv', 'print CSV with a header')
    .option('--units', 'units in the header of --csv: oil [bbl]')
    .option('--limit <months>', 'lines of the table at most; --json and --csv always print all', wholeNumber, 100)
    .explained(explanation, [
      'wellsync months --well "15/9-F-1 C"',
      'wellsync months --since 2024-03-03 --csv --units > months.csv',
      `wellsync query "FROM monthly_production WHERE production_month >= '2024-01-01'" --output months.parquet`,
    ])
    .runs(showMonths);
}

const explanation = `
A day without a row adds nothing: it is counted as missing, or as quarantined. A
month without any row has no volumes, and not 0. Hours on are 24 a day with a
row less its hours of downtime. What a rate means for a volume is set by
export.rateBasis, and units by units; nothing is converted.

The view monthly_production has the same months.
`;

type MonthsOptions = Flags<'csv' | 'units'> & Texts<'since'> & Lists<'well'> & { readonly limit: number };

async function showMonths(call: Call<MonthsOptions>): Promise<void> {
  const { monthsFrame, requestMonths } = await import('../../app/wells/months.ts');
  const { refuseUnknownWells } = await import('../../app/runs/search.ts');
  const { options, output } = call;
  const { well: uwis, since, csv, units, limit } = options;
  if (csv && output.json) throw new UsageError('--csv and --json exclude each other');
  if (units && !csv) throw new UsageError('--units needs --csv: the table has units, and so has --json');
  const config = await call.config();
  const how = { timeZone: config.timeZone, nowMs: Date.now(), names: { since: '--since' } };
  const question = requestMonths({ uwis, since }, how);
  await using app = await call.openStored(config);
  await refuseUnknownWells(app, uwis);
  const frame = await monthsFrame(app, question);
  await app.warehouse.months.months(question, async (months) => {
    if (output.json) await printDocument(frame, months, output);
    else if (csv) await printTableOf(months, frame, { output, isUnits: units === true });
    else await printListed(months, frame, { output, limit });
  });
}

type Months = AsyncIterable<MonthOfWell>;

/** One document, of which few months are in memory at one time. */
async function printDocument(frame: MonthsFrame, months: Months, output: Output): Promise<void> {
  const { printJsonLines } = await import('../text/query-formats.ts');
  await output.write(`${JSON.stringify(frame).slice(0, -1)}, "months": `);
  await printJsonLines(months, output);
  await output.write('}\n');
}

interface Column {
  readonly name: string;
  readonly type?: 'DOUBLE';
  readonly valueOf: (month: MonthOfWell) => string | number | null;
}

/** As the view has them; what was known stands behind what is known now. */
function columnsOf({ knownAt }: MonthsFrame): readonly Column[] {
  const amount = (name: string, valueOf: Column['valueOf']): Column => ({ name, type: 'DOUBLE', valueOf });
  const known = (['oil', 'gas', 'water'] as const).map((name) =>
    amount(`${name}_as_known`, ({ asKnown }) => asKnown?.[name] ?? null),
  );
  return [
    { name: 'uwi', valueOf: ({ uwi }) => uwi },
    { name: 'production_month', valueOf: ({ month }) => month },
    amount('days_present', ({ daysPresent }) => daysPresent),
    amount('days_missing', ({ daysMissing }) => daysMissing),
    amount('days_quarantined', ({ daysQuarantined }) => daysQuarantined),
    amount('hours_on', ({ hoursOn }) => hoursOn),
    amount('oil', ({ oil }) => oil),
    amount('gas', ({ gas }) => gas),
    amount('water', ({ water }) => water),
    ...(knownAt === null ? [] : known),
    amount('water_injected', ({ waterInjected }) => waterInjected),
    amount('gas_injected', ({ gasInjected }) => gasInjected),
    amount('downtime_hours', ({ downtimeHours }) => downtimeHours),
    { name: 'downtime_by_code', valueOf: ({ downtimeByCode: by }) => (by === null ? null : JSON.stringify(by)) },
  ];
}

function unitOf(name: string, { units }: MonthsFrame): string | undefined {
  return units[name.replace(/_as_known$/, '')];
}

async function printTableOf(
  months: Months,
  frame: MonthsFrame,
  { output, isUnits }: { readonly output: Output; readonly isUnits: boolean },
): Promise<void> {
  const { printCsv } = await import('../text/query-formats.ts');
  const columns = columnsOf(frame);
  const units = Object.fromEntries(
    columns.flatMap(({ name }) => {
      const unit = isUnits ? unitOf(name, frame) : undefined;
      return unit === undefined ? [] : [[name, unit] as const];
    }),
  );
  await printCsv(
    resultOf(months, columns, plainHead, (value) => value),
    output,
    units,
  );
}

const plainHead = (name: string): string => name;

/** Prints the first months as a table, then what they mean, and which ones are not what was known. */
async function printListed(
  months: Months,
  frame: MonthsFrame,
  { output, limit }: { readonly output: Output; readonly limit: number },
): Promise<void> {
  const { printTable } = await import('../text/query-formats.ts');
  const restated = new RestatedMonths();
  const headOf = (name: string): string => withUnit(shortHeads[name] ?? name, unitOf(name, frame));
  const shown = resultOf(withShortCodes(await restated.over(months)), columnsOf(frame), headOf, shownValue);
  await printTable(shown, output, limit);
  await output.print(`Volumes of ${frame.rateBasis} rates. A missing day adds nothing: it is not 0.`);
  if (frame.knownAt !== null) await output.print(restated.text(frame.knownAt));
}

/** Where a terminal has less room than a file. */
const shortHeads: Readonly<Record<string, string>> = {
  production_month: 'month',
  days_present: 'present',
  days_missing: 'missing',
  days_quarantined: 'quarantined',
};

/** Full digits are in --json and --csv. */
function shownValue(value: string | number | null): string | number {
  if (typeof value === 'string') return value.replace(/^(\d{4}-\d{2})-01$/, '$1');
  return value === null ? '' : tenths(value);
}

function tenths(value: number): number {
  return Math.abs(value) < 1e15 ? Math.round(value * 10) / 10 : value;
}

async function* withShortCodes(months: Months): AsyncGenerator<MonthOfWell> {
  for await (const { downtimeByCode: by, ...month } of months) {
    const codes = Object.entries(by ?? {}).map(([code, hours]) => [code, tenths(hours)] as const);
    yield { ...month, downtimeByCode: by === null ? null : Object.fromEntries(codes) };
  }
}

function resultOf(
  months: Months,
  columns: readonly Column[],
  headOf: (name: string) => string,
  shown: (value: string | number | null) => unknown,
): QueryResult {
  async function* rows(): AsyncGenerator<readonly unknown[]> {
    for await (const month of months) yield columns.map(({ valueOf }) => shown(valueOf(month)));
  }
  return { columns: columns.map(({ name, type = 'VARCHAR' }) => ({ name: headOf(name), type })), rows: rows() };
}

const mostNamed = 5;

/** Counts the months that are not what they were known as, on their way to a table. */
class RestatedMonths {
  #count = 0;
  readonly #named: string[] = [];

  async over(months: Months): Promise<Months> {
    const { isRestated } = await import('../../app/wells/months.ts');
    return this.#counted(months, isRestated);
  }

  async *#counted(months: Months, isRestated: (month: MonthOfWell) => boolean): AsyncGenerator<MonthOfWell> {
    for await (const month of months) {
      if (isRestated(month)) {
        this.#count += 1;
        if (this.#named.length < mostNamed) this.#named.push(`${month.uwi} ${month.month.slice(0, 7)}`);
      }
      yield month;
    }
  }

  /** `2 months are not what was known at 2024-03-03 06:00:00Z: 15/9-F-12 2016-08 and 15/9-F-12 2016-09.` */
  text(knownAt: string): string {
    const at = instantText(Date.parse(knownAt));
    if (this.#count === 0) return `Every month is what was known at ${at}.`;
    const more = this.#count - this.#named.length;
    const named = listed([...this.#named, ...(more === 0 ? [] : [`${more} more`])]);
    return `${counted(this.#count, 'month is', 'months are')} not what was known at ${at}: ${named}.`;
  }
}
