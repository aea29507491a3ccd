/** `wellsync feed`: files of the warehouse for other pipelines. */
import type { Command } from 'commander';
import type { PublishOptions } from '../actions/feed.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

const actions = () => import('../actions/feed.ts');

export function addFeedCommand(program: Command, shell: Shell): void {
  const group = program
    .command('feed')
    .description('publish the warehouse as files for other pipelines, and check them');
  group
    .command('publish')
    .description('write the months that were touched since, and all tables that changed')
    .option('--all', 'write every month and table again, whatever changed')
    .addHelpText('after', publishing)
    .action(
      actionOf(shell, async (invocation: Invocation<PublishOptions>) => (await actions()).publishToFeed(invocation)),
    );
  group
    .command('verify')
    .description('read every file that the manifest names, and compare it with the manifest and the warehouse')
    .addHelpText('after', verifying)
    .action(actionOf(shell, async (invocation: Invocation<object>) => (await actions()).verifyPublished(invocation)));
}

const publishing = `
Goes to feed.url. Readers begin with manifest.json there, which is replaced in one
step. It may be stopped at any time: what is due stays due. Workers do the same
after each run, unless feed.afterRuns is false. --all also replaces files that
were lost or damaged.
${examples(['wellsync feed publish', 'wellsync feed publish --all'])}`;

const verifying = `
Ends with 1 where a file is missing, damaged or holds other rows than the warehouse,
and names each. wellsync feed publish --all writes them again.
${examples(['wellsync feed verify', 'wellsync feed verify --json'])}`;
