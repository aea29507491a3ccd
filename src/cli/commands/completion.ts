/** `wellsync completion`: prints the completion script of a shell. */
import { Argument, type Command } from 'commander';
import type { Call, ProgramCommand } from '../command.ts';

export function addCompletionCommand(program: ProgramCommand): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(completionShells))
    .description('print the script that completes commands and flags in a shell')
    .explained(explanation, [
      'source <(wellsync completion bash)',
      'source <(wellsync completion zsh)',
      'wellsync completion fish | source',
    ])
    .runs((call: Call) => printCompletion(call, program));
}

const explanation = `
Load it where the shell starts: in ~/.bashrc, in ~/.zshrc after compinit, or in
~/.config/fish/config.fish. After an upgrade it knows the new commands.
`;

async function printCompletion({ args, output }: Call, program: Command): Promise<void> {
  // The choices of the argument are these shells.
  const shell = completionShells.find((known) => known === args[0]) ?? 'bash';
  const script = completionScript(shell, nodeOf(program, program.name(), optionsOf(program)));
  if (output.json) await output.document({ shell, script });
  else await output.write(script);
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

/**
 * Completion scripts for shells, from the tree of the commands. They hold every word themselves: none of them starts the
 * program, which would take longer than a key press should.
 */
const completionShells = ['bash', 'zsh', 'fish'] as const;

type CompletionShell = (typeof completionShells)[number];

/** A command with what may follow it. Names and choices hold no blanks and no quotes. */
interface CommandNode {
  /** `wellsync export daily-production`. */
  readonly path: string;
  readonly description: string;
  readonly commands: readonly CommandNode[];
  readonly options: readonly OptionNode[];
  /** Fixed choices of its positional arguments. */
  readonly choices: readonly string[];
}

interface OptionNode {
  /** `--queues`. */
  readonly flag: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** Fixed choices of its value; empty if it is free. */
  readonly choices: readonly string[];
}

function completionScript(shell: CompletionShell, root: CommandNode): string {
  return shell === 'fish' ? fishScript(root) : caseScript(shell, root);
}

function allOf(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(allOf)];
}

function nameOf({ path }: CommandNode): string {
  return path.split(' ').at(-1) ?? path;
}

/** What differs between the two shells that share the form of the script. */
const dialects = {
  bash: {
    head: (name: string) => `# Completion of ${name} for bash. Load it by: source <(${name} completion bash)`,
    // The first word is the program; the last is the one to complete.
    before: '"${COMP_WORDS[@]:1:COMP_CWORD-1}"',
    previous: '${COMP_WORDS[COMP_CWORD-1]}',
    offer: (words: string) => `COMPREPLY=($(compgen -W "${words}" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    // Without words, bash completes the names of files.
    files: 'COMPREPLY=()',
    foot: (name: string) => `complete -o default -F _${name} ${name}`,
  },
  zsh: {
    head: (name: string) =>
      `#compdef ${name}\n# Completion of ${name} for zsh. Load it by: source <(${name} completion zsh)`,
    before: '"${(@)words[2,CURRENT-1]}"',
    previous: '${words[CURRENT-1]}',
    offer: (words: string) => `compadd -- ${words}`,
    files: '_files',
    foot: (name: string) => `compdef _${name} ${name}`,
  },
} as const;

function caseScript(shell: keyof typeof dialects, root: CommandNode): string {
  const { head, before, previous, offer, files, foot } = dialects[shell];
  const nodes = allOf(root);
  const name = root.path;
  const paths = nodes.filter((node) => node !== root).map(({ path }) => `"${path}"`);
  const values = nodes.flatMap(({ path, options }) =>
    options.filter(({ takesValue }) => takesValue).map((option) => ({ ...option, at: `"${path} ${option.flag}"` })),
  );
  const free = values.filter(({ choices }) => choices.length === 0).map(({ at }) => at);
  return [
    head(name),
    `_${name}() {`,
    `  local at=${name} word`,
    `  for word in ${before}; do`,
    '    case "$at $word" in',
    `      ${paths.join(' | ')}) at="$at $word" ;;`,
    '    esac',
    '  done',
    `  case "$at ${previous}" in`,
    ...values
      .filter(({ choices }) => choices.length > 0)
      .map(({ at, choices }) => `    ${at}) ${offer(choices.join(' '))}; return ;;`),
    ...(free.length === 0 ? [] : [`    ${free.join(' | ')}) ${files}; return ;;`]),
    '  esac',
    '  case "$at" in',
    ...nodes.map((node) => `    "${node.path}") ${offer(wordsAfter(node).join(' '))} ;;`),
    '  esac',
    '}',
    foot(name),
    '',
  ].join('\n');
}

function wordsAfter({ commands, options, choices }: CommandNode): readonly string[] {
  return [...commands.map(nameOf), ...choices, ...options.map(({ flag }) => flag)];
}

function fishScript(root: CommandNode): string {
  const name = root.path;
  const nodes = allOf(root);
  const paths = nodes.filter((node) => node !== root).map(({ path }) => `'${path}'`);
  return [
    `# Completion of ${name} for fish. Load it by: ${name} completion fish | source`,
    `function __${name}_at`,
    `  set -l at ${name}`,
    '  for word in (commandline -opc)[2..]',
    `    contains -- "$at $word" ${paths.join(' ')}; and set at "$at $word"`,
    '  end',
    '  test "$at" = "$argv[1]"',
    'end',
    `complete -c ${name} -e`,
    ...nodes.flatMap((node) => fishLines(name, node)),
    '',
  ].join('\n');
}

function fishLines(name: string, { path, commands, options, choices }: CommandNode): readonly string[] {
  const start = `complete -c ${name} -n '__${name}_at "${path}"'`;
  return [
    ...commands.map((node) => `${start} -f -a ${nameOf(node)} -d '${fishText(node.description)}'`),
    ...(choices.length === 0 ? [] : [`${start} -f -a '${choices.join(' ')}'`]),
    ...options.map(({ flag, description, takesValue, choices: values }) => {
      const value = values.length > 0 ? ` -x -a '${values.join(' ')}'` : takesValue ? ' -r' : '';
      return `${start} -l ${flag.slice(2)}${value} -d '${fishText(description)}'`;
    }),
  ];
}

function fishText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`);
}
