/** What became of the days that a run was to fill: whether the warehouse has a row of each of them now. */
import { dailyProductionJobName, gapsJobName } from '../../../jobs/daily-production/job.ts';
import { counted, listed } from '../../core/base/text.ts';
import { type DayInterval, subtractDays } from '../../core/daily/coverage.ts';
import { daysText } from '../../core/daily/well-standing.ts';
import type { RunRecord } from '../../core/run/run.ts';
import { dayAt } from '../../core/time/production-day.ts';
import type { WellHistory } from '../../warehouse/port/well-history.ts';
import type { App } from '../app.ts';

export interface FilledWell {
  readonly uwi: string;
  /** Days that the run was to read. */
  readonly days: number;
  /** Those of them without a row. */
  readonly left: number;
  /** What of the gap is left, in one sentence. */
  readonly sentence: string;
}

const mostSpans = 3;

/** The wells of a backfill over some days that has ended, each with what is left; none of a run of many wells. */
export async function filledWells(app: App, run: RunRecord): Promise<readonly FilledWell[]> {
  const { job, report, namedTargets: uwis } = run;
  const isReading = job === dailyProductionJobName || job === gapsJobName;
  const whole = daysOf(run, app.config.timeZone);
  if (!isReading || report?.state !== 'done' || uwis.length === 0 || whole === undefined) return [];
  const filled: FilledWell[] = [];
  for (const uwi of uwis) {
    const history = await app.warehouse.coverage.history(uwi, { columns: [], mostQuarantined: 0, mostReads: 0 });
    filled.push(filledWell(uwi, whole, history));
  }
  return filled;
}

function filledWell(
  uwi: string,
  whole: DayInterval,
  { present, quarantinedDays }: Pick<WellHistory, 'present' | 'quarantinedDays'>,
): FilledWell {
  const gaps = subtractDays(whole, present);
  const left = daysIn(gaps);
  const days = whole.toDay - whole.fromDay;
  if (left === 0) {
    const each = days === 1 ? 'a row for the day' : `a row for each of the ${counted(days, 'day')}`;
    return { uwi, days, left, sentence: `The gap is closed: the warehouse has ${each}.` };
  }
  const spans = gaps.slice(0, mostSpans).map(daysText);
  const more = gaps.length > mostSpans ? [counted(gaps.length - mostSpans, 'more stretch', 'more stretches')] : [];
  const which = left === days && gaps.length === 1 ? 'that' : listed([...spans, ...more]);
  const when = which === 'that' ? (days === 1 ? 'that day' : `those ${counted(days, 'day')}`) : which;
  const quarantined = left - daysIn(gaps.flatMap((gap) => subtractDays(gap, quarantinedDays)));
  const why =
    quarantined === 0
      ? `The service has nothing for ${when}`
      : `There is no row for ${when}: what the service has of ${counted(quarantined, 'day')} is in quarantine`;
  return { uwi, days, left, sentence: `${why}; the gap remains.` };
}

function daysIn(stretches: readonly DayInterval[]): number {
  return stretches.reduce((sum, { fromDay, toDay }) => sum + toDay - fromDay, 0);
}

/** The days of the run's bounds that had ended when it was asked for; undefined for a run without both. */
function daysOf({ params, requestedAtMs }: RunRecord, timeZone: string): DayInterval | undefined {
  const { fromMs, toMs } = (params ?? {}) as { readonly fromMs?: unknown; readonly toMs?: unknown };
  if (typeof fromMs !== 'number' || typeof toMs !== 'number') return undefined;
  const fromDay = dayAt(fromMs, timeZone);
  const lastDay = dayAt(Math.min(toMs, requestedAtMs) - 1, timeZone);
  return fromDay === undefined || lastDay === undefined || lastDay < fromDay
    ? undefined
    : { fromDay, toDay: lastDay + 1 };
}
