/** Decides what a run is called by: what it settles, its state in a sentence, and what to do next. Pure. */
import { dailyProductionJobName, gapsJobName } from '../../jobs/daily-production.ts';
import { timeSeriesJobName } from '../../jobs/time-series.ts';
import { wellsJobName } from '../../jobs/wells.ts';
import type { RunReport } from '../core/run.ts';
import { counted, figure, listed, spacedName } from './words.ts';

export interface UnitWords {
  readonly one: string;
  readonly many: string;
}

const unitWords: ReadonlyMap<string, UnitWords> = new Map([
  [dailyProductionJobName, { one: 'well', many: 'wells' }],
  [gapsJobName, { one: 'window', many: 'windows' }],
  [timeSeriesJobName, { one: 'piece of equipment', many: 'pieces of equipment' }],
  [wellsJobName, { one: 'well', many: 'wells' }],
]);

/** What the units of a job are to an operator. */
export function unitWordsOf(job: string): UnitWords {
  return unitWords.get(job) ?? { one: 'unit', many: 'units' };
}

/** One sentence, for every state that a run can end in. `exceptions` names the counts that make `done` less than plain. */
export function endingSentence(report: RunReport, exceptions: readonly string[]): string {
  const { one, many } = unitWordsOf(report.job);
  const { total, done, held, failed } = report.units;
  if (report.state === 'cancelled') {
    return `Cancelled: ${figure(done + held)} of ${counted(total, one, many)} had been done.`;
  }
  if (report.stopped !== undefined) return `Failed: ${report.stopped.message}.`;
  if (report.state === 'failed')
    return `Failed: ${figure(failed)} of ${counted(total, one, many)} could not be read to the end.`;
  const remarks = [
    ...(held > 0 ? [`${counted(held, one, many)} held`] : []),
    ...exceptions.flatMap((name) => {
      const count = report.counts[name] ?? 0;
      return count > 0 ? [`${counted(count, 'record')} ${spacedName(name)}`] : [];
    }),
  ];
  return remarks.length === 0 ? `Done: ${counted(total, one, many)}.` : `Done, with ${listed(remarks)}.`;
}

/** Commands that go on from here, each with what it does. */
export function nextSteps(report: RunReport): ReadonlyArray<readonly [command: string, does: string]> {
  const { many } = unitWordsOf(report.job);
  const { failed, cancelled, held } = report.units;
  const steps: (readonly [string, string])[] = [];
  if (failed + cancelled > 0)
    steps.push([`wellsync runs retry ${report.runId}`, `takes up the ${many} that are not done`]);
  if (held > 0) steps.push([`wellsync ${report.job} … --allow-shrink`, `lets the held ${many} lose their rows`]);
  if ((report.counts['quarantined'] ?? 0) > 0) {
    steps.push(['wellsync query "FROM quarantine"', 'shows the records that broke the contract']);
  }
  return steps;
}
