import type { ScheduleDocument, ScheduleList } from '../../app/schedules/schedule.ts';
import { instantText } from '../../core/base/text.ts';
import { tableText } from './table.ts';

export function schedulesText({ revision, configuredRevision, schedules }: ScheduleList, width: number): string {
  const differs = configuredRevision !== null && configuredRevision !== revision;
  const remark = differs
    ? [
        `The configuration is of revision ${configuredRevision}, the warehouse has ${revision ?? 'none'}: wellsync schedules apply`,
      ]
    : [];
  if (schedules.length === 0) return ['There are no schedules.', ...remark].join('\n');
  const heads = ['schedule', 'cron', 'zone', 'job', 'next', 'last tick', 'outcome', 'last run'];
  const rows = schedules.map((each) => [
    each.name,
    each.cron,
    each.timeZone,
    each.job,
    each.paused === null ? timeText(each.next) : `paused by ${each.paused.by}`,
    timeText(each.lastTick?.due ?? null),
    outcomeText(each.lastTick),
    each.lastRun === null ? '' : `${each.lastRun.runId} ${each.lastRun.state ?? ''}`,
  ]);
  const table = tableText(
    heads.map((head) => ({ head })),
    rows,
    '',
    width,
  );
  return [table, ...remark].join('\n');
}

function timeText(instant: string | null): string {
  return instant === null ? '' : instantText(Date.parse(instant));
}

function outcomeText(tick: ScheduleDocument['lastTick']): string {
  if (tick === null) return '';
  return tick.because === null ? tick.outcome : `${tick.outcome}: ${tick.because}`;
}
