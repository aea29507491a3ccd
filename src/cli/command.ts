/**
 * A command with its options, its help and its work. Definitions of commands load no package but commander: help and
 * wrong flags need nothing else. What the work of a command needs, it imports when it runs.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { type ExitCode, exitCodes } from '../core/run/exit-code.ts';
import type { Readable } from 'node:stream';
import type { LogLevel } from '../../config/config-file.ts';
import type { Environment } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { App, AppOptions } from '../app/app.ts';
import { figure } from '../core/base/text.ts';
import type { Output } from './output.ts';
import type * as TableText from './text/table.ts';

/** What a command does; without an exit code it is done. */
type Work<Options> = (call: Call<Options>) => Promise<ExitCode> | Promise<void>;

export class ProgramCommand extends Command {
  readonly #shell: Shell;

  constructor(shell: Shell, name?: string) {
    super(name);
    this.#shell = shell;
  }

  override createCommand(name?: string): ProgramCommand {
    return new ProgramCommand(this.#shell, name);
  }

  /** Ends the help with these examples, below a text. */
  explained(text: string, examples: readonly string[]): this {
    return this.addHelpText('after', `${text}\nExamples:\n${examples.map((line) => `  $ ${line}`).join('\n')}\n`);
  }

  /** Takes a list from a file. */
  allowsEmpty(): this {
    return this.option('--allow-empty', 'a file that holds its header alone is no fault: end with 0');
  }

  /** May follow a run. */
  follows(): this {
    return this.option('--wait', 'follow the run to its end, then print its report');
  }

  /** May follow or work a run. */
  carriesOut(): this {
    const inline = new Option('--inline', 'work the run in this process, then print its report').conflicts('wait');
    return this.follows().addOption(inline);
  }

  /** May follow or work the run that it starts, or start none. */
  starts(): this {
    return this.carriesOut().option('--skip-if-running', 'end with 0 when the same work is under way already');
  }

  /** The work of this command; with --inline it is that of a worker, in a process with memory limits (G8). */
  runs<Options>(work: Work<Options>): this {
    return this.action(async () => this.#run(work, 'inline' in this.optsWithGlobals() || (await this.#isEmbedded())));
  }

  /** Without Redis a command that may work its run does. What is wrong with the configuration, the work tells. */
  async #isEmbedded(): Promise<boolean> {
    if (this.#shell.carryOutLimited === undefined || !this.options.some(({ long }) => long === '--inline'))
      return false;
    const { environment } = this.#shell;
    const options = this.optsWithGlobals<CommonOptions>();
    try {
      return (await configReader({ environment, options }))().redis === undefined;
    } catch {
      return false;
    }
  }

  /** The work of this command is that of a worker, whatever its options. */
  runsWorker<Options>(work: Work<Options>): this {
    return this.action(() => this.#run(work, true));
  }

  async #run<Options>(work: Work<Options>, isLimited: boolean): Promise<void> {
    const shell = this.#shell;
    const { environment, finish, carryOutLimited } = shell;
    const options = this.optsWithGlobals<Options & CommonOptions>();
    if (isLimited && carryOutLimited !== undefined) {
      return finish(await carryOutLimited(async () => (await configReader({ environment, options }))()));
    }
    const layout = await shell.loadTexts();
    finish((await work(new Call(shell, { options, args: this.args, layout }))) ?? exitCodes.done);
  }
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

/** Of a command that takes a list from a file. */
export type EmptyOption = Flags<'allowEmpty'>;

/** Of a command that starts a run. */
export type StartOptions = Flags<'wait' | 'inline' | 'skipIfRunning'>;

// A call of a command, and what its work takes from it: options, configuration and app, loaded when they are asked for.

/** Options without a value, and options with a text, a number, or a text each time that they are given. */
export type Flags<Name extends string> = { readonly [Each in Name]?: true };
export type Texts<Name extends string> = { readonly [Each in Name]?: string };
export type Numbers<Name extends string> = { readonly [Each in Name]?: number };
export type Lists<Name extends string> = { readonly [Each in Name]?: readonly string[] };

/** Options of every command. None sets a token: other users of a machine can read its process list. */
type CommonOptions = Flags<'json' | 'quiet'> &
  Texts<'config' | 'serviceUrl' | 'redisUrl' | 'warehouse' | 'dataDir' | 'queuePrefix'> & {
    readonly logLevel?: LogLevel;
  };

/** How text is laid out at a terminal; it loads too slowly for help and wrong flags. */
export type Layout = typeof TableText;

/** The context that main passes to every command. */
export interface Shell {
  readonly output: Output;
  readonly environment: Environment;
  readonly stdin: Readable;
  /** Receives the exit code of the command. */
  readonly finish: (exitCode: ExitCode) => void;
  /** Loads the texts of faults, hints and tables: called before the work begins in this process. */
  readonly loadTexts: () => Promise<Layout>;
  /**
   * Runs the whole command line in a process with the limits of worker.memoryMb (G8); returns its exit code. Absent if
   * this process has the limits, or needs none.
   */
  readonly carryOutLimited?: (readConfig: () => Promise<Config>) => Promise<ExitCode>;
}

export class Call<Options = object> {
  readonly output: Output;
  readonly environment: Environment;
  readonly stdin: Readable;
  readonly options: Options & CommonOptions;
  /** The positional arguments: a run id, a statement. */
  readonly args: readonly string[];
  readonly layout: Layout;

  constructor(shell: Shell, given: Pick<Call<Options>, 'options' | 'args' | 'layout'>) {
    this.output = shell.output;
    this.environment = shell.environment;
    this.stdin = shell.stdin;
    this.options = given.options;
    this.args = given.args;
    this.layout = given.layout;
  }

  /** Reads the configuration with the flags of this call. Throws UsageError with every fault at once. */
  async config(): Promise<Config> {
    return (await configReader(this))();
  }

  /** The app of a command that only reads the warehouse. Throws UnreachableError if none exists, and creates none. */
  async openStored(config?: Config, options?: AppOptions): Promise<App> {
    const app = await this.openApp(config, options);
    app.warehouse.requireStored();
    return app;
  }

  /** The app of any other command. Reports a wait for the warehouse on standard error. */
  async openApp(config?: Config, options: AppOptions = {}): Promise<App> {
    const { createApp } = await import('../app/app.ts');
    const say = (message: string): void => this.output.say(message);
    const how = { ...options, ...attendanceOf(this.output), onWait: say, onMigrated: say };
    return createApp(config ?? (await this.config()), how);
  }

  /** A bar below all messages until it is disposed: how many of them are done. None where no progress is shown. */
  async showProgress(what: string): Promise<{ readonly show: (done: number, of: number) => void } & Disposable> {
    if (!this.output.showsProgress) return { show: () => {}, [Symbol.dispose]: () => {} };
    const { createBar } = await import('./text/progress-display.ts');
    const bar = createBar(this.output);
    return {
      show: (done, of) => bar.show(Math.min(done, of), Math.max(of, 1), [`${figure(done)} of ${figure(of)} ${what}`]),
      [Symbol.dispose]: () => bar.end(),
    };
  }
}

/** Reads the configuration with these flags, anew at each call. It throws UsageError with every fault at once. */
export async function configReader({
  environment,
  options,
}: {
  readonly environment: Environment;
  readonly options: CommonOptions;
}): Promise<() => Config> {
  const { loadConfig } = await import('../../config/load.ts');
  const flags = {
    service: { url: options.serviceUrl },
    redis: { url: options.redisUrl },
    warehouse: { url: options.warehouse },
    dataDir: options.dataDir,
    queue: { prefix: options.queuePrefix },
    logLevel: options.logLevel,
  };
  return () => loadConfig({ environment, flags, ...(options.config === undefined ? {} : { file: options.config }) });
}

/** Whether an operator sees what the process says, and how it says it. */
export function attendanceOf(output: Output): Pick<AppOptions, 'isAttended' | 'report'> {
  return { isAttended: output.stderr.isTTY === true, report: (message) => output.writeError(message) };
}
