/** `wellsync schedules`: shows and changes what workers start by themselves. */
import type { ScheduleDocument, ScheduleList } from '../../app/schedules/schedule.ts';
import { counted, instantText } from '../../core/base/text.ts';
import type { ExitCode } from '../../core/run/exit-code.ts';
import type { Call, ProgramCommand, StartOptions } from '../command.ts';
import { operatorName } from '../process/operator.ts';

export function addSchedulesCommand(program: ProgramCommand): void {
  const group = program.command('schedules').description('show and change what workers start by themselves');
  group
    .command('list')
    .description('show each schedule with its next tick, its last one and its last run')
    .explained('', [
      'wellsync schedules list',
      'wellsync schedules list --json',
      'wellsync runs list --schedule nightly',
    ])
    .runs(printSchedules);
  group
    .command('apply')
    .description('take the schedules of the configuration, if its revision is higher')
    .explained(applyExplanation, ['wellsync schedules apply'])
    .runs(applyFromConfiguration);
  group
    .command('trigger')
    .argument('<name>', 'of the schedule')
    .description('start its run now; its ticks stay as they are')
    .follows()
    .explained(triggerExplanation, ['wellsync schedules trigger nightly --wait'])
    .runs(trigger);
  group
    .command('pause')
    .argument('<name>', 'of the schedule')
    .description('skip its ticks until it is resumed; a run that is under way goes on')
    .explained('', ['wellsync schedules pause nightly'])
    .runs((call: Call) => setPause(call, true));
  group
    .command('resume')
    .argument('<name>', 'of the schedule')
    .description('start runs at its ticks again; those that were skipped are not run')
    .explained('', ['wellsync schedules resume nightly'])
    .runs((call: Call) => setPause(call, false));
}

const applyExplanation = `
A worker does the same when it starts. A schedule that left the configuration is
removed; one that stays keeps its pause and its last tick. The warehouse keeps the
revision: a configuration with a lower one changes nothing, and each change needs a
higher one.
`;

const triggerExplanation = `
Starts nothing where a run for the same work has not ended. A pause does not count.
`;

async function printSchedules(call: Call): Promise<void> {
  const { listSchedules } = await import('../../app/schedules/schedule.ts');
  const { output } = call;
  await using app = await call.openStored();
  const list = await listSchedules(app, Date.now());
  await output.print(schedulesText(list, call), list);
}

async function applyFromConfiguration(call: Call): Promise<void> {
  const { applyConfigured } = await import('../../app/schedules/apply-schedules.ts');
  const { output } = call;
  await using app = await call.openApp();
  const applied = await applyConfigured(app, app.config);
  if ('refused' in applied) throw applied.refused;
  const { isRepeat, revision, names, isQueued } = applied;
  if (!isQueued) output.say('Redis does not answer. The schedules are kept: a worker takes them from the warehouse.');
  const had = isRepeat ? 'had been applied before' : 'applied';
  const text = `Revision ${revision} with ${counted(names.length, 'schedule')}: ${had}.`;
  await output.report(text, { state: isRepeat ? 'same' : 'applied', revision, schedules: names });
}

async function trigger(call: Call<Pick<StartOptions, 'wait'>>): Promise<ExitCode> {
  const { scheduleNamed } = await import('../../app/schedules/schedule.ts');
  const { scheduledRequest } = await import('../../app/schedules/scheduler.ts');
  const { startAndCarryOut } = await import('../carry-out.ts');
  const { options, output, args } = call;
  await using app = await call.openStored();
  const { schedules } = await app.ledger.schedules.read();
  const schedule = scheduleNamed(args[0] ?? '', schedules);
  const request = await scheduledRequest(schedule, app, { requestedBy: operatorName(), nowMs: Date.now() });
  const title = `${request.job}, by schedule ${schedule.stored.name}`;
  const once = { output, options: { ...options, skipIfRunning: true } } as const;
  return await startAndCarryOut(once, app, request, { title });
}

async function setPause(call: Call, isPaused: boolean): Promise<void> {
  const { pauseSchedule, scheduleNamed } = await import('../../app/schedules/schedule.ts');
  const { output, args } = call;
  await using app = await call.openStored();
  const { stored } = scheduleNamed(args[0] ?? '', (await app.ledger.schedules.read()).schedules);
  await pauseSchedule(app, stored, isPaused ? operatorName() : undefined);
  const { name } = stored;
  const text = isPaused ? `${name} is paused: its ticks are skipped.` : `${name} is resumed.`;
  await output.report(text, { name, isPaused });
}

function schedulesText({ revision, configuredRevision, schedules }: ScheduleList, { output, layout }: Call): string {
  const differs = configuredRevision !== null && configuredRevision !== revision;
  const which = `of revision ${configuredRevision}, the warehouse has ${revision ?? 'none'}: wellsync schedules apply`;
  const remark = differs ? [`The configuration is ${which}`] : [];
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
    lastRunText(each),
  ]);
  const table = layout.tableText(
    heads.map((head) => ({ head })),
    rows,
    '',
    output.width,
  );
  return [table, ...remark].join('\n');
}

function timeText(instant: string | null): string {
  return instant === null ? '' : instantText(Date.parse(instant));
}

function lastRunText({ runs: [last] }: ScheduleDocument): string {
  if (last === undefined) return '';
  return `${last.runId} ${last.state}${last.byHand === null ? '' : ', by hand'}`;
}

function outcomeText(tick: ScheduleDocument['lastTick']): string {
  if (tick === null) return '';
  return tick.because === null ? tick.outcome : `${tick.outcome}: ${tick.because}`;
}
