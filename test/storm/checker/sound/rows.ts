/** Rows of daily production as a dump has them. */
import type { RecordBody, TableRow } from '../../evidence.ts';
import { columnOf, fields } from '../record.ts';
import { at, instant, runIds } from './world.ts';

function recordColumns(uwi: string, record: RecordBody): TableRow {
  const required = ['oilRate', 'gasRate', 'waterRate', 'tubingPressure', 'casingPressure'];
  const day = String(record['date']).slice(0, 10);
  const values = [...fields.keys()].map((name): [string, unknown] => [
    columnOf(name),
    record[name] ?? (required.includes(name) ? 0 : null),
  ]);
  const extras = 'operator' in record ? { operator: record['operator'] } : null;
  const own = { uwi, xid: record['xid'], date: instant(Date.parse(`${day}T00:00:00Z`)), production_day: day };
  return { ...own, ...Object.fromEntries(values), extras };
}

const firstCommit = instant(at(18));
export const calmCommit = instant(at(135));

export function currentRow(
  uwi: string,
  record: RecordBody,
  inserted: string = runIds.first,
  changed: string = inserted,
): TableRow {
  const changedAt = changed === runIds.calm ? calmCommit : firstCommit;
  const written = { inserted_run_id: inserted, changed_run_id: changed, changed_at: changedAt, counts: true };
  return { ...recordColumns(uwi, record), ...written };
}

export function endedRow(record: RecordBody | undefined, change: string, next: string | null): TableRow {
  const ended = {
    change,
    run_id: runIds.calm,
    noticed_at: calmCommit,
    known_from: firstCommit,
    known_run_id: runIds.first,
  };
  return { ...recordColumns('W1', record ?? {}), ...ended, next_xid: next, restatement_no: null };
}
