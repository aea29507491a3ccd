/** `wellsync alerts`: what needs a person, and what a person says of it. */
import { Option } from 'commander';
import { type AlertKind, alertKinds, type AlertState, alertStates } from '../../core/alerts/kinds.ts';
import { counted } from '../../core/base/text.ts';
import { listLockWaitMs } from '../../core/run/run.ts';
import { type Call, type Flags, type ProgramCommand, type Texts, wholeNumber } from '../command.ts';
import { operatorName } from '../process/operator.ts';

const groupHelp = 'and all of its kind, job and cause: what one line of the list is';

const kinds = Object.keys(alertKinds) as readonly AlertKind[];

export function addAlertsCommand(program: ProgramCommand): void {
  const group = program
    .command('alerts')
    .description('list what needs a person; acknowledge, resolve and accept it')
    .explained('\nAn alert id may be shortened to a unique beginning.\n', ['wellsync alerts list']);
  group
    .command('list')
    .description('list what is open, errors first')
    .addOption(new Option('--kind <kind...>', 'only of these kinds').choices(kinds))
    .addOption(new Option('--state <state...>', 'in these states instead').choices(alertStates))
    .option('--target <name>', 'only of this well, equipment, file or other target')
    .option('--since <day>', 'opened from this day on (or an ISO date-time)')
    .option('--limit <count>', 'at most so many', wholeNumber, 1_000)
    .option('--cursor <cursor>', 'go on after a list: the cursor that it gave')
    .explained(listExplanation, listExamples)
    .runs(listCommand);
  group
    .command('show')
    .argument('<alert>', 'the id of an alert, or a unique beginning of it')
    .description('show an alert with all of its changes')
    .explained('', ['wellsync alerts show 4f2a9c'])
    .runs(showCommand);
  group
    .command('ack')
    .argument('<alert...>', 'ids of alerts, or unique beginnings of them')
    .description('acknowledge alerts: they are known, and silent until they are worse')
    .option('--group', groupHelp)
    .requiredOption('--because <text>', 'why, for whoever asks later')
    .option('--until <day>', 'silent before this day (or an ISO date-time); without it, for good')
    .explained(ackExplanation, ['wellsync alerts ack 4f2a9c --because "workover until May" --until 2024-05-01'])
    .runs(ackCommand);
  group
    .command('resolve')
    .argument('<alert...>', 'ids of alerts, or unique beginnings of them')
    .description('resolve alerts: they are solved, or will never be')
    .option('--group', groupHelp)
    .requiredOption('--because <text>', 'why, for whoever asks later')
    .explained(resolveExplanation, [
      'wellsync alerts resolve 4f2a9c --because "the well was renamed"',
      'wellsync alerts resolve 4f2a9c --group --because "these wells were sold"',
    ])
    .runs(resolveCommand);
  group
    .command('accept')
    .argument('<alert...>', 'ids of alerts, or unique beginnings of them')
    .description('accept records in quarantine as they are')
    .option('--group', groupHelp)
    .requiredOption('--because <text>', 'why, for whoever asks later')
    .explained(acceptExplanation, ['wellsync alerts accept 4f2a9c --because "the meter was replaced that day"'])
    .runs(acceptCommand);
}

const acceptExplanation = `
The record stays in quarantine, and out of daily_production; it is no exit code 3
any more, however often it is read. Another content of it is quarantined again.
For a gauge that died there is export.nullable in the configuration.
`;

const listExplanation = `
Many alerts of one cause are one line, with the id of one of them: --kind or
--target lists each, --json all, and ack, resolve and accept take --group. What
is acknowledged or resolved is listed with --state. A warehouse that another
process holds is waited for ${listLockWaitMs / 1_000} s at most.
`;

const listExamples = [
  'wellsync alerts list',
  'wellsync alerts list --kind well-failed --json',
  'wellsync alerts list --state acknowledged resolved --since 2024-03-01',
];

const ackExplanation = `
An acknowledged alert is no exit code 3, and no message. It opens again when it
is worse (more rows or days, or an error where it was a warning), and when its
time is over and it is seen again.
`;

const resolveExplanation = `
What the work sees again opens again. Held rows end with their release (wellsync
runs release), and a record in quarantine when it comes right, leaves, or is
accepted (wellsync alerts accept).
`;

type ListOptions = Texts<'target' | 'since' | 'cursor'> & {
  readonly limit: number;
  readonly kind?: readonly AlertKind[];
  readonly state?: readonly AlertState[];
};

async function listCommand(call: Call<ListOptions>): Promise<void> {
  const { listAlerts, requestAlerts } = await import('../../app/alerts/alerts.ts');
  const { alertListText } = await import('../text/alerts.ts');
  const { options, output } = call;
  const { kind, state, target } = options;
  const config = await call.config();
  const frame = { timeZone: config.timeZone, nowMs: Date.now(), names: { since: '--since' } };
  const filter = requestAlerts({ ...options, kinds: kind, states: state }, frame);
  const lockWaitMs = Math.min(config.warehouse.lockWaitMs, listLockWaitMs);
  await using app = await call.openStored(config, { lockWaitMs });
  const list = await listAlerts(app, filter);
  const isWhole = kind !== undefined || target !== undefined;
  await output.print(alertListText(list.alerts, { width: output.width, isWhole }), list);
  if (list.next !== null) output.say(`There are more: go on with the same filters and --cursor ${list.next}`);
}

async function showCommand(call: Call): Promise<void> {
  const { showAlert } = await import('../../app/alerts/alerts.ts');
  const { alertText } = await import('../text/alerts.ts');
  await using app = await call.openStored();
  const alert = await showAlert(app, call.args[0] ?? '', Date.now());
  await call.output.print(alertText(alert), alert);
}

async function ackCommand(call: Call<Texts<'until'> & Statement>): Promise<void> {
  const { acknowledgeAlerts } = await import('../../app/alerts/alerts.ts');
  const { namedInstant } = await import('../../core/time/production-day.ts');
  const { until } = call.options;
  const config = await call.config();
  const untilMs = until === undefined ? undefined : namedInstant('--until', until, config.timeZone);
  await using app = await call.openStored(config);
  const done = await acknowledgeAlerts(app, { ...statementOf(call), untilMs });
  await call.output.print(`Acknowledged ${counted(done.alerts.length, 'alert')}.`, done);
}

async function resolveCommand(call: Call<Statement>): Promise<void> {
  const { resolveAlerts } = await import('../../app/alerts/alerts.ts');
  const { keeperOfCommand } = await import('../../app/alerts/keeper.ts');
  await using app = await call.openStored();
  const done = await resolveAlerts(app, statementOf(call));
  await keeperOfCommand(app, 'command').sendInTime();
  await call.output.print(`Resolved ${counted(done.alerts.length, 'alert')}.`, done);
}

async function acceptCommand(call: Call<Statement>): Promise<void> {
  const { acceptAlerts } = await import('../../app/alerts/alerts.ts');
  const { keeperOfCommand } = await import('../../app/alerts/keeper.ts');
  await using app = await call.openStored();
  const done = await acceptAlerts(app, statementOf(call));
  await keeperOfCommand(app, 'command').sendInTime();
  await call.output.print(`Accepted ${counted(done.alerts.length, 'record')}.`, done);
}

type Statement = Flags<'group'> & { readonly because: string };

function statementOf({ args, options: { because, group } }: Call<Statement>) {
  return { ids: args, withGroups: group === true, by: operatorName(), because, atMs: Date.now() };
}
