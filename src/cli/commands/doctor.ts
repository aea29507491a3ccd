/** `wellsync doctor`: checks every part by using it, and names remedies. */
import type { Command } from 'commander';
import type { DoctorOptions } from '../actions/doctor.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

export function addDoctorCommand(program: Command, shell: Shell): void {
  program
    .command('doctor')
    .description('check every part by using it, and say what to do')
    .option('--uwi <uwi>', 'a well of the service to ask for; else one that is known')
    .option('--live', 'only whether a worker is at work, by its last beat: for a probe')
    .addHelpText(
      'after',
      `${explanation}${examples(['wellsync doctor', 'wellsync doctor --json', 'wellsync doctor --live'])}`,
    )
    .action(
      actionOf(shell, async (invocation: Invocation<DoctorOptions>) =>
        (await import('../actions/doctor.ts')).examine(invocation),
      ),
    );
}

const explanation = `
One request with the token goes to the service, a key to Redis and away again, a
commit that is rolled back to the warehouse, and a file to each folder. A
warehouse that a worker of this installation holds is well.

--live sends no request and opens no warehouse. --quiet prints only what failed or
what is warned of, except that no worker is running.

Exit codes: 0, or 5 when a part failed; with --live 0, or 1 where no worker beats
`;
