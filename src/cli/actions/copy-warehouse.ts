import { type CopiedRows, copyConfigured } from '../../app/copy-warehouse.ts';
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
  let last = '';
  const copied = await copyConfigured(
    configOf(invocation),
    { from, to },
    {
      signal: stop.signal,
      onStep: (table, what) => {
        if (table + what !== last) output.say(what === 'copied' ? `Copying ${table} …` : `Compared ${table}.`);
        last = table + what;
      },
    },
  );
  if (output.json) await output.document({ tables: copied });
  else await output.report(copiedText(copied));
  return exitCodes.done;
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
