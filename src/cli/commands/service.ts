/** `wellsync service`: shows and changes the service that the warehouse belongs to. */
import type { Confirmation } from '../../app/service/service-requests.ts';
import { counted, instantText, listed } from '../../core/base/text.ts';
import type { Call, Flags, ProgramCommand } from '../command.ts';
import { questionAt, operatorName } from '../process/operator.ts';

export function addServiceCommand(program: ProgramCommand): void {
  const group = program.command('service').description('show or change the service that the warehouse belongs to');
  group
    .command('show')
    .description('show the service of the warehouse, and its other names')
    .explained('', ['wellsync service show', 'wellsync service show --json'])
    .runs(showService);
  group
    .command('release')
    .description('send requests although the service asked all to wait (Retry-After)')
    .option('--dry-run', 'say how long the service asked to wait, and change nothing')
    .explained(releaseExplanation, ['wellsync service release --dry-run'])
    .runs(releaseService);
  group
    .command('adopt')
    .argument('[service]', 'its address, or its service.id; where records name only one, that is the default')
    .description('say once which service a warehouse of an earlier version belongs to')
    .option('--dry-run', 'say what would change, and change nothing')
    .option('--yes', 'do not ask; needed without a terminal')
    .explained(adoptExplanation, ['wellsync service adopt https://pds.example.com --yes'])
    .runs(adoptService);
  group
    .command('moved')
    .argument('<old>', 'the address or service.id that the warehouse knows the service by')
    .argument('<new>', 'its address or service.id from now on')
    .description('keep the warehouse of a service whose address changed')
    .option('--dry-run', 'say what is known by the old name, and change nothing')
    .option('--yes', 'do not ask; needed without a terminal')
    .explained(movedExplanation, movedExamples)
    .runs(moveService);
}

const releaseExplanation = `
A Retry-After of the service holds the requests of all workers until then, for at
most queue.maxHoldMs. A service that is down holds them as well; one request after
another tries whether it answers. wellsync doctor and wellsync runs show tell of
both. Lift them where the service is known to answer again.
`;

const adoptExplanation = `
A warehouse belongs to one service, recorded with its first run. One that an
earlier version filled belongs to the service that its records name; where they
name several or none, nothing is written until this command has named it.
`;

const movedExplanation = `
The profile, the known pushes, the plans and the runs of OLD are those of NEW from
now on; the audit of deletions stays as it was written. Workers that are configured
for OLD stop. Set service.url (or service.id) of all to NEW, then start them again.
`;

const movedExamples = [
  'wellsync service moved https://pds-old.example.com https://pds.example.com --dry-run',
  'wellsync service moved https://pds.example.com production --yes',
];

type ServiceFlags = Flags<'dryRun' | 'yes'>;

async function showService(call: Call): Promise<void> {
  const { serviceStatus } = await import('../../app/service/service-requests.ts');
  const { output } = call;
  await using app = await call.openStored();
  const status = await serviceStatus(app);
  const names = status.names.map(({ address, movedAtMs, movedBy: by }) => ({
    document: { address, since: new Date(movedAtMs).toISOString(), by },
    text: `Also known as ${address}, since ${instantText(movedAtMs)} by ${by}.`,
  }));
  const owner = status.service === null ? 'belongs to no service yet' : `belongs to the service ${status.service}`;
  const lines = [`${status.warehouse} ${owner}.`, ...names.map(({ text }) => text)];
  await output.print(lines.join('\n'), { ...status, names: names.map(({ document }) => document) });
}

async function adoptService(call: Call<ServiceFlags>): Promise<void> {
  const { adoptService: adopt } = await import('../../app/service/service-requests.ts');
  const { output, options, args } = call;
  await using app = await call.openStored();
  const service = await adopt(app, args[0], confirmationOf(call));
  const dryRun = options.dryRun === true;
  const warehouse = app.warehouse.location;
  const text = `${warehouse} ${dryRun ? 'would belong' : 'belongs'} to the service ${service}.`;
  await output.report(text, { service, warehouse, dryRun });
}

async function moveService(call: Call<ServiceFlags>): Promise<void> {
  const { moveService: move, serviceStatus } = await import('../../app/service/service-requests.ts');
  const { output, options, args } = call;
  await using app = await call.openStored();
  const [from = '', to = ''] = args;
  const records = await move(app, [from, to], confirmationOf(call));
  const { service } = await serviceStatus(app);
  const dryRun = options.dryRun === true;
  const { profiles, runs, pushes, plans } = records;
  const known = listed([
    counted(profiles, 'profile'),
    counted(runs, 'run'),
    counted(pushes, 'push', 'pushes'),
    counted(plans, 'cleanup plan'),
  ]);
  const ending = dryRun ? 'Dry run: nothing was changed.' : `The warehouse belongs to the service ${service ?? ''}.`;
  await output.report(`Known by the old name: ${known}.\n${ending}`, { service, ...records, dryRun });
}

async function releaseService(call: Call<ServiceFlags>): Promise<void> {
  const { releaseService: release } = await import('../../app/service/service-requests.ts');
  const { heldBackTexts } = await import('../text/runs.ts');
  const { output, options } = call;
  const dryRun = options.dryRun === true;
  await using app = await call.openApp();
  const heldBack = await release(app, { dryRun });
  const { hold, outage } = heldBackTexts(heldBack);
  const reasons = [hold, outage].flatMap((text) => (text === undefined ? [] : [sentence(text)]));
  const released =
    'The hold is lifted: workers send requests again within seconds, and what met it is tried again at its next attempt.';
  const ending = dryRun ? 'Dry run: nothing was changed.' : released;
  const text = reasons.length === 0 ? 'No hold: requests may be sent.' : [...reasons, ending].join('\n');
  await output.print(text, { ...heldBack, dryRun });
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function confirmationOf(call: Call<ServiceFlags>): Confirmation {
  const { dryRun = false, yes = false } = call.options;
  return { by: operatorName(), dryRun, yes, ask: questionAt(call) };
}
