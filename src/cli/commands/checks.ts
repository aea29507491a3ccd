/** `wellsync checks`: what the checks of daily production found, and their evaluation on request. */
import { Option } from 'commander';
import type { CheckSummary, FindingRow } from '../../app/wells/checks.ts';
import { counted, figure, printable } from '../../core/base/text.ts';
import { type CheckName, checkNames } from '../../core/checks/check.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { type Call, collected, type Layout, type Lists, type ProgramCommand, wholeNumber } from '../command.ts';
import { operatorName } from '../process/operator.ts';
import { listenForStop } from '../process/stop-signals.ts';

export function addChecksCommand(program: ProgramCommand): void {
  const group = program.command('checks').description('list what checks of daily production found; check all again');
  const filtered = (command: ProgramCommand): ProgramCommand =>
    command
      .option('--uwi <uwi>', 'only of this well; may be given more than once', collected)
      .addOption(new Option('--check <name...>', 'only of these checks').choices(checkNames));
  filtered(group.command('list').description('list the findings by check and well, the most first'))
    .option('--limit <lines>', 'lines of the table at most; --json always has all', wholeNumber, 100)
    .explained(listExplanation, ['wellsync checks list', 'wellsync checks list --check jump --json'])
    .runs(listCommand);
  filtered(group.command('show').description('show the findings day by day'))
    .option('--limit <findings>', 'findings at most', wholeNumber, 100)
    .explained(showExplanation, ['wellsync checks show --uwi "15/9-F-1 C" --check jump'])
    .runs(showCommand);
  group
    .command('run')
    .description('check all days that are stored, also while workers work')
    .option('--uwi <uwi>', 'only this well; may be given more than once', collected)
    .explained(runExplanation, ['wellsync checks run', 'wellsync checks run --uwi "15/9-F-1 C"'])
    .runs(runCommand);
}

const listExplanation = `
Exports check what they bring; nothing is dropped or changed by it. The checks
and their numbers are in docs/production-data.md, and in checks of the
configuration. A finding goes when the data come right.
`;

const showExplanation = `
The value is what came, expected what it should be or its bound, where a number
says it. All of them are in the table check_result:
wellsync query 'SELECT * FROM check_result'
`;

const runExplanation = `
For rows that were exported without checks, and after a change of the checks in
the configuration or of the wells' records. It works in short transactions, may
be stopped at any time, and begins again with the first well.
`;

type FilterOptions = Lists<'uwi'> & { readonly check?: readonly CheckName[]; readonly limit: number };

async function listCommand(call: Call<FilterOptions>): Promise<void> {
  const { listFindings } = await import('../../app/wells/checks.ts');
  const { refuseUnknownWells } = await import('../../app/runs/search.ts');
  const { options, output, layout } = call;
  await using app = await call.openStored();
  await refuseUnknownWells(app, options.uwi);
  const summaries = await listFindings(app, { uwis: options.uwi, checks: options.check });
  await output.print(summaryText(summaries, options.limit, layout), summaries);
}

function summaryText(summaries: readonly CheckSummary[], limit: number, { tableText }: Layout): string {
  if (summaries.length === 0) return 'No check has a finding.';
  const heads = ['check', 'uwi', 'severity', 'first day', 'last day', 'worst'].map((head) => ({ head }));
  const rows = summaries
    .slice(0, limit)
    .map(({ check, uwi, severity, firstDay, lastDay, worstField, worstValue, findings }) => [
      check,
      printable(uwi),
      severity,
      firstDay,
      lastDay,
      `${worstField} ${worstValue ?? ''}`.trimEnd(),
      figure(findings),
    ]);
  const more = summaries.length - rows.length;
  const table = tableText([...heads, { head: 'findings', align: 'right' }], rows);
  return more > 0 ? `${table}\nand ${counted(more, 'more line')}: --limit` : table;
}

async function showCommand(call: Call<FilterOptions>): Promise<void> {
  const { showFindings } = await import('../../app/wells/checks.ts');
  const { refuseUnknownWells } = await import('../../app/runs/search.ts');
  const { options, output, layout } = call;
  const { limit } = options;
  await using app = await call.openStored();
  await refuseUnknownWells(app, options.uwi);
  const findings = await showFindings(app, { uwis: options.uwi, checks: options.check, limit: limit + 1 });
  const shown = findings.slice(0, limit);
  await output.print(findingsText(shown, layout), shown);
  if (findings.length > limit)
    output.say(`There are more than ${figure(limit)}: name a well or a check, or give --limit.`);
}

function findingsText(findings: readonly FindingRow[], { tableText }: Layout): string {
  if (findings.length === 0) return 'No check has a finding.';
  const heads = ['check', 'uwi', 'day', 'field'].map((head) => ({ head }));
  const rows = findings.map(({ check, uwi, day, field, value, expected }) => [
    check,
    printable(uwi),
    day,
    field,
    String(value ?? ''),
    String(expected ?? ''),
  ]);
  return tableText([...heads, { head: 'value', align: 'right' }, { head: 'expected', align: 'right' }], rows);
}

async function runCommand(call: Call<Lists<'uwi'>>): Promise<ExitCode> {
  const { runChecks } = await import('../../app/wells/checks.ts');
  using stop = listenForStop(exitCodes.cancelled);
  const { options, output, layout } = call;
  await using app = await call.openStored();
  using progress = await call.showProgress('wells');
  const { signal } = stop;
  const onStep = (wells: number, of: number): void => progress.show(wells, of);
  const done = await runChecks(app, { uwis: options.uwi, by: operatorName(), signal, onStep });
  const { wells, days, findings } = done;
  const sum = `Checked ${counted(days, 'day')} of ${counted(wells, 'well')}: ${counted(findings, 'finding')}`;
  const text = signal.aborted ? `${sum}, and stopped.` : `${sum}.`;
  await output.report(layout.folded(text, output.width), done);
  return signal.aborted ? exitCodes.cancelled : exitCodes.done;
}
