/**
 * The options of every command, and the binding of a command to its action. Definitions of commands import this and
 * nothing that loads slowly: help and wrong flags need no action (`actions/`); a command imports its action when it
 * runs.
 */
import type { Readable } from 'node:stream';
import { InvalidArgumentError, type Command } from 'commander';
import type { Environment } from '../../../config/load.ts';
import type { LogLevel } from '../../../config/config-file.ts';
import type { ExitCode } from '../../core/run/exit-code.ts';
import type { Output } from '../output.ts';

/** Options of every command. None sets a token: other users of a machine can read its process list. */
export interface CommonOptions {
  readonly config?: string;
  readonly json?: true;
  readonly quiet?: true;
  readonly serviceUrl?: string;
  readonly redisUrl?: string;
  readonly warehouse?: string;
  readonly dataDir?: string;
  readonly queuePrefix?: string;
  readonly logLevel?: LogLevel;
}

/** The context that main passes to every command. */
export interface Shell {
  readonly output: Output;
  readonly environment: Environment;
  readonly stdin: Readable;
  /** Receives the exit code of the command. */
  readonly finish: (exitCode: ExitCode) => void;
  /** Loads the texts of faults and hints: called before an action begins in this process. */
  readonly loadTexts: () => Promise<void>;
  /**
   * Runs the whole command line in a process with the limits of worker.memoryMb (G8); returns its exit code. Absent if
   * this process has the limits, or needs none.
   */
  readonly carryOutLimited?: (call: Pick<Invocation<unknown>, 'environment' | 'options'>) => Promise<ExitCode>;
}

export interface Invocation<Options> {
  readonly output: Output;
  readonly environment: Environment;
  readonly stdin: Readable;
  readonly options: Options & CommonOptions;
  /** The positional arguments: a run id, a statement. */
  readonly args: readonly string[];
}

export type Work<Options> = (invocation: Invocation<Options>) => Promise<ExitCode>;

/**
 * The action of a command, for commander: `actionOf(shell, async (call) => (await import('../actions/x.ts')).x(call))`.
 */
export function actionOf<Options>(shell: Shell, work: Work<Options>): (this: Command) => Promise<void> {
  return async function act() {
    const options = this.optsWithGlobals<Options & CommonOptions>();
    const { output, environment, finish } = shell;
    // With --inline the command does the work of a worker.
    if (shell.carryOutLimited !== undefined && 'inline' in options)
      return finish(await shell.carryOutLimited({ environment, options }));
    await shell.loadTexts();
    finish(await work({ output, environment, stdin: shell.stdin, options, args: this.args }));
  };
}

/** The action of a command that works queues, whatever its options: in a process with memory limits (G8). */
export function workerActionOf<Options>(shell: Shell, work: Work<Options>): (this: Command) => Promise<void> {
  const { carryOutLimited } = shell;
  return actionOf(shell, carryOutLimited ?? work);
}

/** Collects an option that may be given more than once. */
export function collected(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}

/** Parses an option that is a count. */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number above 0.');
}

/** Parses an option that is a port. */
export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It must be a port, from 0 to 65535.');
}

/** Parses an option that is a number of days, at most a century. */
export function dayCount(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 36_525) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of days, up to 36525.');
}

/** Examples for a command's help. */
export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}
