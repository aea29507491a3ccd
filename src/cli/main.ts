/** The process of the program: its arguments, streams and exit code, and errors outside any command. */
import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { memoryBudget } from '../core/base/memory-budget.ts';
import { type ExitCode, exitCodeOfError } from '../core/run/exit-code.ts';
import { sleep } from '../timers/sleep.ts';
import { isLimited, memoryAtOnce, runLimited } from './process/limited-process.ts';
import type { Program } from './program.ts';

const collectLateAfterMs = 500;

/** How long what a command left behind may take to end; the result has been written by then. */
const lingerMs = 2_000;

// Files and folders of data are for their owner alone, those of the engine too, which takes no mode.
process.umask(0o077);
// zod compiles each schema before it parses by it for the first time: 35 ms of a command, which parses little, and servers do not
// parse much more. This is z.config({ jitless: true }), before anything has loaded zod.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });

const { argv, env, stdout, stderr } = process;
const args = argv.slice(2);
const hasLimits = isLimited();
/** Set as soon as it is loaded, so that an error is reported at once. */
let program: Program | undefined;

process.on('uncaughtException', endAtOnce);
// Nothing is left to do. Otherwise the heap is taken down object by object, which takes 60 ms after an export. A command that
// waits for what keeps no process alive has not ended well.
process.once('beforeExit', () => {
  if (process.exitCode === undefined)
    endAtOnce(new Error('the command ended in the middle: nothing was left to wait for'));
  else process.exit();
});
void main();

async function main(): Promise<void> {
  const memoryMb = hasLimits ? undefined : memoryAtOnce(args, env);
  process.exitCode = memoryMb === undefined ? await (await loadProgram()).run() : await startLimited(memoryMb);
  // A connection to a Redis that does not answer, for example, must not keep the process alive.
  await sleep(lingerMs, { ref: false });
  process.exit();
}

/** A process that only starts another one loads the program for an error alone. */
async function startLimited(limitMb: number): Promise<ExitCode> {
  try {
    return await runWithin(limitMb);
  } catch (error) {
    return reported(error);
  }
}

/** Runs this command line in a process with these limits. */
function runWithin(limitMb: number): Promise<ExitCode> {
  return runLimited(fileURLToPath(import.meta.url), args, memoryBudget(limitMb), limitMb);
}

async function loadProgram(): Promise<Program> {
  if (hasLimits) void collectLateSoon();
  // A process that only starts another one needs neither this nor the program.
  const { keepCompiledCode } = await import('./process/compile-cache.ts');
  keepCompiledCode();
  const loaded = await import('./program.ts');
  program = new loaded.Program({
    args,
    environment: env,
    stdout,
    stderr,
    // Created at its first use: a parent leaves standard input to its child.
    get stdin() {
      return process.stdin;
    },
    ...(hasLimits ? {} : { carryOutLimited: async (readConfig) => runWithin((await readConfig()).worker.memoryMb) }),
  });
  return program;
}

/** Not at once: until then a command loads its code, for which the flag would be taken back each time. */
async function collectLateSoon(): Promise<void> {
  await sleep(collectLateAfterMs, { ref: false });
  const { setWorkFlag } = await import('./process/heap-flags.ts');
  setWorkFlag('collectLate');
}

async function reported(error: unknown): Promise<ExitCode> {
  await (program ?? (await loadProgram())).report(error);
  return exitCodeOfError(error);
}

/** No further work could be trusted. Writes the report synchronously, unless the process only started another one. */
function endAtOnce(error: unknown): void {
  if (program === undefined) return void endReported(error);
  void program.report(error);
  process.exit(exitCodeOfError(error));
}

async function endReported(error: unknown): Promise<never> {
  try {
    process.exit(await reported(error));
  } catch (unloaded) {
    // A part of the program is not there: nothing of it can say so.
    writeSync(2, `wellsync: a part of the program cannot be loaded: ${String(unloaded)}\nInstall it again.\n`);
    process.exit(1);
  }
}
