#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 DUCKDB_JE_MALLOC_CONF=dirty_decay_ms:100,muzzy_decay_ms:0,narenas:1 node --max-old-space-size=128 --max-semi-space-size=16
/** The program: takes the words of the command line, and ends with a sentence and an exit code, whatever happens. */
import { CommanderError } from 'commander';
import type { Shell } from './command-line.ts';
import { exitCodeOfError, exitCodes, type ExitCode } from './exit-codes.ts';
import { faultDocument, faultText, stackText } from './fault-words.ts';
import { columnsOf, Output } from './output.ts';
import { createProgram } from './program.ts';

const words = process.argv.slice(2);
const output = new Output({ stdout: process.stdout, stderr: process.stderr, json: isNamed('--json') });

process.on('uncaughtException', endAtOnce);
process.exitCode = await run();

async function run(): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.done;
  const { env, stdin } = process;
  const shell: Shell = { output, environment: env, stdin, finish: (code) => (exitCode = code) };
  try {
    await createProgram(shell).parseAsync(words, { from: 'user' });
    if (output.fault !== undefined) throw output.fault;
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse;
    await tell(error);
    return exitCodeOfError(error);
  }
}

/** The sentence on standard error; with --json a document on standard output too, unless a part of the result is out. */
async function tell(error: unknown): Promise<void> {
  output.say(faultText(error, columnsOf(output.stderr)));
  if (isDebugging()) output.say(stackText(error));
  if (output.json && !output.hasBegun) await output.document(faultDocument(error));
}

/** An error outside of any command's flow: nothing that goes on could be trusted. What is said is written at once. */
function endAtOnce(error: unknown): void {
  void tell(error);
  process.exit(exitCodeOfError(error));
}

function isDebugging(): boolean {
  const level = words[words.indexOf('--log-level') + 1];
  return process.env['WELLSYNC_DEBUG'] === '1' || (isNamed('--log-level') && level === 'debug');
}

/** Whether a flag stands among the words, before commander has read them: its own faults are to be told as asked for. */
function isNamed(flag: string): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end < 0 ? undefined : end).includes(flag);
}
