/** `wellsync service`: shows and changes the service that the warehouse belongs to. */
import type { ServiceFlags } from '../actions/service.ts';
import type { Command } from 'commander';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

export function addServiceCommand(program: Command, shell: Shell): void {
  const group = program.command('service').description('show or change the service that the warehouse belongs to');
  group
    .command('show')
    .description('show the service of the warehouse, and its other names')
    .addHelpText('after', examples(['wellsync service show', 'wellsync service show --json']))
    .action(
      actionOf(shell, async (invocation: Invocation<ServiceFlags>) =>
        (await import('../actions/service.ts')).showService(invocation),
      ),
    );
  group
    .command('release')
    .description('send requests although the service asked all to wait (Retry-After)')
    .option('--dry-run', 'say how long the service asked to wait, and change nothing')
    .addHelpText('after', `${releaseExplanation}${examples(['wellsync service release --dry-run'])}`)
    .action(
      actionOf(shell, async (invocation: Invocation<ServiceFlags>) =>
        (await import('../actions/service.ts')).releaseService(invocation),
      ),
    );
  group
    .command('adopt')
    .argument('[service]', 'its address, or its service.id; where records name only one, that is the default')
    .description('say once which service a warehouse of an earlier version belongs to')
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--yes', 'do not ask; needed without a terminal')
    .addHelpText('after', `${adoptExplanation}${examples(['wellsync service adopt https://pds.example.com --yes'])}`)
    .action(
      actionOf(shell, async (invocation: Invocation<ServiceFlags>) =>
        (await import('../actions/service.ts')).adoptService(invocation),
      ),
    );
  group
    .command('moved')
    .argument('<old>', 'the address or service.id that the warehouse knows the service by')
    .argument('<new>', 'its address or service.id from now on')
    .description('keep the warehouse of a service whose address changed')
    .option('--dry-run', 'say what is known by the old name, and change nothing')
    .option('--yes', 'do not ask; needed without a terminal')
    .addHelpText('after', `${movedExplanation}${examples(movedExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<ServiceFlags>) =>
        (await import('../actions/service.ts')).moveService(invocation),
      ),
    );
}

const releaseExplanation = `
A Retry-After of the service holds the requests of all workers until then, for at
most queue.maxHoldMs. A service that is down holds them as well; one request after
another tries whether it answers. wellsync doctor and wellsync runs show tell of
both. Lift them where the service is known to answer again.
`;

const adoptExplanation = `
A warehouse belongs to one service, recorded with its first run. One that an
earlier version filled belongs to the service that its records name; where they
name several or none, nothing is written until this command has named it.
`;

const movedExplanation = `
The profile, the known pushes, the plans and the runs of OLD are those of NEW from
now on; the audit of deletions stays as it was written. Workers that are configured
for OLD stop. Set service.url (or service.id) of all to NEW, then start them again.
`;

const movedExamples = [
  'wellsync service moved https://pds-old.example.com https://pds.example.com --dry-run',
  'wellsync service moved https://pds.example.com production --yes',
];
