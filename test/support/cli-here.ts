/** Runs the command line in this process: the same program, without the time that a process takes to start. */
import { Readable, Writable } from 'node:stream';
import { CommanderError } from 'commander';
import { exitCodeOfError } from '../../src/cli/exit-codes.ts';
import { faultDocument, faultText } from '../../src/cli/fault-words.ts';
import { Output } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import type { Ending } from './cli.ts';

class Collector extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

/**
 * What the command said, and its exit code, as src/cli/main.ts would end with it. With `typed` the command is at a terminal
 * where somebody types that.
 */
export async function runHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  typed?: string,
): Promise<Ending> {
  const isTTY = typed !== undefined;
  const [stdout, stderr] = [new Collector(), Object.assign(new Collector(), { isTTY })];
  const stdin = Object.assign(Readable.from(typed === undefined ? [] : [typed]), { isTTY });
  const output = new Output({ stdout, stderr, json: args.includes('--json') });
  let code = 0;
  try {
    const shell = { output, environment, stdin, finish: (ended: number) => (code = ended) };
    await createProgram(shell).parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    output.say(faultText(error, Number.POSITIVE_INFINITY));
    if (output.json && !output.hasBegun) await output.document(faultDocument(error));
    code = exitCodeOfError(error);
  }
  return { code, stdout: stdout.text, stderr: stderr.text };
}
