/** One command line from its arguments to its exit code: the program without its process. */
import type { Readable } from 'node:stream';
import { CommanderError } from 'commander';
import type { Layout, Shell } from './call.ts';
import type { Environment } from '../../config/load.ts';
import { type ExitCode, exitCodeOfError, exitCodes } from '../core/run/exit-code.ts';
import { columnsOf, type Outlet, Output } from './output.ts';
import { createProgram } from './program.ts';
import type * as FaultTexts from './text/actions.ts';

/** What a process provides to the program. */
export interface ProgramContext {
  /** Without the names of the interpreter and the program. */
  readonly args: readonly string[];
  readonly environment: Environment;
  readonly stdin: Readable;
  readonly stdout: Outlet;
  readonly stderr: Outlet;
  /** Set if this process has no memory limits yet; see Shell. */
  readonly carryOutLimited?: Shell['carryOutLimited'];
}

export class Program {
  readonly #context: ProgramContext;
  readonly #output: Output;
  /** Loaded before an action begins, so that an error during it is reported at once. */
  #faultTexts: typeof FaultTexts | undefined;

  constructor(context: ProgramContext) {
    this.#context = context;
    const { stdout, stderr } = context;
    const { NO_COLOR: noColour = '', TERM: terminal } = context.environment;
    this.#output = new Output({
      stdout,
      stderr,
      json: this.#hasFlag('--json'),
      quiet: this.#hasFlag('--quiet'),
      colour: noColour === '' && terminal !== 'dumb',
    });
  }

  /** Never rejects: reports an error, and returns its exit code. */
  async run(): Promise<ExitCode> {
    try {
      const exitCode = await this.#execute();
      if (exitCode !== exitCodes.done) await this.#output.release();
      await this.#output.flush();
      if (this.#output.fault !== undefined) throw this.#output.fault;
      return exitCode;
    } catch (error) {
      await this.report(error);
      return exitCodeOfError(error);
    }
  }

  async #execute(): Promise<ExitCode> {
    let exitCode: ExitCode = exitCodes.done;
    const { args } = this.#context;
    const finish = (code: ExitCode): void => void (exitCode = code);
    try {
      const program = await createProgram(this.#shell(finish), args);
      await program.parseAsync([...args], { from: 'user' });
      return exitCode;
    } catch (error) {
      if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUse;
      throw error;
    }
  }

  async #loadTexts(): Promise<Layout> {
    this.#faultTexts = await import('./text/actions.ts');
    const layout = await import('./text/table.ts');
    this.#output.showWith(layout.foldedHint, layout.withColour);
    return layout;
  }

  #shell(finish: Shell['finish']): Shell {
    const context = this.#context;
    const { environment, carryOutLimited } = context;
    return {
      output: this.#output,
      environment,
      get stdin() {
        return context.stdin;
      },
      finish,
      loadTexts: () => this.#loadTexts(),
      ...(carryOutLimited === undefined ? {} : { carryOutLimited }),
    };
  }

  /**
   * Prints the sentence on standard error; with --json also a document on standard output, unless a part of the result
   * was written.
   */
  async report(error: unknown): Promise<void> {
    const { faultDocument, faultText, stackText } = this.#faultTexts ?? (await import('./text/actions.ts'));
    const output = this.#output;
    await output.release();
    output.writeError(faultText(error, columnsOf(output.stderr)));
    if (this.#isDebugging()) output.writeError(stackText(error));
    if (output.json && !output.hasBegun) await output.document(faultDocument(error));
  }

  #isDebugging(): boolean {
    const { args, environment } = this.#context;
    const level = args[args.indexOf('--log-level') + 1];
    return environment['WELLSYNC_DEBUG'] === '1' || (this.#hasFlag('--log-level') && level === 'debug');
  }

  /**
   * Searches the arguments before commander has parsed them, since wrong ones too are reported as the flags require.
   */
  #hasFlag(flag: string): boolean {
    const { args } = this.#context;
    const end = args.indexOf('--');
    return args.slice(0, end < 0 ? undefined : end).includes(flag);
  }
}
