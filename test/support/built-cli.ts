/** Asks the built command line what it offers, as an operator would: by --help. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The help of a command, by its words; of wellsync itself without any. Rejects where there is no such command. */
async function helpOf(...words: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, ['dist/src/cli/main.js', ...words, '--help']);
  return stdout;
}

/** The commands that the help lists. */
export async function commandsOffered(): Promise<readonly string[]> {
  const [, listed = ''] = (await helpOf()).split(/^Commands:$/m);
  return [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = '']) => name);
}

/** The long flags that a command's help lists. */
export async function flagsOffered(...words: readonly string[]): Promise<readonly string[]> {
  return [...(await helpOf(...words)).matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => flag);
}
