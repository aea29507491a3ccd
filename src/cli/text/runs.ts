/** The text of runs and their reports for a terminal. Pure. */
import {
  balanceSentence,
  causeOf,
  type HeldDocument,
  isUnplanned,
  locationText,
  nextSteps,
  outcomeSentence,
  type RunDocument,
  type ShownCount,
  shownCounts,
  wholeFault,
  withoutTarget,
} from '../../app/runs/run-document.ts';
import { paceOf, rowsOf } from '../../app/runs/run-progress.ts';
import { jobDescriptionOf, type LiveRunDocument, type RunListDocument } from '../../app/runs/run-status.ts';
import type { HeldBack } from '../../app/service/service-requests.ts';
import { grouped } from '../../core/base/lists.ts';
import { counted, durationText, figure, instantText, listed, printable } from '../../core/base/text.ts';
import { countWords, type JobDescription } from '../../core/run/job-description.ts';
import { type Balance, type RunFailure, type RunReport, workedMsOf } from '../../core/run/run.ts';
import { holdText, outageText } from '../../core/run/service-hold.ts';
import type { QueueKind } from '../../core/run/warehouse-queue.ts';
import { adviceOf, type NextStep, nextStepOf } from './actions.ts';
import { folded, foldedHint, tableText, widestOf } from './table.ts';

/** Of a run that nobody works. Without Redis the next command works it too. */
export function noWorkerText(queue: QueueKind): string {
  return queue === 'redis'
    ? 'No worker is running: the run stays queued until one starts. Start one with: wellsync worker'
    : 'No process works the warehouse: the run goes on with the next command that works, or with: wellsync worker';
}

/** Of the queued runs of a job that nobody works. */
export function unattendedText(job: string, queue: QueueKind): string {
  return queue === 'redis'
    ? `No worker is running for ${job}: such runs stay queued until one starts. Start one with: wellsync worker`
    : `No process works the warehouse now: runs of ${job} go on with the next command that works, or with: wellsync worker`;
}

export function runListText(
  { runs, service, warehouse }: RunListDocument,
  jobs: readonly JobDescription[],
  width: number,
): string {
  const list = runs.length === 0 ? 'There are no such runs.' : listTable(runs, jobs, width);
  return `${list}\n\n${folded(locationText(service, warehouse), width)}`;
}

function listTable(runs: readonly RunDocument[], jobs: readonly JobDescription[], width: number): string {
  const columns = [{ head: 'run' }, { head: 'job' }, { head: 'covers' }, { head: 'state' }];
  return tableText(
    [...columns, { head: 'completed' }, { head: 'requested' }, { head: 'duration', align: 'right' }],
    runs.map((run) => [
      run.runId,
      run.job,
      run.covers,
      run.state,
      unitsText(run, jobDescriptionOf(run.job, jobs)),
      isoText(run.requestedAt),
      run.durationMs === null ? '' : durationText(run.durationMs),
    ]),
    '',
    width,
  );
}

/** Status of a run that has not ended. */
export function runStatusText(run: LiveRunDocument, jobs: readonly JobDescription[]): string {
  const { hold, outage } = heldBackTexts(run);
  const job = jobDescriptionOf(run.job, jobs);
  return [
    `Run ${run.runId}: ${run.job}, ${run.covers}`,
    locationText(run.service, run.warehouse),
    `${run.state === 'queued' ? 'Queued' : 'Running'}, requested at ${isoText(run.requestedAt)}.`,
    `Settled: ${unitsText(run, job)}${rowsText(run, job)}.`,
    ...(hold === undefined ? [] : [`On hold: ${hold}. To send requests before: wellsync service release`]),
    ...(outage === undefined ? [] : [`Waiting: ${outage}. One request after another tries.`]),
  ].join('\n');
}

/** Undefined for what does not hold requests back. */
export function heldBackTexts({ hold, outage }: HeldBack): Partial<Record<'hold' | 'outage', string>> {
  return {
    ...(hold !== null && {
      hold: holdText({
        untilMs: Date.parse(hold.until),
        askedUntilMs: Date.parse(hold.askedUntil),
        isTooLong: hold.isTooLong,
      }),
    }),
    ...(outage !== null && { outage: outageText({ sinceMs: Date.parse(outage.since), fault: outage.fault }) }),
  };
}

function isoText(iso: string): string {
  return instantText(Date.parse(iso));
}

function unitsText(
  { units, settledUnits, failedUnits }: RunDocument,
  { units: { one, many } }: JobDescription,
): string {
  if (units === null) return 'not planned yet';
  const whole = counted(units, one, many);
  // What failed is settled, and not completed.
  return settledUnits === null ? whole : `${figure(settledUnits - failedUnits)} of ${whole}`;
}

/** Empty for a job without rows. */
function rowsText(run: RunDocument, job: JobDescription): string {
  return job.record === undefined ? '' : `, ${counted(rowsOf(run, job), 'row')} read`;
}

/** What is held, and of what. */
export function heldRowsText({ targets, rows, holds, parts }: HeldDocument, width: number): string {
  const isByMonth = parts.some(({ month }) => month !== null);
  const columns = [
    { head: 'of' },
    ...(isByMonth ? [{ head: 'month' }, { head: 'missing days' }] : []),
    { head: 'rows', align: 'right' as const },
    { head: 'since' },
    { head: 'held by run' },
  ];
  const table = tableText(
    columns,
    parts.map((part) => [
      part.target,
      ...(isByMonth ? [part.month ?? '', daysText(part)] : []),
      figure(part.rows),
      isoText(part.since),
      part.runId,
    ]),
    '',
    width,
  );
  const more = holds - parts.length;
  return [
    table,
    ...(more > 0 ? [`and ${counted(more, 'more hold')}`] : []),
    '',
    `${counted(rows, 'row')} of ${counted(targets, 'target')} that the service no longer has.`,
  ].join('\n');
}

function daysText({ firstDay, lastDay }: HeldDocument['parts'][number]): string {
  return firstDay === lastDay ? (firstDay ?? '') : `${firstDay} to ${lastDay}`;
}

// The text of a run's report. Pure.

const mostFailuresShown = 10;

/** Lines of text without a final line end; prose is wrapped at `width` columns. */
export function reportText(report: RunReport, job: JobDescription, width: number): string {
  const parts = [
    headText(report, job, width),
    countsText(report, job, width),
    noticesText(report.notices, width),
    differencesText(report.differences, width),
    failuresText(report, job, width),
    nextStepsText(stepsOf(report, job), width),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function stepsOf(report: RunReport, job: JobDescription): readonly NextStep[] {
  return nextSteps(report, job).map((action) => nextStepOf(action, job));
}

function headText(report: RunReport, job: JobDescription, width: number): string {
  const advice = adviceOf(wholeFault(report, job) ?? {});
  return [
    `Run ${report.runId}: ${report.job}${report.version === undefined ? '' : ` (wellsync ${report.version})`}`,
    ...(report.warehouse === undefined
      ? []
      : [folded(printable(locationText(report.service, report.warehouse)), width)]),
    folded(printable(outcomeSentence(report, job)), width),
    ...(advice === undefined ? [] : [foldedHint(printable(advice), width)]),
  ].join('\n');
}

function countsText(report: RunReport, job: JobDescription, width: number): string {
  const { many, isSingle } = job.units;
  const rows = [
    ...(isSingle || isUnplanned(report) ? [] : [[many, figure(report.units.total), unitTotalsText(report, job)]]),
    ...countRows(shownCounts(report.counts, job)),
    ['duration', durationText(workedMsOf(report)), paceText(report, job)],
  ];
  const table = tableText([{}, { align: 'right' }, {}], rows, '  ');
  return isUnplanned(report) ? table : `${table}\n\n${balanceText(report.balance, width)}`;
}

const mostDifferencesShown = 20;

/** The first fields that differ, each with what it is here and at the service. */
function differencesText(differences: RunReport['differences'], width: number): string {
  if (differences === undefined) return '';
  const { wells, samples } = differences;
  const shown = samples.slice(0, mostDifferencesShown);
  const table = tableText(
    [{ head: 'well' }, { head: 'day' }, { head: 'what' }, { head: 'field' }, { head: 'here' }, { head: 'there' }],
    shown.map(({ uwi, day, kind, field, here, there }) => [
      uwi,
      day ?? '',
      kind.replaceAll('-', ' '),
      field ?? '',
      ...[here, there].map((value) => (value === null ? '' : String(value))),
    ]),
    '  ',
    width,
  );
  return `Some of the differences, in ${counted(wells, 'well')}\n${table}`;
}

function unitTotalsText({ units }: RunReport, { units: { held } }: JobDescription): string {
  const parts = (['done', 'held', 'unknown', 'failed', 'cancelled'] as const).filter(
    (state) => (units[state] ?? 0) > 0,
  );
  return parts.map((state) => `${figure(units[state] ?? 0)} ${state === 'held' ? held : state}`).join(', ');
}

function paceText(report: RunReport, job: JobDescription): string {
  const pace = paceOf(rowsOf(report, job), workedMsOf(report));
  const sentNothing = report.counts['requests'] === 0;
  return pace === undefined || sentNothing ? '' : `${figure(pace)} rows/s`;
}

function failuresText(report: RunReport, job: JobDescription, width: number): string {
  const { units, stopped } = report;
  // The fault that stopped the run is shown already, and every unit that was not tried would repeat it.
  const failures = report.failures.filter(
    ({ code, message }) =>
      code !== 'not-tried' && !(job.units.isSingle && message === wholeFault(report, job)?.message),
  );
  if (failures.length === 0) return '';
  const { one, many, held } = job.units;
  const saidAbove = adviceOf(wholeFault(report, job) ?? {});
  const causes = [...grouped(failures, (failure) => JSON.stringify([failure.state, causeOf(failure)])).values()];
  const shown = causes.slice(0, mostFailuresShown);
  const shownUnits = shown.reduce((sum, { length }) => sum + length, 0);
  const more = stopped === undefined ? units.failed + units.held - shownUnits : failures.length - shownUnits;
  return [
    `${many} that failed or are ${held}`.replace(/^./, (letter) => letter.toUpperCase()),
    ...shown.flatMap((cause) => causeLines(cause, job, saidAbove)).map((line) => folded(line, width, '    ')),
    ...(more > 0 ? [`  and ${counted(more, one, many)} more: wellsync runs show ${report.runId} --json`] : []),
    ...notTriedLines(report, job),
  ].join('\n');
}

/** A report lists units that were not tried after all others: where it has one, it has every unit that was tried. */
function notTriedLines({ units, failures }: RunReport, { units: { one, many } }: JobDescription): readonly string[] {
  const tried = failures.filter(({ code }) => code !== 'not-tried').length;
  if (tried === failures.length) return [];
  return [`  ${counted(units.failed + units.held - tried, one, many)}: not tried, since the run was stopped`];
}

const mostNamesShown = 3;

/** Units that failed alike: once, with their number and the first few names. Advice that was given is not repeated. */
function causeLines(
  failures: readonly RunFailure[],
  { units: { many, held } }: JobDescription,
  saidAbove: string | undefined,
): readonly string[] {
  const [first] = failures;
  if (first === undefined) return [];
  const isOne = failures.length === 1;
  const which = isOne ? printable(first.target) : `${figure(failures.length)} ${many} (${firstNames(failures)})`;
  const message = printable(isOne ? withoutTarget(first.target, first.message) : causeOf(first));
  const lines = [`  ${which}: ${first.state === 'held' ? held : first.state}, ${message}`];
  const advice = adviceOf(first);
  return advice === undefined || advice === saidAbove ? lines : [...lines, `    ${printable(advice)}`];
}

function firstNames(failures: readonly RunFailure[]): string {
  const names = failures.slice(0, mostNamesShown).map(({ target }) => printable(target));
  const others = failures.length - names.length;
  return listed(others > 0 ? [...names, `${figure(others)} more`] : names);
}

// The text of the counts, the balance and the notices of a report. Pure.

/** Rows of a table: name, figure and remark. */
export function countRows(counts: readonly ShownCount[]): ReadonlyArray<readonly [string, string, string]> {
  return counts.map(({ name, count, remark }) => [countWords(name), figure(count), remark]);
}

/** The statement with the figures and the names of the table above it. */
export function balanceText(balance: Balance, width: number): string {
  return folded(`  ${balanceSentence(balance)}`, width, '    ');
}

/** Empty without notices. */
export function noticesText(notices: readonly string[], width: number): string {
  if (notices.length === 0) return '';
  return ['Notices', ...notices.map((notice) => folded(`  - ${printable(notice)}`, width, '    '))].join('\n');
}

// Commands for the next steps, below a result. Pure.

/**
 * Each step on a line, or its meaning on the line below if the lines would be too long: a command is never broken.
 * Empty without steps.
 */
export function nextStepsText(steps: readonly NextStep[], width: number): string {
  if (steps.length === 0) return '';
  const table = tableText([{}, {}], steps, '  ');
  const isWide = widestOf(table.split('\n')) > width;
  return `Next\n${isWide ? steps.map(([command, does]) => `  ${command}\n    ${does}`).join('\n') : table}`;
}
