/** Decides what a run is called by: what it settles, its state in a sentence, and what to do next. Pure. */
import { cleanupJobName } from '../../jobs/cleanup.ts';
import { dailyProductionJobName } from '../../jobs/daily-production.ts';
import type { RunReport } from '../core/run.ts';
import { counted, figure, listed, spacedName } from './words.ts';

export interface UnitWords {
  readonly one: string;
  readonly many: string;
  /** What is true of those that failed: `could not be read to the end`. */
  readonly failing: string;
  /** The state of held ones, as the operator knows it. */
  readonly held: string;
}

const unitWords: ReadonlyMap<string, UnitWords> = new Map([
  [dailyProductionJobName, { one: 'well', many: 'wells', failing: 'could not be read to the end', held: 'held' }],
  [cleanupJobName, { one: 'target', many: 'targets', failing: 'could not be deleted', held: 'refused or still there' }],
]);

/** What the units of a job are to an operator. */
export function unitWordsOf(job: string): UnitWords {
  return unitWords.get(job) ?? { one: 'unit', many: 'units', failing: 'failed', held: 'held' };
}

/** One sentence, for every state that a run can end in. `exceptions` names the counts that make `done` less than plain. */
export function endingSentence(report: RunReport, exceptions: readonly string[]): string {
  const { one, many, failing } = unitWordsOf(report.job);
  const { total, done, held, failed } = report.units;
  if (report.state === 'cancelled') {
    return `Cancelled: ${figure(done + held)} of ${counted(total, one, many)} had been done.`;
  }
  if (report.stopped !== undefined) return `Failed: ${report.stopped.message}.`;
  if (report.state === 'failed') return `Failed: ${figure(failed)} of ${counted(total, one, many)} ${failing}.`;
  const remarks = remarksOf(report, exceptions);
  return remarks.length === 0 ? `Done: ${counted(total, one, many)}.` : `Done, with ${listed(remarks)}.`;
}

/** A job that counts why its units are held has said so by its counts. */
function remarksOf(report: RunReport, exceptions: readonly string[]): readonly string[] {
  const { one, many } = unitWordsOf(report.job);
  const { held } = report.units;
  const isCleanup = report.job === cleanupJobName;
  return [
    ...(held > 0 && !isCleanup ? [`${counted(held, one, many)} held`] : []),
    ...exceptions.flatMap((name) => {
      const count = report.counts[name] ?? 0;
      return count > 0
        ? [`${isCleanup ? counted(count, one, many) : counted(count, 'record')} ${spacedName(name)}`]
        : [];
    }),
  ];
}

/** Commands that go on from here, each with what it does. */
export function nextSteps(report: RunReport): ReadonlyArray<readonly [command: string, does: string]> {
  const { many } = unitWordsOf(report.job);
  const { failed, cancelled, total } = report.units;
  const steps: (readonly [string, string])[] = [];
  if (failed + cancelled > 0)
    steps.push([`wellsync runs retry ${report.runId}`, `takes up the ${many} that are not done`]);
  if (report.job === cleanupJobName && total > 0)
    steps.push([`wellsync audit deletions --run ${report.runId}`, 'shows what became of every target']);
  return [...steps, ...stepsOfExport(report)];
}

function stepsOfExport({ job, units: { held }, counts }: RunReport): ReadonlyArray<readonly [string, string]> {
  const { many } = unitWordsOf(job);
  const steps: (readonly [string, string])[] = [];
  if (held > 0 && job === dailyProductionJobName)
    steps.push(['wellsync export daily-production … --allow-shrink', `lets the held ${many} lose their rows`]);
  if ((counts['quarantined'] ?? 0) > 0) {
    steps.push(['wellsync query "FROM quarantine"', 'shows the records that broke the contract']);
  }
  return steps;
}
