/** `wellsync schedules`: shows and changes what workers start by themselves. */
import type { Command } from 'commander';
import type { TriggerOptions } from '../actions/schedules.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';
import { waitOption } from './start-options.ts';

export function addSchedulesCommand(program: Command, shell: Shell): void {
  const group = program.command('schedules').description('show and change what workers start by themselves');
  group
    .command('list')
    .description('show each schedule with its next tick, its last one and its last run')
    .addHelpText('after', examples(['wellsync schedules list', 'wellsync schedules list --json']))
    .action(
      actionOf(shell, async (invocation: Invocation<TriggerOptions>) =>
        (await import('../actions/schedules.ts')).printSchedules(invocation),
      ),
    );
  group
    .command('apply')
    .description('take the schedules of the configuration, if its revision is higher')
    .addHelpText('after', `${applyExplanation}${examples(['wellsync schedules apply'])}`)
    .action(
      actionOf(shell, async (invocation: Invocation<TriggerOptions>) =>
        (await import('../actions/schedules.ts')).applyFromConfiguration(invocation),
      ),
    );
  group
    .command('trigger')
    .argument('<name>', 'of the schedule')
    .description('start its run now; its ticks stay as they are')
    .addOption(waitOption())
    .addHelpText('after', `${triggerExplanation}${examples(['wellsync schedules trigger nightly --wait'])}`)
    .action(
      actionOf(shell, async (invocation: Invocation<TriggerOptions>) =>
        (await import('../actions/schedules.ts')).trigger(invocation),
      ),
    );
  group
    .command('pause')
    .argument('<name>', 'of the schedule')
    .description('skip its ticks until it is resumed; a run that is under way goes on')
    .addHelpText('after', examples(['wellsync schedules pause nightly']))
    .action(
      actionOf(shell, async (invocation: Invocation<TriggerOptions>) =>
        (await import('../actions/schedules.ts')).setPause(invocation, true),
      ),
    );
  group
    .command('resume')
    .argument('<name>', 'of the schedule')
    .description('start runs at its ticks again; those that were skipped are not run')
    .addHelpText('after', examples(['wellsync schedules resume nightly']))
    .action(
      actionOf(shell, async (invocation: Invocation<TriggerOptions>) =>
        (await import('../actions/schedules.ts')).setPause(invocation, false),
      ),
    );
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
