/** Owns how a command's words become its work: the options of every command, and what an action is given. */
import type { Readable } from 'node:stream';
import { InvalidArgumentError, type Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { configSchema, type Config } from '../../config/schema.ts';
import type { ExitCode } from './exit-codes.ts';
import type { LogLevel } from './log.ts';
import type { Output } from './output.ts';

/** The options that every command takes. There is none for a token: other users of a machine can read its process list. */
export interface CommonOptions {
  readonly config?: string;
  readonly json?: true;
  readonly serviceUrl?: string;
  readonly redisUrl?: string;
  readonly warehouse?: string;
  readonly dataDir?: string;
  readonly queuePrefix?: string;
  readonly logLevel?: LogLevel;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What main gives to every command. */
export interface Shell {
  readonly output: Output;
  readonly environment: Environment;
  readonly stdin: Readable;
  /** Takes the exit code of the command that was carried out. */
  readonly finish: (exitCode: ExitCode) => void;
}

export interface Invocation<Options> {
  readonly output: Output;
  readonly environment: Environment;
  readonly stdin: Readable;
  readonly options: Options & CommonOptions;
  /** The words that are no options: a run id, a statement. */
  readonly args: readonly string[];
}

export type Work<Options> = (invocation: Invocation<Options>) => Promise<ExitCode>;

/** The action of a command, for commander. */
export function actionOf<Options>(shell: Shell, work: Work<Options>): (this: Command) => Promise<void> {
  return async function act() {
    const options = this.optsWithGlobals<Options & CommonOptions>();
    shell.finish(await work({ ...shell, options, args: this.args }));
  };
}

/** The configuration under the flags of this command. Throws UsageError with every fault at once. */
export function configOf({ environment, options }: Invocation<unknown>): Config {
  return loadConfig({
    environment,
    flags: {
      service: { url: options.serviceUrl },
      redis: { url: options.redisUrl },
      warehouse: { url: options.warehouse },
      dataDir: options.dataDir,
      queue: { prefix: options.queuePrefix },
      logLevel: options.logLevel,
    },
    ...(options.config === undefined ? {} : { file: options.config }),
  });
}

export const logLevels: readonly string[] = configSchema.in.shape.logLevel.unwrap().options;

/** Collects an option that may be given more than once. */
export function collected(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}

/** Reads an option that counts something. */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number above 0.');
}

/** Examples under a command's help. */
export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}\n`;
}
