/** A call of a command, and what its work takes from it: options, configuration and app, loaded when they are asked for. */
import type { Readable } from 'node:stream';
import type { LogLevel } from '../../config/config-file.ts';
import type { Environment } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { App, AppOptions } from '../app/app.ts';
import { figure } from '../core/base/text.ts';
import type { ExitCode } from '../core/run/exit-code.ts';
import type { Output } from './output.ts';
import type * as TableText from './text/table.ts';

/** Options without a value, and options with a text, a number, or a text each time that they are given. */
export type Flags<Name extends string> = { readonly [Each in Name]?: true };
export type Texts<Name extends string> = { readonly [Each in Name]?: string };
export type Numbers<Name extends string> = { readonly [Each in Name]?: number };
export type Lists<Name extends string> = { readonly [Each in Name]?: readonly string[] };

/** Options of every command. None sets a token: other users of a machine can read its process list. */
export type CommonOptions = Flags<'json' | 'quiet'> &
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
