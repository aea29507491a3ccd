/** Runs the command line in this process: the same program, without the start of a process. */
import { Readable, Writable } from 'node:stream';
import { Program } from '../../src/cli/program.ts';
import type { CommandResult } from './command-result.ts';

class Collector extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

/**
 * Returns the output and the exit code of a command. With `typed` the command runs at a terminal with that input, else
 * `piped` is its standard input. Its working folder is that of the tests. The log of a worker goes to the standard error
 * of this process, and is no part of the output.
 */
export async function runHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  typed?: string,
  piped: string | Uint8Array = '',
): Promise<CommandResult> {
  const isTTY = typed !== undefined;
  const [stdout, stderr] = [new Collector(), Object.assign(new Collector(), { isTTY, columns: 1_000 })];
  const input =
    typed === undefined ? Readable.from([Buffer.from(piped)], { objectMode: false }) : Readable.from([typed]);
  const stdin = Object.assign(input, { isTTY });
  const code = await new Program({ args, environment, stdin, stdout, stderr }).run();
  return { code, stdout: stdout.text, stderr: stderr.text };
}
