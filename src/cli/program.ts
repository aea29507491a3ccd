/** The commands and their common parts: options, help, and the errors of wrong flags. */
import { type Command, CommanderError, Option } from 'commander';
import { logLevels } from '../../config/config-file.ts';
import { versionOfPackage } from '../app/version.ts';
import { UsageError } from '../core/base/errors.ts';
import { nearestName } from '../core/base/text.ts';
import { type Layout, ProgramCommand, type Shell } from './command.ts';
import { addAlertsCommand } from './commands/alerts.ts';
import { addAuditCommand } from './commands/audit.ts';
import { addChecksCommand } from './commands/checks.ts';
import { addCleanupCommand } from './commands/cleanup.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addCoverageCommand } from './commands/coverage.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExportCommand } from './commands/export.ts';
import { addFeedCommand } from './commands/feed.ts';
import { addInitCommand } from './commands/init.ts';
import { addInboxCommand } from './commands/inbox.ts';
import { addProbeCommand } from './commands/probe.ts';
import { addPruneCommand } from './commands/prune.ts';
import { addPushCommand } from './commands/push.ts';
import { addQueueCommand } from './commands/queue.ts';
import { addQueryCommand } from './commands/query.ts';
import { addContractCommand } from './commands/contract.ts';
import { addMonthsCommand } from './commands/months.ts';
import { addRestatementsCommand } from './commands/restatements.ts';
import { addRunsCommand } from './commands/runs.ts';
import { addSchedulesCommand } from './commands/schedules.ts';
import { addServeCommand } from './commands/serve.ts';
import { addServiceCommand } from './commands/service.ts';
import { addTestingServerCommand } from './commands/testing-server.ts';
import { addTokenCommand } from './commands/token.ts';
import { addVerifyCommand } from './commands/verify.ts';
import { addWarehouseCommand } from './commands/warehouse.ts';
import { addWorkerCommand } from './commands/worker.ts';
import type { Readable } from 'node:stream';
import type { Environment } from '../../config/load.ts';
import { type ExitCode, exitCodeOfError, exitCodes } from '../core/run/exit-code.ts';
import { columnsOf, type Outlet, Output } from './output.ts';
import type * as FaultTexts from './text/actions.ts';

type AddCommand = (program: ProgramCommand, argv: readonly string[]) => unknown;

/** In the order of the help. */
const commands: readonly AddCommand[] = [
  addInitCommand,
  addWorkerCommand,
  addServeCommand,
  addExportCommand,
  addPushCommand,
  addCleanupCommand,
  addRunsCommand,
  addAlertsCommand,
  addSchedulesCommand,
  addCoverageCommand,
  addRestatementsCommand,
  addVerifyCommand,
  addChecksCommand,
  addMonthsCommand,
  addContractCommand,
  addQueryCommand,
  addFeedCommand,
  addWarehouseCommand,
  addPruneCommand,
  addAuditCommand,
  addProbeCommand,
  addServiceCommand,
  addInboxCommand,
  addQueueCommand,
  addTokenCommand,
  addTestingServerCommand,
  addDemoCommand,
  addDoctorCommand,
  addCompletionCommand,
];

/**
 * Creates the program for these arguments. Throws UsageError for wrong ones, and CommanderError with exit code 0 for
 * help.
 */
export async function createProgram(shell: Shell, argv: readonly string[]): Promise<ProgramCommand> {
  const program = new ProgramCommand(shell, 'wellsync')
    .description('Moves oil and gas production data between the Production Data Service and your warehouse.')
    .version(versionOfPackage())
    .configureOutput({
      writeOut: (text) => void shell.output.write(helpText(text)),
      getOutHelpWidth: () => Math.min(helpWidth, shell.output.width),
      writeErr: (text) => shell.output.stderr.write(text),
      // Faults of commander are reported like all others.
      outputError: () => {},
    })
    .option('--config <file>', 'configuration file (WELLSYNC_CONFIG; config/wellsync.yaml when it is there)')
    .option('--json', 'print the result as one JSON document; logs and progress go to standard error')
    .option('--quiet', 'print only what went wrong, and the requested data')
    .option('--service-url <url>', 'address of the service (WELLSYNC_SERVICE_URL)')
    .option('--redis-url <url>', 'address of Redis; without, the queue is embedded (WELLSYNC_REDIS_URL)')
    .option('--warehouse <url>', 'duckdb:PATH, or postgres://USER@HOST/DATABASE (WELLSYNC_WAREHOUSE)')
    .option('--data-dir <folder>', 'where wellsync keeps its files (WELLSYNC_DATA_DIR)')
    .option('--queue-prefix <name>', 'tells installations on one Redis apart (WELLSYNC_QUEUE_PREFIX)')
    .addOption(new Option('--log-level <level>', 'how much is logged').choices(logLevels))
    .explained(explanation, programExamples);
  for (const add of commands) await add(program, argv);
  for (const command of leavesOf(program)) command.addHelpText('after', commonRemark);
  throwUsageErrors(program);
  return program;
}

const explanation = `
These options may stand after every command. Flags beat the environment, which
beats the configuration file. Other users of a machine can see flags, so none
takes a secret: name the token of the service by WELLSYNC_SERVICE_TOKEN_FILE, and
the password of Redis by WELLSYNC_REDIS_PASSWORD_FILE, not in --redis-url.
`;

const programExamples = [
  'wellsync testing-server --wells 20',
  'WELLSYNC_SERVICE_URL=http://127.0.0.1:4010 wellsync doctor',
  'wellsync export daily-production --wells wells.csv',
  'wellsync push network-pipes pipes.csv',
  'wellsync query "SELECT count(*) FROM daily_production"',
];

/** Stands behind the examples with which the help of every command ends, and their blank line. */
const commonRemark = `Options of every command (--json, --quiet, --config, …): wellsync --help
`;

/** The commands with an action, without their groups. */
function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

/** Configured for each command, so that the hint can name the right help. */
function throwUsageErrors(command: Command): void {
  command.exitOverride((error: CommanderError) => {
    if (isHelp(error)) throw error;
    throw new UsageError(sentenceOf(error, command), { hint: `See: ${pathOf(command)} --help` });
  });
  for (const child of command.commands) throwUsageErrors(child);
}

/** Help or the version was requested, or help is shown because arguments were missing (exit code 1). */
function isHelp(error: CommanderError): boolean {
  return ['commander.helpDisplayed', 'commander.help', 'commander.version'].includes(error.code);
}

/** The message `error: unknown option '--wel'\n(Did you mean --wells?)` on one line, without its first word. */
function sentenceOf(error: CommanderError, command: Command): string {
  const sentence = error.message.replace(/^error: /, '').replaceAll(/\s+/g, ' ');
  const [, given] = error.code === 'commander.unknownOption' ? (/'(--[^']+)'/.exec(sentence) ?? []) : [];
  if (given === undefined) return sentence;
  const meant = flagsNear(given, command);
  return `unknown option '${given}'${meant.length === 0 ? '' : ` (Did you mean ${meant.join(' or ')}?)`}`;
}

/** The flags that begin as the given one does, else the one whose name is nearest. */
function flagsNear(given: string, command: Command): readonly string[] {
  const flags = flagsOf(command);
  const begun = flags.filter((flag) => flag.startsWith(given));
  const nearest = nearestName(given, flags);
  return begun.length > 0 ? begun : nearest === undefined ? [] : [nearest];
}

function flagsOf(command: Command): readonly string[] {
  const own = command.options.flatMap(({ long }) => long ?? []);
  return [...new Set([...own, ...(command.parent === null ? ['--help'] : flagsOf(command.parent))])];
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

// Keeps help within 80 columns: prose is wrapped at words, a long example goes on in the next line. Pure.

export const helpWidth = 80;

/** The text with its long lines wrapped, and one blank line between its parts. */
export function helpText(text: string): string {
  const lines: string[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    lines.push(...proseLines(paragraph));
    paragraph = [];
  };
  for (const line of text.split('\n')) {
    if (/^\S/.test(line)) paragraph.push(line);
    else {
      endParagraph();
      lines.push(...indentedLines(line));
    }
  }
  endParagraph();
  return lines.join('\n').replaceAll(/\n{3,}/g, '\n\n');
}

/** A paragraph whose lines all fit stays as it is. */
function proseLines(lines: readonly string[]): readonly string[] {
  return lines.every((line) => line.length <= helpWidth) ? lines : wrapped(lines.join(' '), '', '');
}

/** A long example goes on after a backslash, as a shell reads it; any other line goes on below its text. */
function indentedLines(line: string): readonly string[] {
  if (line.length <= helpWidth) return [line];
  if (line.startsWith('  $ ')) return wrapped(line, '      ', ' \\');
  return wrapped(line, ' '.repeat(/^ +(?:\S+ {2,})?/.exec(line)?.[0].length ?? 2), '');
}

function wrapped(text: string, indent: string, lineEnd: string): readonly string[] {
  if (text.length <= helpWidth) return [text];
  const end = text.lastIndexOf(' ', helpWidth - lineEnd.length);
  if (end <= indent.length) return [text];
  return [text.slice(0, end) + lineEnd, ...wrapped(indent + text.slice(end + 1), indent, lineEnd)];
}

// One command line from its arguments to its exit code: the program without its process.

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
