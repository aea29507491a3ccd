/** `wellsync warehouse`: copies and moves the warehouse, puts it in order, and says what it holds. */
import type { Backup, CopiedRows, CopyWatch } from '../../app/warehouse/backup.ts';
import type { Rezone } from '../../app/warehouse/rezone.ts';
import type { TableOrder } from '../../app/warehouse/table-order.ts';
import { AbortedError } from '../../core/base/errors.ts';
import { counted, figure, instantText, printable } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Call, Flags, Layout, ProgramCommand } from '../command.ts';
import { questionAt, unconfirmed } from '../process/operator.ts';
import { listenForStop } from '../process/stop-signals.ts';

export function addWarehouseCommand(program: ProgramCommand): void {
  const group = program.command('warehouse').description('copy the warehouse, put it in order, and say what it holds');
  group
    .command('info')
    .description('show path, size, schema, service, rows of each table, days and order')
    .explained('', ['wellsync warehouse info', 'wellsync warehouse info --json'])
    .runs(showWarehouse);
  group
    .command('backup')
    .argument('<file>', 'path of the copy')
    .description('copy the warehouse to a file, also while workers work')
    .option('--force', 'replace a file that is there')
    .explained(backupExplanation, ['wellsync warehouse backup /backup/wellsync-2024-03-03.duckdb'])
    .runs(backUpTo);
  group
    .command('copy')
    .argument('<from>', 'duckdb:PATH or postgres://USER@HOST:PORT/DATABASE')
    .argument('<to>', 'duckdb:PATH, a new file, or postgres://USER@HOST:PORT/DATABASE, an empty database')
    .description('copy the warehouse to another engine or to this schema, with all that it holds')
    .explained(copyExplanation, [
      'wellsync warehouse copy duckdb:./data/warehouse.duckdb postgres://wellsync@db/production',
      'wellsync warehouse copy duckdb:./data/warehouse.duckdb duckdb:./data/new.duckdb',
    ])
    .runs(copyWarehouse);
  group
    .command('optimize')
    .description('rewrite daily production by well and date, also while workers work')
    .option('--dry-run', 'say what would be rewritten; write nothing')
    .explained(optimizeExplanation, ['wellsync warehouse optimize --dry-run', 'wellsync warehouse optimize'])
    .runs(optimizeWarehouse);
  group
    .command('rezone')
    .description('date all rows by the time zone of the configuration, and of the records of the wells')
    .option('--dry-run', 'say which rows would get another day and month; write nothing')
    .option('--yes', 'do not ask; needed without a terminal')
    .explained(rezoneExplanation, ['wellsync warehouse rezone --dry-run', 'wellsync warehouse rezone --yes'])
    .runs(rezoneWarehouse);
}

const rezoneExplanation = `
Each row has the production day that its instant has in a time zone: timeZone, or
that of its well (wells.timeZoneField). The zone is kept with the rows, so that an
export with another one is refused, and a well whose record changes its zone is an
alert. This dates all rows by the zones of now: rows, history, quarantine, and which
record of a day counts. No value changes, and it is no restatement.

Stop all workers and servers first. It goes in steps; until it has ended no export
and no publication of the feed is made. It may be stopped or killed at any time: the
same command goes on where it was. The first and the last day of what was read are
read again by the next export with --gaps.
`;

const copyExplanation = `
From a file to an empty database or a new file, or from a database to an empty
one. A warehouse from before the first release (schema version 8) is taken over
so: no other command works on it.

Stop all workers first. Rows, history, coverage, runs, plans and the audit are
copied, and every table is compared by a checksum of its rows; the first one
stays as it is. The copy may be stopped or killed at any time: the same command
goes on where it was. The copy is a warehouse only once all is equal, with the
id of the first one: work on one of the two from then on.

The password is that of warehouse.passwordFile, or of PGPASSWORD.
`;

const optimizeExplanation = `
Each night adds its rows at the end, as one more piece of each well, and a well
in many pieces is found more slowly. This puts the pieces together; no row,
version or coverage changes by it. Where the wells have more than 30 nights in
the tail, it is done after a run without being asked.

It may be stopped or killed at any time: it works in short steps, and goes on
at its place. Workers commit in between. The space of the old rows is used
again, so that the file hardly grows.
`;

const backupExplanation = `
The copy is whole: workers wait for it, and it appears under its name only when
it is complete. It has an id of its own, so that no worker takes it for the
original, and its unfinished runs are "interrupted": they go on in the original,
and by wellsync runs retry in the copy. The last hash of its audit is printed:
wellsync audit verify --kept HASH holds the original to it.

To restore: stop all workers, remove the warehouse with the files .wal and .beat
beside it (its log would be read into the copy), put the copy in its place, and
set another WELLSYNC_QUEUE_PREFIX. A warehouse of an earlier schema is copied as
it is, id and runs included: do so before an upgrade.
`;

async function backUpTo(call: Call<Flags<'force'>>): Promise<void> {
  const { backUp } = await import('../../app/warehouse/backup.ts');
  const { output, options, args } = call;
  await using app = await call.openStored();
  const made = await backUp(app, args[0] ?? '', options.force === true);
  await output.report(backupText(made), made);
}

function backupText({ file, warehouseId, interrupted, auditHead }: Backup): string {
  if (warehouseId === null) {
    return `Copied to ${printable(file)} as it is: the warehouse is of an earlier schema.`;
  }
  return [
    `Copied to ${printable(file)}, as the warehouse ${warehouseId}.`,
    ...(interrupted.length === 0 ? [] : [`${counted(interrupted.length, 'run')} interrupted in the copy.`]),
    ...(auditHead === null || auditHead.rows === 0
      ? []
      : [
          `Audit: ${counted(auditHead.rows, 'row')}. Hold the original to it by:`,
          `  wellsync audit verify --kept ${auditHead.hash}`,
        ]),
  ].join('\n');
}

async function showWarehouse(call: Call): Promise<void> {
  const { tableText } = call.layout;
  const { output } = call;
  await using app = await call.openStored();
  const { historyHorizonMs, ...described } = await app.warehouse.describe();
  const historyHorizon = historyHorizonMs === null ? null : new Date(historyHorizonMs).toISOString();
  const {
    location,
    bytes,
    schemaVersion,
    warehouseId,
    service,
    oldestDay,
    newestDay,
    rateBasis,
    timeZone,
    rezoneTo,
    order,
    tables,
  } = described;
  const lines = [
    ['warehouse', printable(location)],
    ['size', `${figure(bytes / 1_000_000)} MB`],
    ['schema version', String(schemaVersion)],
    ['id', warehouseId ?? 'none before schema version 6'],
    ['service', printable(service ?? 'none yet')],
    ['days', oldestDay === null ? 'none yet' : `${oldestDay} to ${newestDay}`],
    ['rates', rateBasis ?? 'unknown before schema version 12'],
    [
      'time zone',
      `${timeZone ?? 'none before the first export'}${rezoneTo === null ? '' : `; being dated by ${rezoneTo}`}`,
    ],
    ['order', order === null ? noOrderText(schemaVersion) : orderText(order)],
    ['history', historyHorizonMs === null ? 'whole' : `from ${instantText(historyHorizonMs)} on`],
  ];
  const rows = tables.map(({ name, rows: count }) => [name, figure(count)]);
  const counts = tableText([{ head: 'table' }, { head: 'rows', align: 'right' }], rows);
  await output.print(`${tableText([{}, {}], lines)}\n\n${counts}`, { ...described, historyHorizon });
}

/** PostgreSQL keeps none. */
function noOrderText(schemaVersion: number): string {
  return schemaVersion < 6 ? 'unknown before schema version 6' : 'left to PostgreSQL';
}

function orderText({ looseRows, tailNights, isUnderWay }: TableOrder): string {
  const rest = isUnderWay ? '; wellsync warehouse optimize is under way' : '';
  if (looseRows === 0) return `by well and date${rest}`;
  return `${counted(Math.round(tailNights), 'night')} in the tail, ${figure(looseRows)} rows to rewrite${rest}`;
}

/** Copies a warehouse to a new one. SIGINT ends it between two steps; the same command goes on there. */
async function copyWarehouse(call: Call): Promise<void> {
  const { copyConfigured } = await import('../../app/warehouse/backup.ts');
  using stop = listenForStop(exitCodes.cancelled);
  const { output, args } = call;
  const [from = '', to = ''] = args;
  const watch = { signal: stop.signal, onStep: progressOf((line) => output.say(line)) };
  const copied = await copyConfigured(await call.config(), { from, to }, watch);
  await output.report(copiedText(copied, call.layout), { tables: copied });
}

/** A line for each table, and more for one that takes long. */
const lineEveryMs = 5_000;

function progressOf(say: (line: string) => void): CopyWatch['onStep'] {
  let last = { table: '', atMs: 0 };
  return (table, what, rows, of) => {
    const atMs = performance.now();
    if (what === 'compared') say(`Compared ${table}: ${counted(of, 'row')}.`);
    else if (table !== last.table || atMs - last.atMs >= lineEveryMs || rows === of) {
      say(`Copied ${figure(rows)} of ${counted(of, 'row')} of ${table}.`);
      last = { table, atMs };
    }
  };
}

function copiedText(copied: readonly CopiedRows[], { tableText }: Layout): string {
  const rows = copied.map(({ table, rows: count, checksum }) => [table, figure(count), checksum]);
  const total = copied.reduce((sum, { rows: count }) => sum + count, 0);
  const table = tableText([{ head: 'table' }, { head: 'rows', align: 'right' }, { head: 'checksum of both' }], rows);
  return [
    table,
    '',
    `Copied ${counted(total, 'row')}, and compared them: both warehouses hold the same.`,
    'Set WELLSYNC_WAREHOUSE to the copy on every host before workers start again, and keep the first one as a backup.',
  ].join('\n');
}

/** Rewrites daily production by well and date, or says what would be rewritten. SIGINT ends it between two steps. */
async function optimizeWarehouse(call: Call<Flags<'dryRun'>>): Promise<ExitCode> {
  const { measureOwnOrder, optimize } = await import('../../app/warehouse/table-order.ts');
  using stop = listenForStop(exitCodes.cancelled);
  const { options, output } = call;
  await using app = await call.openStored();
  const isDryRun = options.dryRun === true;
  const { isUnderWay, ...before } = await measureOwnOrder(app);
  let rewrittenRows = 0;
  if (!isDryRun && (before.looseRows > 0 || isUnderWay)) {
    using progress = await call.showProgress('rows');
    rewrittenRows = await optimize(app, stop.signal, (rows) => progress.show(rows, before.looseRows));
  }
  const done = { ...before, rewrittenRows, dryRun: isDryRun };
  await output.report(call.layout.folded(optimizedText(done, stop.signal.aborted), output.width), done);
  return stop.signal.aborted ? exitCodes.cancelled : exitCodes.done;
}

type Optimized = Readonly<Record<'rows' | 'looseRows' | 'rewrittenRows', number>> & { readonly dryRun: boolean };

function optimizedText({ rows, looseRows, rewrittenRows, dryRun }: Optimized, isStopped: boolean): string {
  if (looseRows === 0 && rewrittenRows === 0) return `All ${figure(rows)} rows of daily production lie in order.`;
  if (dryRun) return `Would rewrite ${figure(looseRows)} of ${figure(rows)} rows of daily production by well and date.`;
  const rewritten = `${figure(rewrittenRows)} rows of daily production by well and date`;
  return isStopped
    ? `Rewrote ${rewritten}, and stopped: the next wellsync warehouse optimize goes on there.`
    : `Rewrote ${rewritten}.`;
}

/** Dates all rows by the zones of now, or says what that changes. SIGINT ends it between two steps. */
async function rezoneWarehouse(call: Call<Flags<'dryRun' | 'yes'>>): Promise<ExitCode> {
  const { isNothingToDate, planRezone, rezone } = await import('../../app/warehouse/rezone.ts');
  const { options, output } = call;
  await using app = await call.openStored();
  const isDryRun = options.dryRun === true;
  const plan = await planRezone(app);
  const isNothing = isNothingToDate(plan);
  if (isDryRun || isNothing) {
    const text = isNothing ? datedText(plan) : rezonePlanText(plan);
    await output.report(call.layout.folded(text, output.width), { ...plan, dryRun: isDryRun });
    return exitCodes.done;
  }
  if (options.yes !== true) await confirmRezone(plan, call);
  using stop = listenForStop(exitCodes.cancelled);
  using progress = await call.showProgress('wells');
  const done = await rezone(app, { signal: stop.signal, onStep: (wells) => progress.show(wells, plan.wells) });
  await output.report(call.layout.folded(rezonedText(done), output.width), { ...done, dryRun: false });
  return done.isUnderWay ? exitCodes.cancelled : exitCodes.done;
}

async function confirmRezone(plan: Rezone, call: Call): Promise<void> {
  const ask = questionAt(call);
  const shown = 'wellsync warehouse rezone --dry-run';
  if (ask === undefined) throw unconfirmed('gives rows other days', 'nothing was changed', shown);
  if ((await ask(`${rezonePlanText(plan)}\nType yes to date them so: `)) === 'yes') return;
  throw new AbortedError('not confirmed: nothing was changed');
}

function datedText({ to }: Pick<Rezone, 'to'>): string {
  return `All rows are dated by ${to}, or by the zone of their well.`;
}

function rezonePlanText({ from, to, wells, named, isUnderWay, ...rows }: Rezone): string {
  const zones = named.map((well) => `  ${printable(well.uwi)}  ${well.from} to ${well.to}`);
  return [
    `${isUnderWay ? 'Under way: to' : 'To'} date by ${to} ${from === to ? 'what other zones date' : `what is dated by ${from ?? 'no zone yet'}`}: ${counted(wells, 'well')} with ${counted(rows.rows, 'row')}.`,
    `Another day: ${counted(rows.otherDay, 'row')}; another month: ${counted(rows.otherMonth, 'row')}.`,
    ...zones,
    ...(wells > named.length ? [`  and ${counted(wells - named.length, 'well')} more`] : []),
  ].join('\n');
}

function rezonedText({ wells, isUnderWay, to, ...rows }: Rezone): string {
  const done = `Dated ${counted(rows.rows, 'row')} of ${counted(wells, 'well')}: ${counted(rows.otherDay, 'row')} got another day, ${counted(rows.otherMonth, 'row')} another month.`;
  if (isUnderWay) return `${done} It was stopped, and no export is made until it has ended: the same command goes on.`;
  if (wells === 0) return datedText({ to });
  return [
    `${done} ${datedText({ to })}`,
    'The first and the last day of what was read of these wells are to be read again:',
    '  wellsync export daily-production --from-warehouse --gaps',
    'Where the service writes dates without an offset, they mean other instants now: read all days again, by --from and --to.',
  ].join('\n');
}
