/** The text of held rows, for a terminal. Pure. */
import { counted, figure, instantText } from '../../core/base/text.ts';
import type { HeldPart, HeldRows } from '../../core/run/held-rows.ts';
import { tableText } from './table.ts';

/** What is held, and of what. */
export function heldRowsText({ targets, rows, holds, parts }: HeldRows, width: number): string {
  const isByMonth = parts.some(({ month }) => month !== null);
  const columns = [
    { head: 'of' },
    ...(isByMonth ? [{ head: 'month' }, { head: 'missing days' }] : []),
    { head: 'rows', align: 'right' as const },
    { head: 'since' },
    { head: 'held by run' },
  ];
  const table = tableText(
    columns,
    parts.map((part) => [
      part.target,
      ...(isByMonth ? [part.month ?? '', daysText(part)] : []),
      figure(part.rows),
      instantText(part.sinceMs),
      part.runId,
    ]),
    '',
    width,
  );
  const more = holds - parts.length;
  return [
    table,
    ...(more > 0 ? [`and ${counted(more, 'more hold')}`] : []),
    '',
    `${counted(rows, 'row')} of ${counted(targets, 'target')} that the service no longer has.`,
  ].join('\n');
}

function daysText({ firstDay, lastDay }: HeldPart): string {
  return firstDay === lastDay ? (firstDay ?? '') : `${firstDay} to ${lastDay}`;
}
