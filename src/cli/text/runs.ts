/** The text of runs for a terminal: a line a run, the status of one, or what they hold. Pure. */
import { placeText, settledUnitsOf } from '../../app/runs/run-document.ts';
import { rowsOf } from '../../app/runs/run-progress.ts';
import { jobDescriptionOf, type LiveRunStatus, type RunList, type RunStatus } from '../../app/runs/run-status.ts';
import { counted, durationText, figure, instantText } from '../../core/base/text.ts';
import type { HeldPart, HeldRows } from '../../core/run/held-rows.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import type { RunSummary } from '../../core/run/run.ts';
import { holdText, outageText } from '../../core/run/service-hold.ts';
import { folded, tableText } from './table.ts';

export const noWorkerText =
  'No worker is running: the run stays queued until one starts. Start one with: wellsync worker';

export function runListText(
  { runs, service, warehouse }: RunList,
  jobs: readonly JobDescription[],
  width: number,
): string {
  const list = runs.length === 0 ? 'There are no such runs.' : listTable(runs, jobs, width);
  return `${list}\n\n${folded(placeText(service, warehouse), width)}`;
}

function listTable(runs: readonly RunStatus[], jobs: readonly JobDescription[], width: number): string {
  const columns = [{ head: 'run' }, { head: 'job' }, { head: 'state' }, { head: 'completed' }, { head: 'requested' }];
  return tableText(
    [...columns, { head: 'duration', align: 'right' }],
    runs.map((status) => cellsOf(status, jobDescriptionOf(status.run.job, jobs))),
    '',
    width,
  );
}

function cellsOf(status: RunStatus, job: JobDescription): readonly string[] {
  const { run } = status;
  return [run.runId, run.job, run.state, unitsText(status, job), instantText(run.requestedAtMs), tookText(run)];
}

function tookText({ startedAtMs, finishedAtMs }: RunSummary): string {
  return startedAtMs === undefined || finishedAtMs === undefined ? '' : durationText(finishedAtMs - startedAtMs);
}

/** Status of a run that has not ended. */
export function runStatusText(status: LiveRunStatus, jobs: readonly JobDescription[]): string {
  const { run, hold, outage } = status;
  const job = jobDescriptionOf(run.job, jobs);
  return [
    `Run ${run.runId}: ${run.job}`,
    placeText(run.service, status.warehouse),
    `${run.state === 'queued' ? 'Queued' : 'Running'}, requested at ${instantText(run.requestedAtMs)}.`,
    `Settled: ${unitsText(status, job)}${rowsText(status, job)}.`,
    ...(hold === undefined ? [] : [`On hold: ${holdText(hold)}. To send requests before: wellsync service release`]),
    ...(outage === undefined ? [] : [`Waiting: ${outageText(outage)}. One request after another tries.`]),
  ].join('\n');
}

function unitsText({ run, progress }: RunStatus, job: JobDescription): string {
  const total = run.settled?.units.total ?? run.unitCount ?? progress?.units;
  if (total === undefined) return 'not planned yet';
  const { one, many } = job.units;
  const settled = settledUnitsOf({ run, progress });
  if (settled === undefined) return counted(total, one, many);
  // What failed is settled, and not completed.
  return `${figure(settled - (run.settled?.units.failed ?? 0))} of ${counted(total, one, many)}`;
}

/** Empty for a job without rows. */
function rowsText({ progress }: RunStatus, job: JobDescription): string {
  if (job.record === undefined) return '';
  return `, ${counted(progress === undefined ? 0 : rowsOf(progress, job), 'row')} read`;
}

/** What is held, and of what. */
export function heldRowsText({ targets, rows, holds, parts }: HeldRows, width: number): string {
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
      instantText(part.sinceMs),
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

function daysText({ firstDay, lastDay }: HeldPart): string {
  return firstDay === lastDay ? (firstDay ?? '') : `${firstDay} to ${lastDay}`;
}
