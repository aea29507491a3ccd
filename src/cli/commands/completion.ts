/** `wellsync completion`: prints the completion script of a shell. */
import { Argument, type Command } from 'commander';
import { completionShells } from '../text/completion.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

export function addCompletionCommand(program: Command, shell: Shell): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(completionShells))
    .description('print the script that completes commands and flags in a shell')
    .addHelpText('after', explanation)
    .action(
      actionOf(shell, async (invocation: Invocation<object>) =>
        (await import('../actions/completion.ts')).printCompletion(invocation, program),
      ),
    );
}

const explanation = `
Load it where the shell starts: in ~/.bashrc, in ~/.zshrc after compinit, or in
~/.config/fish/config.fish. After an upgrade it knows the new commands.
${examples([
  'source <(wellsync completion bash)',
  'source <(wellsync completion zsh)',
  'wellsync completion fish | source',
])}`;
