/** The text of runs for a terminal: a line a run, the status of one, or what they hold. Pure. */
import { type HeldDocument, locationText, type RunDocument } from '../../app/runs/run-document.ts';
import { rowsOf } from '../../app/runs/run-progress.ts';
import { jobDescriptionOf, type LiveRunDocument, type RunListDocument } from '../../app/runs/run-status.ts';
import type { HeldBack } from '../../app/service/service-view.ts';
import { counted, durationText, figure, instantText } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import type { QueueKind } from '../../core/run/queue-state.ts';
import { holdText, outageText } from '../../core/run/service-hold.ts';
import { folded, tableText } from './table.ts';

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
