/**
 * A command with its options, its help and its work. Definitions of commands load no package but commander: help and
 * wrong flags need nothing else. What the work of a command needs, it imports when it runs.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { type ExitCode, exitCodes } from '../core/run/exit-code.ts';
import { Call, type CommonOptions, configReader, type Flags, type Shell } from './call.ts';

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
