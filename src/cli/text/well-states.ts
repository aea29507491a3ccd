/** The text of lists of wells that need a look, for a terminal. Pure. */
import type { StaleWell, UnknownWell, WellTrace } from '../../app/requests/well-states.ts';
import { counted, figure, instantText } from '../../core/base/text.ts';
import { tableText } from './table.ts';

export function staleTable(wells: readonly StaleWell[], limit: number, warnAfterDays: number): string {
  if (wells.length === 0) return `No well is without a new day for ${counted(warnAfterDays, 'day')} or more.`;
  const table = tableText(
    [{ head: 'uwi' }, { head: 'last day' }, { head: 'silent days', align: 'right' }, { head: '' }],
    wells.slice(0, limit).map((well) => [well.uwi, well.lastDay, figure(well.silentDays), staleRemark(well)]),
  );
  return withMore(table, wells.length - limit);
}

function staleRemark({ quarantined, unknownSince }: StaleWell): string {
  if (unknownSince !== null) return `unknown at the service since ${dayOf(unknownSince)}`;
  return quarantined === 0 ? '' : `${counted(quarantined, 'newer record')} quarantined`;
}

export function unknownTable(wells: readonly UnknownWell[], limit: number): string {
  if (wells.length === 0) return 'The service knew every well whose daily production was read.';
  const table = tableText(
    [{ head: 'uwi' }, { head: 'unknown since' }, { head: 'last day' }, { head: 'first noticed by run' }],
    wells.slice(0, limit).map((well) => [well.uwi, timeOf(well.since), well.lastDay ?? 'no row', well.runId]),
  );
  return withMore(table, wells.length - limit);
}

/** What is known of a well of which no day is known. */
export function traceText({ uwi, readUpTo, unknownSince }: WellTrace): string {
  if (unknownSince !== null) return `${uwi}: the service does not know it (404), since ${timeOf(unknownSince)}.`;
  if (readUpTo !== null) return `${uwi}: read up to ${timeOf(readUpTo)}, and the service has sent no row of it.`;
  return `${uwi}: never read. To read it: wellsync export daily-production --uwi ${quoted(uwi)}`;
}

/** A word that a shell takes whole. */
function quoted(uwi: string): string {
  return /^[\w./:-]+$/.test(uwi) ? uwi : `'${uwi.replaceAll("'", `'\\''`)}'`;
}

function withMore(table: string, more: number): string {
  return more <= 0 ? table : `${table}\n(${counted(more, 'more well')} not shown: --limit, --json)`;
}

function timeOf(iso: string): string {
  return instantText(Date.parse(iso));
}

function dayOf(iso: string): string {
  return iso.slice(0, 10);
}
