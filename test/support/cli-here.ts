/** Runs the command line in this process: the same program, without the start of a process. */
import { Readable, Writable } from 'node:stream';
import { Program } from '../../src/cli/run-program.ts';
import type { CommandResult } from './command-result.ts';

class Collector extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

/** Returns the output and the exit code of a command. With `typed` the command runs at a terminal with that input. */
export async function runHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  typed?: string,
): Promise<CommandResult> {
  const isTTY = typed !== undefined;
  const [stdout, stderr] = [new Collector(), Object.assign(new Collector(), { isTTY, columns: 1_000 })];
  const stdin = Object.assign(Readable.from(typed === undefined ? [] : [typed]), { isTTY });
  const code = await new Program({ args, environment, stdin, stdout, stderr }).run();
  return { code, stdout: stdout.text, stderr: stderr.text };
}
