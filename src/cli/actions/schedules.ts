import { applyConfigured } from '../../app/schedules/apply-schedules.ts';
import { listSchedules, pauseSchedule, scheduleNamed } from '../../app/schedules/schedule.ts';
import { scheduledRequest } from '../../app/schedules/scheduler.ts';
import { counted } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { StartOptions } from '../commands/start-options.ts';
import { schedulesText } from '../text/schedules.ts';
import { startAndCarryOut } from './carry-out.ts';
import { configOf } from './config.ts';
import { appFor, openApp } from './open-app.ts';
import { operatorName } from './operator-name.ts';

export type TriggerOptions = Pick<StartOptions, 'wait'>;

type Schedules = Invocation<TriggerOptions>;

export async function printSchedules(invocation: Schedules): Promise<ExitCode> {
  const { output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const list = await listSchedules(app, Date.now());
  if (output.json) await output.document(list);
  else await output.print(schedulesText(list, output.width));
  return exitCodes.done;
}

export async function applyFromConfiguration(invocation: Schedules): Promise<ExitCode> {
  const { output } = invocation;
  await using app = appFor(configOf(invocation), output);
  const applied = await applyConfigured(app, app.config);
  if ('refused' in applied) throw applied.refused;
  const { isRepeat, revision, names, isQueued } = applied;
  if (!isQueued) output.say('Redis does not answer. The schedules are kept: a worker takes them from the warehouse.');
  if (output.json) await output.document({ state: isRepeat ? 'same' : 'applied', revision, schedules: names });
  else {
    const had = isRepeat ? 'had been applied before' : 'applied';
    await output.report(`Revision ${revision} with ${counted(names.length, 'schedule')}: ${had}.`);
  }
  return exitCodes.done;
}

export async function trigger(invocation: Schedules): Promise<ExitCode> {
  const { options, output, args } = invocation;
  await using app = openApp(configOf(invocation), output);
  const { schedules } = await app.ledger.schedules.read();
  const schedule = scheduleNamed(args[0] ?? '', schedules);
  const request = await scheduledRequest(schedule, app, { requestedBy: operatorName(), nowMs: Date.now() });
  const title = `${request.job}, by schedule ${schedule.stored.name}`;
  return await startAndCarryOut({ ...invocation, options: { ...options, skipIfRunning: true } }, app, request, {
    title,
  });
}

export async function setPause(invocation: Schedules, isPaused: boolean): Promise<ExitCode> {
  const { output, args } = invocation;
  await using app = openApp(configOf(invocation), output);
  const { stored } = scheduleNamed(args[0] ?? '', (await app.ledger.schedules.read()).schedules);
  await pauseSchedule(app, stored, isPaused ? operatorName() : undefined);
  const { name } = stored;
  if (output.json) await output.document({ name, isPaused });
  else await output.report(isPaused ? `${name} is paused: its ticks are skipped.` : `${name} is resumed.`);
  return exitCodes.done;
}
