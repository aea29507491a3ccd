/** Reads the commands and flags of the built command line from its --help. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const run = promisify(execFile);

/** The help of a command, by its arguments; of wellsync itself without any. Rejects if the command does not exist. */
async function helpOf(...words: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, ['dist/src/cli/main.js', ...words, '--help']);
  return stdout;
}

/** The commands in the help. */
export async function commandsOffered(): Promise<readonly string[]> {
  const [, listed = ''] = (await helpOf()).split(/^Commands:$/m);
  return [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = '']) => name);
}

/** The long flags in a command's help. */
export async function flagsOffered(...words: readonly string[]): Promise<readonly string[]> {
  return [...(await helpOf(...words)).matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => flag);
}

/** Expects the words to be a command of wellsync with flags that it has. */
export async function expectCommand(words: readonly string[]): Promise<void> {
  const firstFlag = words.findIndex((word) => word.startsWith('--'));
  const command = firstFlag === -1 ? words : words.slice(0, firstFlag);
  expect(await commandsOffered()).toContain(command[0]);
  const offered = await flagsOffered(...command);
  const flags = words.filter((word) => word.startsWith('--'));
  expect(flags.filter((flag) => ![...offered, '--quiet'].includes(flag))).toEqual([]);
}
