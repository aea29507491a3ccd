import type { Command } from 'commander';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { type CommandNode, completionScript, completionShells, type OptionNode } from '../text/completion.ts';

export async function printCompletion({ args, output }: Invocation<object>, program: Command): Promise<ExitCode> {
  // The choices of the argument are these shells.
  const shell = completionShells.find((known) => known === args[0]) ?? 'bash';
  const script = completionScript(shell, nodeOf(program, program.name(), optionsOf(program)));
  if (output.json) await output.document({ shell, script });
  else await output.write(script);
  return exitCodes.done;
}

/** `common`: the options of the program, which may stand after every command. */
function nodeOf(command: Command, path: string, common: readonly OptionNode[]): CommandNode {
  const own = optionsOf(command).filter(({ flag }) => common.every((each) => each.flag !== flag));
  const helper = command.createHelp();
  return {
    path,
    description: command.description(),
    commands: helper
      .visibleCommands(command)
      .filter((child) => child.name() !== 'help')
      .map((child) => nodeOf(child, `${path} ${child.name()}`, common)),
    options: [...own, ...common],
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  };
}

function optionsOf(command: Command): readonly OptionNode[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description, required, optional, argChoices = [] }) =>
      long === undefined || long === null
        ? []
        : [{ flag: long, description, takesValue: required || optional, choices: argChoices }],
    );
}
