/** The help of every command fits a terminal of 80 columns. */
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { Output } from '../../../src/cli/output.ts';
import { createProgram, helpText, helpWidth } from '../../../src/cli/program.ts';

function allOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(allOf)];
}

const stdout = new PassThrough({ encoding: 'utf8' });
const output = new Output({ stdout, stderr: new PassThrough(), json: false, quiet: false });
const shell = {
  output,
  environment: {},
  stdin: new PassThrough(),
  finish: () => {},
  loadTexts: () => import('../../../src/cli/text/table.ts'),
};

function helpOf(command: Command): string {
  command.outputHelp();
  return String(stdout.read());
}

const commands = allOf(await createProgram(shell, []));

test('every command is looked at', () => {
  expect(commands.length).toBeGreaterThan(25);
});

test('no line of the help of any command is longer than 80 columns', () => {
  const long = commands.flatMap((command) =>
    helpOf(command)
      .split('\n')
      .filter((line) => line.length > 80)
      .map((line) => `${command.parent?.name() ?? ''} ${command.name()} (${line.length}): ${line}`),
  );
  expect(long.join('\n')).toBe('');
});

test('the help of query says once what a spreadsheet makes of a cell', () => {
  const query = commands.filter((command) => command.name() === 'query').map(helpOf);
  expect(query.join('').match(/formula/g)).toHaveLength(1);
});

test('a long example goes on after a backslash, prose and lists below their text', () => {
  const [word, option] = ['word '.repeat(20).trim(), '  1  ' + 'failed '.repeat(20).trim()];
  const lines = helpText(`${word}\n\n${option}\n  $ wellsync query "${word}"\n`).split('\n');
  expect(lines.every((line) => line.length <= helpWidth)).toBe(true);
  expect(lines.filter((line) => line.endsWith(' \\'))).toHaveLength(1);
  expect(lines.filter((line) => line.startsWith('     failed'))).toHaveLength(1);
});

test('a blank line stands before each part of the help', () => {
  const close = commands.filter((command) =>
    /[^\n]\n(?:Options of every command|Examples:|Exit codes)/.test(helpOf(command)),
  );
  expect(close.map((command) => command.name())).toEqual([]);
});
