import { backUp, type Backup } from '../../app/warehouse/backup.ts';
import type { TableOrder } from '../../app/warehouse/table-order.ts';
import { counted, figure, instantText, printable } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { tableText } from '../text/table.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface BackupOptions {
  readonly force?: true;
}

export async function backUpTo(invocation: Invocation<BackupOptions>): Promise<ExitCode> {
  const { output, options, args } = invocation;
  await using app = openApp(configOf(invocation), output);
  const made = await backUp(app, args[0] ?? '', options.force === true);
  if (output.json) await output.document(made);
  else await output.report(backupText(made));
  return exitCodes.done;
}

function backupText({ file, warehouseId, interrupted, auditHead }: Backup): string {
  if (warehouseId === null) {
    return `Copied to ${printable(file)} as it is: the warehouse is of an earlier schema.`;
  }
  return [
    `Copied to ${printable(file)}, as the warehouse ${warehouseId}.`,
    ...(interrupted.length === 0 ? [] : [`${counted(interrupted.length, 'run')} interrupted in the copy.`]),
    ...(auditHead === null || auditHead.rows === 0
      ? []
      : [
          `Audit: ${counted(auditHead.rows, 'row')}. Hold the original to it by:`,
          `  wellsync audit verify --kept ${auditHead.hash}`,
        ]),
  ].join('\n');
}

export async function showWarehouse(invocation: Invocation<object>): Promise<ExitCode> {
  const { output } = invocation;
  await using app = openApp(configOf(invocation), output);
  const { historyHorizonMs, ...described } = await app.warehouse.describe();
  const historyHorizon = historyHorizonMs === null ? null : new Date(historyHorizonMs).toISOString();
  if (output.json) {
    await output.document({ ...described, historyHorizon });
    return exitCodes.done;
  }
  const { location, bytes, schemaVersion, warehouseId, service, oldestDay, newestDay, order, tables } = described;
  const lines = [
    ['warehouse', printable(location)],
    ['size', `${figure(bytes / 1_000_000)} MB`],
    ['schema version', String(schemaVersion)],
    ['id', warehouseId ?? 'none before schema version 6'],
    ['service', printable(service ?? 'none yet')],
    ['days', oldestDay === null ? 'none yet' : `${oldestDay} to ${newestDay}`],
    ['order', order === null ? 'unknown before schema version 6' : orderText(order)],
    ['history', historyHorizonMs === null ? 'whole' : `from ${instantText(historyHorizonMs)} on`],
  ];
  const rows = tables.map(({ name, rows: count }) => [name, figure(count)]);
  const counts = tableText([{ head: 'table' }, { head: 'rows', align: 'right' }], rows);
  await output.print(`${tableText([{}, {}], lines)}\n\n${counts}`);
  return exitCodes.done;
}

function orderText({ looseRows, tailNights, isUnderWay }: TableOrder): string {
  const rest = isUnderWay ? '; wellsync warehouse optimize is under way' : '';
  if (looseRows === 0) return `by well and date${rest}`;
  return `${counted(Math.round(tailNights), 'night')} in the tail, ${figure(looseRows)} rows to rewrite${rest}`;
}
