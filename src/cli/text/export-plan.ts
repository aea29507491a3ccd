/** The text of an export plan for a terminal. Pure. */
import { tierText } from '../../core/daily/due-window.ts';
import type { ExportPlan, PlannedWindow } from '../../app/exports/export-plan.ts';
import { tableText } from './table.ts';
import { counted, figure, instantText } from '../../core/base/text.ts';

const mostWindowsShown = 20;

/** The first windows, and the number of windows by lookback. */
export function planText({ windows }: ExportPlan): string {
  const chunks = new Set(windows.map(({ chunk }) => chunk)).size;
  const head = `Nothing is started. It would read ${counted(windows.length, 'window')}${windows.length === 0 ? '' : ` in ${counted(chunks, 'queue item')}`}.`;
  if (windows.length === 0) return head;
  const table = tableText(
    [{ head: 'uwi' }, { head: 'from' }, { head: 'to' }, { head: 'reads' }],
    windows
      .slice(0, mostWindowsShown)
      .map((window) => [window.uwi, shortText(window.from), shortText(window.to), reasonText(window)]),
  );
  const more = windows.length - mostWindowsShown;
  const rest = more > 0 ? `(${counted(more, 'more window')}: --json)` : '';
  return [head, '', table, ...(rest === '' ? [] : [rest]), '', lookbackTable(windows)].join('\n');
}

function shortText(iso: string): string {
  return instantText(Date.parse(iso));
}

/** Text of a lookback of no days. */
const newDaysAlone = tierText({ days: 0 });

/** Why a window has its bounds, and whether an incremental read of a well with rows is a verified one. */
function reasonText(window: PlannedWindow): string {
  const { mode, lookback, isVerified } = window;
  if (mode === 'backfill') return 'backfill';
  if (lookback === null) return 'whole history';
  return isVerified ? `${boundsText(window)}, verified` : boundsText(window);
}

function boundsText({ lookback, reach }: PlannedWindow): string {
  if (reach === 'last-day') return 'all since its last row';
  if (reach === 'hole') return 'new days, and again from its oldest hole';
  return lookback === newDaysAlone ? 'new days' : `new days, and again ${lookback}`;
}

function lookbackTable(windows: readonly PlannedWindow[]): string {
  const counts = new Map<string, number>();
  for (const window of windows) counts.set(reasonText(window), (counts.get(reasonText(window)) ?? 0) + 1);
  return tableText(
    [{}, { align: 'right' }],
    [...counts].map(([reason, count]) => [reason, figure(count)]),
    '  ',
  );
}
