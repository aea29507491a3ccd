/** The progress of a run as figures and as a line of text. Pure. */
import type { RunProgress, UnitReading } from '../../queue/port.ts';
import { type JobDescription, rejectedOf, wholeOf } from '../../core/run/job-description.ts';
import { counted, figure, roughDurationText } from '../../core/base/text.ts';

/** A progress and the time at which it was read. */
export interface ProgressSample {
  readonly progress: RunProgress;
  readonly atMs: number;
}

export interface ProgressFigures {
  readonly units: number;
  readonly settledUnits: number;
  /** Units that were read to their end and wait for their merge. */
  readonly readUnits: number;
  readonly rows: number;
  readonly rejected: number;
  /** Since the first sample; undefined until there is a basis for it. */
  readonly rowsPerSecond: number | undefined;
  readonly leftMs: number | undefined;
}

/** Computes the rate since `first`: a run that was half done when it was first sampled has not done that half since. */
export function progressOf(first: ProgressSample, last: ProgressSample, job: JobDescription): ProgressFigures {
  const elapsedMs = last.atMs - first.atMs;
  const doneSince = doneUnitsOf(last.progress) - doneUnitsOf(first.progress);
  const rowsSince = rowsReadOf(last.progress, job) - rowsReadOf(first.progress, job);
  const openUnits = last.progress.units - doneUnitsOf(last.progress);
  return {
    units: last.progress.units,
    settledUnits: last.progress.settledUnits,
    readUnits: last.progress.reading.filter(({ isRead }) => isRead).length,
    rows: rowsReadOf(last.progress, job),
    rejected: rejectedOf(job, last.progress.counts),
    rowsPerSecond: paceOf(rowsSince, elapsedMs),
    leftMs: elapsedMs > 0 && doneSince > 0 ? (elapsedMs * openUnits) / doneSince : undefined,
  };
}

/** How far an attempt of a run is, and how fast it goes. */
export interface LiveProgress {
  /** From 0 to 1: settled units, and what of the others is read. */
  readonly share: number;
  readonly rows: number;
  readonly rowsPerSecond: number | undefined;
  readonly leftMs: number | undefined;
}

type ProgressParts = Pick<RunProgress, 'units' | 'settledUnits' | 'counts' | 'underWay' | 'reading'>;

/** `before`: what earlier attempts had done, which this one has not done in its time. */
export function liveProgressOf(
  progress: ProgressParts,
  job: JobDescription,
  {
    elapsedMs,
    before,
  }: { readonly elapsedMs: number; readonly before: { readonly units: number; readonly rows: number } },
): LiveProgress {
  const done = doneUnitsOf(progress);
  const rows = rowsReadOf(progress, job);
  const doneSince = done - before.units;
  return {
    share: progress.units === 0 ? 0 : Math.min(1, done / progress.units),
    rows,
    rowsPerSecond: paceOf(rows - before.rows, elapsedMs),
    leftMs: elapsedMs > 0 && doneSince > 0 ? (elapsedMs * (progress.units - done)) / doneSince : undefined,
  };
}

/** A shorter or smaller run says nothing of the speed. */
const leastPaced = { rows: 1_000, elapsedMs: 1_000 } as const;

/**
 * Rows a second, the one definition for every face: rows read, over the time in which they were. Undefined for a run of
 * less than 1,000 rows or 1 second.
 */
export function paceOf(rows: number, elapsedMs: number): number | undefined {
  if (rows < leastPaced.rows || elapsedMs < leastPaced.elapsedMs) return undefined;
  return (rows * 1_000) / elapsedMs;
}

/** The share of reading in the work on a unit that is read and then merged: an estimate. */
const readingShare = 0.9;

/** Settled units, plus the finished share of running units, where it is known. */
export function doneUnitsOf({
  settledUnits,
  underWay,
  reading,
}: Pick<RunProgress, 'settledUnits' | 'underWay' | 'reading'>): number {
  const advanced = underWay.reduce((sum, { done, whole }) => sum + (whole ? Math.min(1, done / whole) : 0), 0);
  return settledUnits + advanced + reading.reduce((sum, unit) => sum + readingShare * readPartOf(unit), 0);
}

/** From 0 to 1. */
function readPartOf({ rows, expectedRows, isRead }: UnitReading): number {
  if (isRead) return 1;
  return expectedRows ? Math.min(1, rows / expectedRows) : 0;
}

/** Rows read so far, whether or not they are merged. */
function rowsReadOf(progress: Pick<RunProgress, 'reading' | 'counts'>, job: JobDescription): number {
  return progress.reading.reduce((sum, { rows }) => sum + rows, rowsOf(progress, job));
}

/** Rows read so far of what is settled or durable, from the service or from a file. */
export function rowsOf({ counts }: Pick<RunProgress, 'counts'>, job: JobDescription): number {
  return counts[wholeOf(job) ?? ''] ?? 0;
}

/**
 * `120 of 200 wells, 365,000 rows, 29,876 rows/s, 4 s left`. Units are omitted for jobs with a single unit, rows for
 * jobs without rows.
 */
export function progressText(progress: ProgressFigures, job: JobDescription): string {
  return progressParts(progress, job).join(', ');
}

/** The parts of the line, the most important first. */
export function progressParts(progress: ProgressFigures, { units, record }: JobDescription): readonly string[] {
  const { rejected, rowsPerSecond, leftMs } = progress;
  return [
    ...(units.isSingle
      ? []
      : [`${figure(progress.settledUnits)} of ${counted(progress.units, units.one, units.many)}${readText(progress)}`]),
    ...(record === undefined ? [] : [counted(progress.rows, 'row')]),
    ...(rejected === 0 ? [] : [`${figure(rejected)} rejected`]),
    // The report has the speed of a run that has ended.
    ...(record === undefined || rowsPerSecond === undefined || leftMs === 0 ? [] : [`${figure(rowsPerSecond)} rows/s`]),
    ...(leftMs === undefined || leftMs === 0 ? [] : [`${roughDurationText(leftMs)} left`]),
  ];
}

function readText({ readUnits }: ProgressFigures): string {
  return readUnits === 0 ? '' : ` (${figure(readUnits)} more read)`;
}
