import { type CopiedRows, copyConfigured, type CopyWatch } from '../../app/warehouse/backup.ts';
import { counted, figure } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { listenForStop } from '../process/stop-signals.ts';
import { tableText } from '../text/table.ts';
import { configOf } from './config.ts';

/** Copies a DuckDB warehouse to PostgreSQL. SIGINT ends it between two steps; the same command goes on there. */
export async function copyWarehouse(invocation: Invocation<object>): Promise<ExitCode> {
  using stop = listenForStop(exitCodes.cancelled);
  const { output, args } = invocation;
  const [from = '', to = ''] = args;
  const copied = await copyConfigured(
    configOf(invocation),
    { from, to },
    {
      signal: stop.signal,
      onStep: progressOf((line) => output.say(line)),
    },
  );
  if (output.json) await output.document({ tables: copied });
  else await output.report(copiedText(copied));
  return exitCodes.done;
}

/** A line for each table, and more for one that takes long. */
const lineEveryMs = 5_000;

function progressOf(say: (line: string) => void): CopyWatch['onStep'] {
  let last = { table: '', atMs: 0 };
  return (table, what, rows, of) => {
    const atMs = performance.now();
    if (what === 'compared') say(`Compared ${table}: ${counted(of, 'row')}.`);
    else if (table !== last.table || atMs - last.atMs >= lineEveryMs || rows === of) {
      say(`Copied ${figure(rows)} of ${counted(of, 'row')} of ${table}.`);
      last = { table, atMs };
    }
  };
}

function copiedText(copied: readonly CopiedRows[]): string {
  const rows = copied.map(({ table, rows: count, checksum }) => [table, figure(count), checksum]);
  const total = copied.reduce((sum, { rows: count }) => sum + count, 0);
  const table = tableText([{ head: 'table' }, { head: 'rows', align: 'right' }, { head: 'checksum of both' }], rows);
  return [
    table,
    '',
    `Copied ${counted(total, 'row')}, and compared them: both warehouses hold the same.`,
    'Set WELLSYNC_WAREHOUSE to the database on every host before workers start again, and keep the file as a backup.',
  ].join('\n');
}
