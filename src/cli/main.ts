#!/usr/bin/env node
/** The process of the program: its arguments, streams and exit code, and errors outside any command. */
import { exitCodeOfError } from '../core/run/exit-code.ts';
import { sleep } from '../timers/sleep.ts';
import { markedParent } from './process/mark.ts';
import { Program } from './run-program.ts';

/** How long what a command left behind may take to end; the result has been written by then. */
const lingerMs = 2_000;

// Files and folders of data are for their owner alone, those of the engine too, which takes no mode.
process.umask(0o077);

const { argv, env, stdout, stderr } = process;
const args = argv.slice(2);
const program = new Program({
  args,
  environment: env,
  stdout,
  stderr,
  // Created at its first use: a parent leaves standard input to its child.
  get stdin() {
    return process.stdin;
  },
  ...(markedParent() === undefined
    ? { carryOutLimited: async (call) => (await import('./actions/limited.ts')).carryOutLimited(args, call) }
    : {}),
});

process.on('uncaughtException', endAtOnce);
process.exitCode = await program.run();
// A connection to a Redis that does not answer, for example, must not keep the process alive.
void sleep(lingerMs, { ref: false }).then(() => process.exit());

/** No further work could be trusted. Writes the report synchronously. */
function endAtOnce(error: unknown): void {
  void program.report(error);
  process.exit(exitCodeOfError(error));
}
