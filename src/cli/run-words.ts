/** Decides what a run is called by: what it settles, its state in a sentence, and what to do next. Pure. */
import { dailyProductionJobName } from '../../jobs/daily-production.ts';
import { networkPipesJobName } from '../../jobs/network-pipes.ts';
import type { RunReport } from '../core/run.ts';
import { counted, figure, listed, spacedName } from './words.ts';

export interface UnitWords {
  readonly one: string;
  readonly many: string;
  /** What could not be done with them to the end. */
  readonly done: string;
  /** A run has never more than one. */
  readonly isSingle: boolean;
}

const unknownUnits: UnitWords = { one: 'unit', many: 'units', done: 'worked', isSingle: false };

const unitWords: Readonly<Record<string, UnitWords>> = {
  [dailyProductionJobName]: { one: 'well', many: 'wells', done: 'read', isSingle: false },
  [networkPipesJobName]: { one: 'file', many: 'files', done: 'sent', isSingle: true },
};

/** What the units of a job are to an operator. */
export function unitWordsOf(job: string): UnitWords {
  return unitWords[job] ?? unknownUnits;
}

/** One sentence, for every state that a run can end in. `exceptions` names the counts that make `done` less than plain. */
export function endingSentence(report: RunReport, exceptions: readonly string[]): string {
  const { one, many, done: doneWord, isSingle } = unitWordsOf(report.job);
  const { total, done, held, failed } = report.units;
  if (report.state === 'cancelled') {
    if (isSingle) return `Cancelled: ${counted(report.counts['rows'] ?? 0, 'row')} had been settled.`;
    return `Cancelled: ${figure(done + held)} of ${counted(total, one, many)} had been done.`;
  }
  if (report.stopped !== undefined) return `Failed: ${report.stopped.message}.`;
  if (report.state === 'failed') {
    const which = isSingle ? `the ${one}` : `${figure(failed)} of ${counted(total, one, many)}`;
    return `Failed: ${which} could not be ${doneWord} to the end.`;
  }
  const remarks = [
    ...(held > 0 ? [`${counted(held, one, many)} held`] : []),
    ...exceptions.flatMap((name) => {
      const count = report.counts[name] ?? 0;
      return count > 0 ? [`${counted(count, isSingle ? 'row' : 'record')} ${spacedName(name)}`] : [];
    }),
  ];
  const what = isSingle ? counted(report.counts['rows'] ?? 0, 'row') : counted(total, one, many);
  return remarks.length === 0 ? `Done: ${what}.` : `Done, with ${listed(remarks)}.`;
}

/** Commands that go on from here, each with what it does. */
export function nextSteps(report: RunReport): ReadonlyArray<readonly [command: string, does: string]> {
  const { one, many, isSingle } = unitWordsOf(report.job);
  const { failed, cancelled, held } = report.units;
  const steps: (readonly [string, string])[] = [];
  if (failed + cancelled > 0)
    steps.push([
      `wellsync runs retry ${report.runId}`,
      isSingle ? `goes on with the ${one} where it stopped` : `takes up the ${many} that are not done`,
    ]);
  if (held > 0)
    steps.push(['wellsync export daily-production … --allow-shrink', `lets the held ${many} lose their rows`]);
  if (['rejectedByUs', 'rejectedByService', 'failed'].some((name) => (report.counts[name] ?? 0) > 0)) {
    steps.push([`wellsync runs rejects ${report.runId} > rejects.csv`, 'gives what was rejected, to mend and to push']);
  }
  if ((report.counts['quarantined'] ?? 0) > 0) {
    steps.push(['wellsync query "FROM quarantine"', 'shows the records that broke the contract']);
  }
  return steps;
}
