/** What every command has, whoever adds one: a list of all of them from the program itself. */
import { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { Output } from '../../../src/cli/output.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { runHere } from '../../support/cli-here.ts';

const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
const output = new Output({ stdout: sink, stderr: sink, json: false, quiet: false });
const shell = {
  output,
  environment: {},
  stdin: Readable.from([]),
  finish: () => {},
  loadTexts: () => import('../../../src/cli/text/table.ts'),
};

/** The words of every command with an action: `runs list`. */
function wordsOf(command: Command, above: readonly string[]): readonly (readonly string[])[] {
  const below = command.commands.flatMap((child) => wordsOf(child, [...above, child.name()]));
  return below.length === 0 ? [above] : below;
}

const commands = wordsOf(await createProgram(shell, []), []).map((words) => words.join(' '));

/** Commands that start runs, which crons may repeat. */
const starting = ['export daily-production', 'export time-series', 'export wells', 'push network-pipes', 'cleanup run'];

test('the list of commands is whole', () => {
  expect(commands.length).toBeGreaterThan(20);
  expect(commands).toEqual(expect.arrayContaining([...starting, 'doctor', 'worker', 'runs list']));
});

describe.each(commands)('%s', (command) => {
  const words = command.split(' ');

  test('has help with an example of its own, and names the options of every command', async () => {
    const { code, stdout } = await runHere([...words, '--help'], {});
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^ {2}\\$ .*wellsync ${command}`, 'm'));
    expect(stdout).toContain('--json, --quiet');
  });

  test('tells a wrong flag as one JSON document with --json, also with --quiet, and ends with 2', async () => {
    const { code, stdout, stderr } = await runHere([...words, '--no-such-flag', '--json', '--quiet'], {});
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'usage',
        message: expect.any(String),
        hint: expect.stringContaining(`wellsync ${command} --help`),
        action: null,
        issues: [],
      },
    });
    expect(stderr).toMatch(/^wellsync: /);
    expect(code).toBe(2);
  });
});

test.each(starting)('%s takes --skip-if-running', async (command) => {
  expect((await runHere([...command.split(' '), '--help'], {})).stdout).toContain('--skip-if-running');
});
