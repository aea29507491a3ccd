/** Reads the commands and flags of the command line from its --help, in this process. */
import { expect } from 'vitest';
import { runHere } from './cli-here.ts';

const helps = new Map<string, Promise<string>>();

/** The help of a command, by its arguments; of wellsync itself without any. Rejects if the command does not exist. */
function helpOf(...words: readonly string[]): Promise<string> {
  const key = words.join(' ');
  const help = helps.get(key) ?? readHelp(words);
  helps.set(key, help);
  return help;
}

async function readHelp(words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runHere([...words, '--help'], {});
  if (code !== 0) throw new Error(stderr);
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
