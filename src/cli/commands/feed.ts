/** `wellsync feed`: files of the warehouse for other pipelines. */
import type { Published, VerifiedFeed } from '../../app/warehouse/feed.ts';
import { counted, figure, printable } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Call, Flags, Layout, ProgramCommand } from '../command.ts';
import { listenForStop } from '../process/stop-signals.ts';

export function addFeedCommand(program: ProgramCommand): void {
  const group = program
    .command('feed')
    .description('publish the warehouse as files for other pipelines, and check them');
  group
    .command('publish')
    .description('write the months that were touched since, and all tables that changed')
    .option('--all', 'write every month and table again, whatever changed')
    .explained(publishing, ['wellsync feed publish', 'wellsync feed publish --all'])
    .runs(publishToFeed);
  group
    .command('verify')
    .description('read every file that the manifest names, and compare it with the manifest and the warehouse')
    .explained(verifying, ['wellsync feed verify', 'wellsync feed verify --json'])
    .runs(verifyPublished);
}

const publishing = `
Goes to feed.url. Readers begin with manifest.json there, which is replaced in one
step. It may be stopped at any time: what is due stays due. Workers do the same
after each run, unless feed.afterRuns is false. --all also replaces files that
were lost or damaged.
`;

const verifying = `
Ends with 1 where a file is missing, damaged or holds other rows than the warehouse,
and names each. wellsync feed publish --all writes them again.
`;

/** SIGINT ends it between two files; what was published before stays. */
async function publishToFeed(call: Call<Flags<'all'>>): Promise<void> {
  const { publish } = await import('../../app/warehouse/feed.ts');
  using stop = listenForStop(exitCodes.cancelled);
  const { options, output } = call;
  await using app = await call.openStored();
  using progress = await call.showProgress('months');
  const how = { all: options.all === true, signal: stop.signal, onPass: progress.show };
  const published = await publish(app, how);
  await output.report(call.layout.folded(publishedText(published), output.width), published);
}

function publishedText({
  address,
  version,
  isNew,
  months,
  files,
  rows,
  ...rest
}: Published & { address: string }): string {
  const location = printable(address);
  const removed = rest.removed === 0 ? [] : [`Removed ${counted(rest.removed, 'old file')}.`];
  if (!isNew) return [`The feed in ${location} is as the warehouse: version ${version}.`, ...removed].join('\n');
  const wrote = `${counted(files, 'file')} with ${figure(rows)} rows`;
  const due =
    rest.monthsDue === 0 ? [] : [`${counted(rest.monthsDue, 'month')} still due: commits touched them meanwhile.`];
  return [
    `Published version ${version} to ${location}: ${counted(months, 'month')}, ${wrote}, ${counted(rest.restatements, 'restatement')}.`,
    ...removed,
    ...due,
  ].join('\n');
}

/** Ends with 1 if a reader would find a fault, or nothing. */
async function verifyPublished(call: Call): Promise<ExitCode> {
  const { verify } = await import('../../app/warehouse/feed.ts');
  using stop = listenForStop(exitCodes.cancelled);
  const { output, layout } = call;
  await using app = await call.openStored();
  using progress = await call.showProgress('files');
  const verified = await verify(app, { signal: stop.signal, onFile: progress.show });
  const { manifest, faults, address } = verified;
  const rows = manifest?.files.reduce((sum, file) => sum + file.rows, 0) ?? 0;
  const document = { address, version: manifest?.version ?? null, files: manifest?.files.length ?? 0, rows, faults };
  await output.report(layout.folded(verifiedText(verified, rows, layout), output.width), document);
  return manifest === undefined || faults.length > 0 ? exitCodes.failed : exitCodes.done;
}

function verifiedText({ address, manifest, faults }: VerifiedFeed, rows: number, { tableText }: Layout): string {
  const location = printable(address);
  if (manifest === undefined) return `Nothing was published to ${location} yet. Publish it: wellsync feed publish`;
  const { version, files, monthsDue } = manifest;
  const named = `${counted(files.length, 'file')} of version ${version} in ${location}`;
  const due = monthsDue === 0 ? '' : ` ${counted(monthsDue, 'month')} due at its publication.`;
  if (faults.length === 0) return `All whole: ${named}, ${figure(rows)} rows.${due}`;
  const table = faults.map(({ what, fault }) => [printable(what), printable(fault)]);
  return [
    `${counted(faults.length, 'fault')} in ${named}`,
    tableText([{}, {}], table, '  '),
    'Write them again: wellsync feed publish --all',
  ].join('\n');
}
