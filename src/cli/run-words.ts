/** Decides what a run is called by: what it settles, its state in a sentence, and what to do next. Pure. */
import { cleanupJobName } from '../../jobs/cleanup.ts';
import { dailyProductionJobName, gapsJobName } from '../../jobs/daily-production.ts';
import { networkPipesJobName } from '../../jobs/network-pipes.ts';
import { timeSeriesJobName } from '../../jobs/time-series.ts';
import { wellsJobName } from '../../jobs/wells.ts';
import type { Fault } from '../core/errors.ts';
import type { Counts, RunReport } from '../core/run.ts';
import { counted, figure, listed, spacedName } from './words.ts';
import type { NextStep } from './next-steps.ts';

/** What the units of a job are to an operator. */
export interface UnitWords {
  readonly one: string;
  readonly many: string;
  /** A run has never more than one: its rows are told in its stead. */
  readonly isSingle: boolean;
  /** What is read of a unit and counted; undefined where the counts are of the units themselves. */
  readonly record: string | undefined;
  /** What is true of those that failed: `could not be read to the end`. */
  readonly failing: string;
  /** The state of held ones. */
  readonly held: string;
}

interface JobWords extends UnitWords {
  /** What the operator may do after its run, beyond taking up what is not done. */
  nextSteps(report: RunReport): readonly NextStep[];
}

const unknownJob: JobWords = {
  one: 'unit',
  many: 'units',
  isSingle: false,
  record: 'record',
  failing: 'failed',
  held: 'held',
  nextSteps: () => [],
};

/** Of a job that reads. */
const exportOf = (one: string, many: string): JobWords => ({
  one,
  many,
  isSingle: false,
  record: 'record',
  failing: 'could not be read to the end',
  held: 'held',
  nextSteps: stepsOfExport,
});

const jobWords: ReadonlyMap<string, JobWords> = new Map([
  [dailyProductionJobName, exportOf('well', 'wells')],
  [gapsJobName, exportOf('window', 'windows')],
  [timeSeriesJobName, exportOf('piece of equipment', 'pieces of equipment')],
  [wellsJobName, exportOf('well', 'wells')],
  [
    networkPipesJobName,
    {
      one: 'file',
      many: 'files',
      isSingle: true,
      record: 'row',
      failing: 'could not be sent to the end',
      held: 'held',
      nextSteps: stepsOfPush,
    },
  ],
  [
    cleanupJobName,
    {
      one: 'target',
      many: 'targets',
      isSingle: false,
      record: undefined,
      failing: 'could not be deleted',
      held: 'not gone',
      nextSteps: stepsOfCleanup,
    },
  ],
]);

/** Also for a job that only another version knows. */
export function unitWordsOf(job: string): UnitWords {
  return wordsOf(job);
}

function wordsOf(job: string): JobWords {
  return jobWords.get(job) ?? unknownJob;
}

/** One sentence, for every state that a run can end in. `exceptions` names the counts that make `done` less than plain. */
export function endingSentence(report: RunReport, exceptions: readonly string[]): string {
  const { one, many, failing, isSingle } = unitWordsOf(report.job);
  const { total, done, held, failed } = report.units;
  const rows = counted(report.counts['rows'] ?? 0, 'row');
  const units = counted(total, one, many);
  if (report.state === 'cancelled') {
    return isSingle
      ? `Cancelled: ${rows} had been settled.`
      : `Cancelled: ${figure(done + held)} of ${units} had been done.`;
  }
  const fault = wholeFault(report);
  if (fault !== undefined) return `Failed: ${fault.message}.`;
  if (report.state === 'failed') return `Failed: ${figure(failed)} of ${units} ${failing}.`;
  const remarks = remarksOf(report, exceptions);
  return remarks.length === 0 ? `Done: ${isSingle ? rows : units}.` : `Done, with ${listed(remarks)}.`;
}

/** Why the run stopped or, where it has a single unit, why that failed: the ending sentence tells it. */
export function wholeFault({ job, stopped, failures }: RunReport): Fault | undefined {
  return stopped ?? (unitWordsOf(job).isSingle ? failures[0] : undefined);
}

/** Where the counts are of the units, they have said which are held, and why. */
function remarksOf({ job, units: { held }, counts }: RunReport, exceptions: readonly string[]): readonly string[] {
  const { one, many, record } = unitWordsOf(job);
  const heldRemark = held > 0 && record !== undefined ? [`${counted(held, one, many)} held`] : [];
  const told = exceptions.filter((name) => isCounted(counts, name));
  const countOf = (name: string): string => {
    const count = counts[name] ?? 0;
    return record === undefined ? counted(count, one, many) : counted(count, record);
  };
  return [...heldRemark, ...told.map((name) => `${countOf(name)} ${spacedName(name)}`)];
}

/** Commands that go on from here, each with what it does. */
export function nextSteps(report: RunReport): readonly NextStep[] {
  const { one, many, isSingle, ...words } = wordsOf(report.job);
  const { failed, cancelled } = report.units;
  const does = isSingle ? `goes on with the ${one} where it stopped` : `takes up the ${many} that are not done`;
  // A file that is wrong in itself is another one when it is mended: it takes a push of its own.
  const isWrong = isSingle && report.failures[0]?.code === 'usage';
  const mayRetry = failed + cancelled > 0 && !isWrong;
  const retry: readonly NextStep[] = mayRetry ? [[`wellsync runs retry ${report.runId}`, does]] : [];
  return [...retry, ...words.nextSteps(report)];
}

function stepsOfExport({ job, units: { held }, counts }: RunReport): readonly NextStep[] {
  const steps: NextStep[] = [];
  if (held > 0) steps.push([`wellsync ${job} … --allow-shrink`, `lets the held ${wordsOf(job).many} lose their rows`]);
  if (isCounted(counts, 'quarantined')) {
    steps.push(['wellsync query "FROM quarantine"', 'shows the records that broke the contract']);
  }
  return steps;
}

function stepsOfPush({ runId, counts }: RunReport): readonly NextStep[] {
  const hasRejects = ['rejectedByUs', 'rejectedByService', 'failed'].some((name) => isCounted(counts, name));
  if (!hasRejects) return [];
  return [[`wellsync runs rejects ${runId} > rejects.csv`, 'gives what was rejected, to mend and to push']];
}

function stepsOfCleanup({ runId, units: { total }, counts }: RunReport): readonly NextStep[] {
  if (total === 0) return [];
  const audit: NextStep = [`wellsync audit deletions --run ${runId}`, 'lists every target'];
  const isUndone = isCounted(counts, 'refused') || isCounted(counts, 'stillThere');
  return isUndone ? [audit, ['wellsync cleanup …', 'plans anew what is not gone']] : [audit];
}

function isCounted(counts: Counts, name: string): boolean {
  return (counts[name] ?? 0) > 0;
}
