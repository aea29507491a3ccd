/** Reads the commands and flags of the built command line from its --help. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

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
