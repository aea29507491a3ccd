/** Owns the list of the commands, and what they have in common: options, help, and how wrong words are told. */
import { Command, Option, type CommanderError } from 'commander';
import { UsageError } from '../core/errors.ts';
import { examples, logLevels, type Shell } from './command-line.ts';
import { addAuditCommand } from './audit-command.ts';
import { addCleanupCommand } from './cleanup-command.ts';
import { addCoverageCommand } from './coverage-command.ts';
import { addDoctorCommand } from './doctor-command.ts';
import { addExportCommand } from './export-command.ts';
import { addProbeCommand } from './probe-command.ts';
import { addPushCommand } from './push-command.ts';
import { addQueryCommand } from './query-command.ts';
import { addRestatementsCommand } from './restatements-command.ts';
import { addRunsCommand } from './runs-command.ts';
import { addTestingServerCommand } from './testing-server-command.ts';
import { versionOfPackage } from './version.ts';
import { addWorkerCommand } from './worker-command.ts';

/** Wrong words are thrown as UsageError; help that was asked for ends as CommanderError with exit code 0. */
export function createProgram(shell: Shell): Command {
  const program = new Command('wellsync')
    .description('Moves oil and gas production data between the Production Data Service and your warehouse.')
    .version(versionOfPackage())
    // The faults of commander are told by main, like all others.
    .configureOutput({ outputError: () => {} })
    .option('--config <file>', 'configuration file (WELLSYNC_CONFIG; config/wellsync.yaml when it is there)')
    .option('--json', 'print the result as one JSON document; logs and progress go to standard error')
    .option('--service-url <url>', 'address of the service (WELLSYNC_SERVICE_URL)')
    .option('--redis-url <url>', 'address of Redis (WELLSYNC_REDIS_URL)')
    .option('--warehouse <url>', 'duckdb:PATH (WELLSYNC_WAREHOUSE)')
    .option('--data-dir <folder>', 'where wellsync keeps its files (WELLSYNC_DATA_DIR)')
    .option('--queue-prefix <name>', 'tells installations on one Redis apart (WELLSYNC_QUEUE_PREFIX)')
    .addOption(new Option('--log-level <level>', 'how much is logged').choices(logLevels))
    .addHelpText('after', explanation);
  addWorkerCommand(program, shell);
  addExportCommand(program, shell);
  addPushCommand(program, shell);
  addCleanupCommand(program, shell);
  addRunsCommand(program, shell);
  addCoverageCommand(program, shell);
  addRestatementsCommand(program, shell);
  addQueryCommand(program, shell);
  addAuditCommand(program, shell);
  addProbeCommand(program, shell);
  addTestingServerCommand(program, shell);
  addDoctorCommand(program, shell);
  for (const command of leavesOf(program)) command.addHelpText('after', commonNote);
  throwUsageErrors(program);
  return program;
}

const explanation = `
These options may stand after every command. Flags beat the environment, which
beats the configuration file. There is no flag for the token of the service,
since other users of a machine can see flags: set WELLSYNC_SERVICE_TOKEN_FILE,
or WELLSYNC_SERVICE_TOKEN.
${examples([
  'wellsync testing-server --wells 20',
  'WELLSYNC_SERVICE_URL=http://127.0.0.1:4010 wellsync doctor',
  'wellsync export daily-production --wells wells.csv --inline',
  'wellsync push network-pipes pipes.csv --inline',
  'wellsync query "SELECT count(*) FROM daily_production"',
])}`;

const commonNote = `Options of every command (--json, --config, --redis-url, …): wellsync --help
`;

/** The commands that do something, without the groups that they stand in. */
function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

/** Every command gets its own, so that the hint can name the help that fits. */
function throwUsageErrors(command: Command): void {
  command.exitOverride((error: CommanderError) => {
    if (isHelp(error)) throw error;
    throw new UsageError(sentenceOf(error), { hint: `See: ${wordsOf(command)} --help` });
  });
  for (const child of command.commands) throwUsageErrors(child);
}

/** Help or version was asked for, or shown because words were missing (exit code 1). */
function isHelp(error: CommanderError): boolean {
  return ['commander.helpDisplayed', 'commander.help', 'commander.version'].includes(error.code);
}

/** `error: unknown option '--wel'\n(Did you mean --wells?)` on one line, without its first word. */
function sentenceOf(error: CommanderError): string {
  return error.message.replace(/^error: /, '').replaceAll(/\s+/g, ' ');
}

function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}
