import { publish, type Published, type VerifiedFeed, verify } from '../../app/warehouse/feed.ts';
import { counted, figure, printable } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { Output } from '../output.ts';
import { listenForStop } from '../process/stop-signals.ts';
import { folded, tableText } from '../text/table.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface PublishOptions {
  readonly all?: true;
}

/** SIGINT ends it between two files; what was published before stays. */
export async function publishToFeed(invocation: Invocation<PublishOptions>): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  const { options, output } = invocation;
  await using app = openApp(configOf(invocation), output);
  using progress = await progressOf(output, 'months');
  const published = await publish(app, {
    all: options.all === true,
    signal: stop.signal,
    onPass: progress.show,
  });
  if (output.json) await output.document(published);
  else await output.report(folded(publishedText(published), output.width));
  return exitCodes.done;
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
  const place = printable(address);
  const removed = rest.removed === 0 ? [] : [`Removed ${counted(rest.removed, 'old file')}.`];
  if (!isNew) return [`The feed in ${place} is as the warehouse: version ${version}.`, ...removed].join('\n');
  const wrote = `${counted(files, 'file')} with ${figure(rows)} rows`;
  const due =
    rest.monthsDue === 0 ? [] : [`${counted(rest.monthsDue, 'month')} still due: commits touched them meanwhile.`];
  return [
    `Published version ${version} to ${place}: ${counted(months, 'month')}, ${wrote}, ${counted(rest.restatements, 'restatement')}.`,
    ...removed,
    ...due,
  ].join('\n');
}

/** Ends with 1 if a reader would find a fault, or nothing. */
export async function verifyPublished(invocation: Invocation<object>): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  const { output } = invocation;
  await using app = openApp(configOf(invocation), output);
  using progress = await progressOf(output, 'files');
  const verified = await verify(app, { signal: stop.signal, onFile: progress.show });
  const { manifest, faults, address } = verified;
  const rows = manifest?.files.reduce((sum, file) => sum + file.rows, 0) ?? 0;
  const document = { address, version: manifest?.version ?? null, files: manifest?.files.length ?? 0, rows, faults };
  if (output.json) await output.document(document);
  else await output.report(folded(verifiedText(verified, rows), output.width));
  return manifest === undefined || faults.length > 0 ? exitCodes.failed : exitCodes.done;
}

function verifiedText({ address, manifest, faults }: VerifiedFeed, rows: number): string {
  const place = printable(address);
  if (manifest === undefined) return `Nothing was published to ${place} yet. Publish it: wellsync feed publish`;
  const { version, files, monthsDue } = manifest;
  const named = `${counted(files.length, 'file')} of version ${version} in ${place}`;
  const due = monthsDue === 0 ? '' : ` ${counted(monthsDue, 'month')} due at its publication.`;
  if (faults.length === 0) return `All whole: ${named}, ${figure(rows)} rows.${due}`;
  const table = faults.map(({ what, fault }) => [printable(what), printable(fault)]);
  return [
    `${counted(faults.length, 'fault')} in ${named}`,
    tableText([{}, {}], table, '  '),
    'Write them again: wellsync feed publish --all',
  ].join('\n');
}

async function progressOf(
  output: Output,
  what: string,
): Promise<{ readonly show: (done: number, of: number) => void } & Disposable> {
  if (!output.showsProgress) return { show: () => {}, [Symbol.dispose]: () => {} };
  const { createBar } = await import('../text/progress-display.ts');
  const bar = createBar(output);
  return {
    show: (done, of) => bar.show(Math.min(done, of), Math.max(of, 1), [`${figure(done)} of ${figure(of)} ${what}`]),
    [Symbol.dispose]: () => bar.end(),
  };
}
