/** Decides how the plan of an export reads, before anything is started. Pure. */
import { tierText } from '../core/lookback.ts';
import type { PlannedUnit } from '../core/run.ts';
import { windowSpecSchema } from '../../jobs/daily-production-plan.ts';
import { tableText } from './table.ts';
import { counted, figure, instantText } from './words.ts';

const mostWindowsShown = 20;

export interface Plan {
  readonly job: string;
  readonly units: readonly PlannedUnit[];
}

export function planDocument({ job, units }: Plan) {
  return { job, windows: units.map(windowOf) };
}

function windowOf({ target, chunk, spec }: PlannedUnit) {
  const { fromMs, toMs, mode, lookback } = windowSpecSchema.parse(spec);
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return { uwi: target, from, to, mode, lookback: lookback === undefined ? null : tierText(lookback), chunk };
}

/** The first windows, and how many there are of each lookback. */
export function planText({ units }: Plan): string {
  const windows = units.map(windowOf);
  const chunks = new Set(units.map(({ chunk }) => chunk)).size;
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
  return [head, '', table, ...(rest === '' ? [] : [rest]), '', tallyText(windows)].join('\n');
}

function shortText(iso: string): string {
  return instantText(Date.parse(iso));
}

/** A lookback of no days. */
const newDaysAlone = tierText({ days: 0 });

/** Why a window is what it is. */
function reasonText({ mode, lookback }: Pick<ReturnType<typeof windowOf>, 'mode' | 'lookback'>): string {
  if (mode === 'backfill') return 'backfill';
  if (lookback === null) return 'whole history';
  return lookback === newDaysAlone ? 'new days' : `new days, and again ${lookback}`;
}

function tallyText(windows: ReadonlyArray<ReturnType<typeof windowOf>>): string {
  const tally = new Map<string, number>();
  for (const window of windows) tally.set(reasonText(window), (tally.get(reasonText(window)) ?? 0) + 1);
  return tableText(
    [{}, { align: 'right' }],
    [...tally].map(([reason, count]) => [reason, figure(count)]),
    '  ',
  );
}
