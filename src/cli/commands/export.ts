/** `wellsync export`: the commands that read data of the service into the warehouse. */
import { InvalidArgumentError } from 'commander';
import type { DailyProductionSummary } from '../../app/exports/daily-production.ts';
import type { DefinitionInput, DefinitionName } from '../../app/exports/definitions.ts';
import type { ExportPlan, PlannedWindow } from '../../app/exports/daily-production.ts';
import { boundText, columnOf, counted, figure, instantText } from '../../core/base/text.ts';
import { tierText } from '../../core/daily/due-window.ts';
import { type KnownList, recordLists } from '../../core/definitions/record-list.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import {
  type Call,
  collected,
  type EmptyOption,
  type Flags,
  type Layout,
  type Lists,
  type Numbers,
  type ProgramCommand,
  type StartOptions,
  type Texts,
} from '../command.ts';

export function addExportCommand(program: ProgramCommand): void {
  const group = program.command('export').description('pull data of the service into the warehouse');
  addExportDailyProduction(group);
  for (const list of recordLists) addExportOfList(group, list);
  addExportWells(group);
}

const startExplanation = `
--inline needs no worker: this process works the shared queues itself, and other
workers may help. If it is killed, nothing is lost: any worker, or the next
--inline, goes on with the run. Ctrl-C hands the work back, and the run stays
queued; with --wait it only leaves, and the run goes on.

--skip-if-running starts nothing where a run for the same work (job, parameters
and targets) has not ended: exit code 0 while some process works it and it moved
within run.stuckAfterMs (30 min), else 1 with its age. A run that nobody works is
continued.

Exit codes
  0  done; without --wait or --inline: queued
  1  failed
  2  wrong use
  3  done, with quarantined or held records
  4  cancelled, or interrupted by Ctrl-C
  5  could not reach the queue, the warehouse or the service
`;

/** Parses an option that is a number of days, at most a century. */
function dayCount(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 36_525) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of days, up to 36525.');
}

function addExportDailyProduction(group: ProgramCommand): void {
  group
    .command('daily-production')
    .description('pull daily production of wells into the warehouse')
    .option('--uwi <uwi>', 'a well; may be given more than once', collected)
    .option('--wells <file>', 'wells from a CSV file with the column uwi; - is standard input')
    .allowsEmpty()
    .option('--from-warehouse', 'the wells that the warehouse knows')
    .option('--from <day>', 'read from this day on: a backfill, which moves no watermark')
    .option('--to <day>', 'read up to this day, which is the first one left out')
    .option(
      '--gaps',
      'read the days that are missing in the warehouse or were never read, and what lies close between them',
    )
    .option(
      '--lookback <days>',
      'read at least so many days again below the watermark: deeper than export.lookback',
      dayCount,
    )
    .option('--allow-shrink', 'remove rows of this request that would otherwise be held until they are released')
    .option('--dry-run', 'say what would be read, and start nothing')
    .starts()
    .explained(`${dailyExplanation}${startExplanation}`, dailyExamples)
    .runs(exportDailyProduction);
}

const dailyExplanation = `
Without --from and --to every well goes on from its watermark, or from its last row
where that is older, minus the lookback that is due (export.lookback). It reaches
further back to days that are missing or quarantined (export.holeDays): a well that
delivers late loses nothing. A well without a row gets its whole history,
at every run until it has one. A day is one of the configured time zone; an ISO
date-time (2024-03-31T06:00:00Z) will do too. Where no well is named, those of the
configuration are meant (export.wells).

--gaps reads, between --from and --to or else from the first known day of a well
to the last day that is over, just the days that the warehouse has nothing of:
see wellsync coverage. A well of which nothing is known is read as a whole.
`;

const dailyExamples = [
  'wellsync export daily-production --uwi "15/9-F-1 C" --inline',
  'wellsync export daily-production --wells wells.csv --wait',
  'wellsync export daily-production --wells wells.csv --from 2024-03-01 --to 2024-04-01 --wait --json',
  'wellsync export daily-production --from-warehouse --gaps --dry-run',
];

type DailyProductionOptions = StartOptions &
  EmptyOption &
  Flags<'fromWarehouse' | 'gaps' | 'allowShrink' | 'dryRun'> &
  Texts<'wells' | 'from' | 'to'> &
  Numbers<'lookback'> &
  Lists<'uwi'>;

const dailyFlags = {
  uwis: '--uwi',
  wellsFile: '--wells',
  fromWarehouse: '--from-warehouse',
  from: '--from',
  to: '--to',
  gaps: '--gaps',
  lookbackDays: '--lookback',
};

async function exportDailyProduction(call: Call<DailyProductionOptions>): Promise<ExitCode> {
  const { planDailyProduction, requestDailyProduction } = await import('../../app/exports/daily-production.ts');
  const { startAndCarryOut, unlessEmpty } = await import('../carry-out.ts');
  const { options, stdin } = call;
  const { uwi: uwis, wells: wellsFile, allowEmpty, fromWarehouse, from, to, gaps } = options;
  const { lookback: lookbackDays, allowShrink } = options;
  const input = { uwis, wellsFile, allowEmpty, fromWarehouse, from, to, gaps, lookbackDays, allowShrink };
  return unlessEmpty(call, async () => {
    await using app = await call.openApp();
    const request = await requestDailyProduction(app, input, { stdin, nowMs: Date.now(), names: dailyFlags });
    if (options.dryRun) {
      const { checkBeforePlan } = await import('../../app/preflight.ts');
      await checkBeforePlan(app);
      const plan = await planDailyProduction(app, request);
      await call.output.print(planText(plan, call.layout), plan);
      return exitCodes.done;
    }
    const { wells, repeatedWells } = request.summary;
    const title = dailyProductionTitle(request.summary);
    return await startAndCarryOut(call, app, request, { title, fields: { wells, repeatedWells } });
  });
}

/** The title of a run, after its id: `daily production of 7 wells`. Pure. */
function dailyProductionTitle({ kind, wells, repeatedWells, fromMs, toMs }: DailyProductionSummary): string {
  const part = kind === 'gaps' ? 'the gaps in daily production' : 'daily production';
  const since = fromMs === undefined ? '' : ` from ${boundText(fromMs)}`;
  const until = toMs === undefined ? '' : ` to ${boundText(toMs)}`;
  return `${part} of ${counted(wells, 'well')}${since}${until}${repeatedText(repeatedWells)}`;
}

const mostWindowsShown = 20;

/** The first windows, and the number of windows by lookback. */
function planText({ windows }: ExportPlan, layout: Layout): string {
  const chunks = new Set(windows.map(({ chunk }) => chunk)).size;
  const head = `Nothing is started. It would read ${counted(windows.length, 'window')}${windows.length === 0 ? '' : ` in ${counted(chunks, 'queue item')}`}.`;
  if (windows.length === 0) return head;
  const table = layout.tableText(
    [{ head: 'uwi' }, { head: 'from' }, { head: 'to' }, { head: 'reads' }],
    windows
      .slice(0, mostWindowsShown)
      .map((window) => [window.uwi, shortText(window.from), shortText(window.to), reasonText(window)]),
  );
  const more = windows.length - mostWindowsShown;
  const rest = more > 0 ? [`(${counted(more, 'more window')}: --json)`] : [];
  return [head, '', table, ...rest, '', lookbackTable(windows, layout)].join('\n');
}

function shortText(iso: string): string {
  return instantText(Date.parse(iso));
}

/** Text of a lookback of no days. */
const newDaysAlone = tierText({ days: 0 });

/** Why a window has its bounds, and whether an incremental read of a well with rows is a verified one. */
function reasonText(window: PlannedWindow): string {
  const { mode, lookback, isVerified } = window;
  if (mode === 'backfill') return 'backfill';
  if (lookback === null) return 'whole history';
  return isVerified ? `${boundsText(window)}, verified` : boundsText(window);
}

function boundsText({ lookback, reach }: PlannedWindow): string {
  if (reach === 'hole') return 'new days, and again from its oldest hole';
  const days = reach === 'last-day' ? 'all since its last row' : 'new days';
  return lookback === newDaysAlone ? days : `${days}, and again ${lookback}`;
}

function lookbackTable(windows: readonly PlannedWindow[], { tableText }: Layout): string {
  const counts = new Map<string, number>();
  for (const window of windows) counts.set(reasonText(window), (counts.get(reasonText(window)) ?? 0) + 1);
  return tableText(
    [{}, { align: 'right' }],
    [...counts].map(([reason, count]) => [reason, figure(count)]),
    '  ',
  );
}

/** The command of a list of records follows from the list. */
function addExportOfList(
  group: ProgramCommand,
  { name, title, table, targets: { all, column, file } }: KnownList,
): void {
  const fileFlag = `--${columnOf(file).replaceAll('_', '-')}` as const;
  group
    .command(name)
    .description(`pull the ${title} of ${all} into the warehouse`)
    .option(`--${column} <id>`, `${all} by source id; may be given more than once`, collected)
    .option(`${fileFlag} <file>`, `${all} from a CSV file with the column ${column}; - is standard input`)
    .allowsEmpty()
    .option('--from-warehouse', `the ${all} that the warehouse knows`)
    .option('--allow-shrink', 'remove records that would otherwise be held until they are released')
    .starts()
    .explained(`${listExplanation(table)}${startExplanation}`, [
      `wellsync export ${name} --${column} "ID" --inline`,
      `wellsync export ${name} ${fileFlag} ${column}.csv --wait`,
    ])
    .runs((call: Call<DefinitionOptions & Readonly<Record<string, unknown>>>) => {
      const given = call.options as Lists<string> & Texts<string>;
      const named = { names: given[column], file: given[file] };
      return exportDefinitions(call, name, named, { names: `--${column}`, file: fileFlag });
    });
}

function listExplanation(table: string): string {
  return `
Every record goes to the table ${table}, and what it said before to
${table}_history. Records that the service no longer has stay until they are
released, where all of a target would go, or more than export.shrink allows.
`;
}

function addExportWells(group: ProgramCommand): void {
  group
    .command('wells')
    .description('pull wells themselves into the warehouse')
    .option('--well <id>', 'a well by its source id; may be given more than once', collected)
    .option('--wells <file>', 'wells from a CSV file with the column well; - is standard input')
    .allowsEmpty()
    .option('--from-warehouse', 'the wells that the warehouse knows')
    .starts()
    .explained(`${wellsExplanation}${startExplanation}`, wellsExamples)
    .runs(exportWells);
}

const wellsExplanation = `
The body of a well goes to the table well as it came, and as JSON into its column
document where it is; what it was before goes to well_history. JSON that says the
same in another order is no change. A well that the service does not know is
unknown, and stays as it was. With wells.timeZoneField the zone that a body
names decides the calendar day of the well's daily production.
`;

const wellsExamples = [
  'wellsync export wells --well "15/9-F-1 C" --inline',
  'wellsync export wells --wells source-wells.csv --wait',
  `wellsync query "SELECT source_id, document->>'$.status' AS status FROM well"`,
];

type DefinitionOptions = StartOptions & EmptyOption & Flags<'fromWarehouse' | 'allowShrink'>;

type WellsOptions = DefinitionOptions & Texts<'wells'> & Lists<'well'>;

async function exportWells(call: Call<WellsOptions>): Promise<ExitCode> {
  const { well: names, wells: file } = call.options;
  return exportDefinitions(call, 'wells', { names, file }, { names: '--well', file: '--wells' });
}

async function exportDefinitions(
  call: Call<DefinitionOptions>,
  name: DefinitionName,
  named: Pick<DefinitionInput, 'names' | 'file'>,
  flags: Readonly<Record<'names' | 'file', string>>,
): Promise<ExitCode> {
  const { definitionExport, requestDefinitions } = await import('../../app/exports/definitions.ts');
  const { startAndCarryOut, unlessEmpty } = await import('../carry-out.ts');
  const { options, stdin } = call;
  const { fromWarehouse, allowShrink, allowEmpty } = options;
  const exported = definitionExport((each) => each.name === name);
  const input = { ...named, allowEmpty, fromWarehouse, allowShrink };
  return unlessEmpty(call, async () => {
    await using app = await call.openApp();
    const names = { ...flags, fromWarehouse: '--from-warehouse' };
    const request = await requestDefinitions(app, exported, input, { stdin, names });
    const { title, targets, repeatedTargets } = request.summary;
    const fields = { targets, repeatedTargets };
    return await startAndCarryOut(call, app, request, { title: `${title}${repeatedText(repeatedTargets)}`, fields });
  });
}

function repeatedText(count: number): string {
  return count === 0 ? '' : ` (${counted(count, 'repeated name')} ignored)`;
}
