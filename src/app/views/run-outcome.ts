/** The outcome of a run as a sentence, and the next steps, from the description of its job. Pure. */
import type { NextAction } from '../../core/base/action.ts';
import type { Fault } from '../../core/base/errors.ts';
import { exceptionsIn, type JobDescription, unknownJob, wholeOf } from '../../core/run/job-description.ts';
import type { RunFailure, RunReport } from '../../core/run/run.ts';
import { counted, figure, listed } from '../../core/base/text.ts';

/** The description of a job by name; a neutral one for a job that only another version knows. */
export function jobDescriptionOf(name: string, jobs: readonly JobDescription[]): JobDescription {
  return jobs.find((job) => job.name === name) ?? unknownJob(name);
}

/** One sentence, for every state in which a run can end. */
export function outcomeSentence(report: RunReport, job: JobDescription): string {
  const { one, many, failing, isSingle } = job.units;
  const { total, done, held, failed } = report.units;
  const rows = counted(report.counts[wholeOf(job) ?? ''] ?? 0, 'row');
  const units = counted(total, one, many);
  if (report.state === 'interrupted') {
    const settled = isUnplanned(report) ? 'nothing' : `${figure(done + held)} of ${units}`;
    return `Interrupted by the copying of the warehouse: ${settled} had been done. The run goes on in the original.`;
  }
  if (report.state === 'cancelled') {
    if (isUnplanned(report)) return 'Cancelled before it was planned: nothing was done.';
    return isSingle
      ? `Cancelled: ${rows} had been settled.`
      : `Cancelled: ${figure(done + held)} of ${units} had been done.`;
  }
  const fault = wholeFault(report, job);
  if (fault !== undefined) return `Failed: ${fault.message}${fault.message.endsWith('?') ? '' : '.'}`;
  if (report.state === 'failed') return `Failed: ${figure(failed)} of ${units} ${failing}.`;
  const remarks = exceptionsIn(report, job);
  return remarks.length === 0 ? `Done: ${isSingle ? rows : units}.` : `Done, with ${listed(remarks)}.`;
}

/** The run ended before its units were known: its job takes no targets, and its plan was not made. */
export function isUnplanned({ state, units }: Pick<RunReport, 'state' | 'units'>): boolean {
  return state !== 'done' && units.total === 0;
}

/** The fault that stopped the run or, for a single unit, the fault of that unit: the outcome sentence shows it. */
export function wholeFault({ stopped, failures }: RunReport, { units }: JobDescription): Fault | undefined {
  return stopped ?? (units.isSingle ? failures[0] : undefined);
}

/**
 * Why a unit failed, without its target, which begins the message or stands in the address of a request: the same for all
 * that failed alike.
 */
export function causeOf({ target, message }: Pick<RunFailure, 'target' | 'message'>): string {
  return withoutTarget(target, message).replaceAll(`/${encodeURIComponent(target)}`, '/…');
}

/** A message that is said of the target: it need not begin with it. */
export function withoutTarget(target: string, message: string): string {
  return message.startsWith(`${target}: `) ? message.slice(target.length + 2) : message;
}

/** What the operator can do after the run, most useful first. */
export function nextSteps(report: RunReport, job: JobDescription): readonly NextAction[] {
  const { failed, cancelled, unknown = 0 } = report.units;
  // A file with a fault becomes another file when it is corrected, which needs a push of its own.
  const isWrong = job.units.isSingle && report.failures[0]?.code === 'usage';
  // A run that failed because too much is unknown may find it once the address is right.
  const isUnfound = report.state === 'failed' && unknown > 0;
  const mayRetry = (failed + cancelled > 0 || isUnfound || isUnplanned(report)) && !isWrong;
  const retry: readonly NextAction[] = mayRetry ? [{ kind: 'retry-run', runId: report.runId }] : [];
  return [...retry, ...(job.nextSteps?.(report) ?? [])];
}

/** The source and the destination of a run, without secrets (G11). */
export function placeText(service: string | undefined, warehouse: string): string {
  return `Service ${service ?? 'not known'}, warehouse ${warehouse}.`;
}
