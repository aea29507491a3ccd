/** A fault that is planted into a storm in which all is right, and what the checker says of it. */
import type { Evidence } from '../../evidence.ts';
import { judge } from '../check.ts';
import type { CheckRules } from '../rules.ts';
import { type Changeable, soundEvidence } from './sound-evidence.ts';

export type Storm = Changeable<Evidence>;

/** What a planted fault is, the guarantees that it violates, and what it changes. */
export type Planted = readonly [fault: string, guarantees: string, change: (storm: Storm) => void];

/** The guarantees that a storm violates after a change, each once, with blanks between. */
export function guaranteesAfter(change: (storm: Storm) => void, rules: Partial<CheckRules> = {}): string {
  return [...new Set(judge(soundEvidence(change), rules).violations.map(({ guarantee }) => guarantee))].join(' ');
}

/** The rows of a table; made if it is absent. */
export function rowsIn(storm: Storm, table: string): Record<string, unknown>[] {
  return (storm.tables[table] ??= []);
}

/** The first row of a table whose column has a value. Throws Error if there is none. */
export function rowOf(storm: Storm, table: string, column: string, value: unknown): Record<string, unknown> {
  const row = rowsIn(storm, table).find((each) => each[column] === value);
  if (row === undefined) throw new Error(`no row of ${table} has ${String(value)} as its ${column}`);
  return row;
}

/** Takes a row out of a table. */
export function removeRow(storm: Storm, table: string, column: string, value: unknown): void {
  const row = rowOf(storm, table, column, value);
  storm.tables[table] = rowsIn(storm, table).filter((each) => each !== row);
}

/** The counts of a run, in its report and in one of its units: both are changed alike. */
export function changeCounts(storm: Storm, runId: string, change: Readonly<Record<string, number>>, unit = 0): void {
  const add = (counts: Record<string, number>): void => {
    for (const [name, count] of Object.entries(change)) counts[name] = (counts[name] ?? 0) + count;
  };
  const report = reportOf(storm, runId);
  add(report['counts'] as Record<string, number>);
  const found = rowsIn(storm, 'run_unit').find((row) => row['run_id'] === runId && row['unit'] === unit);
  add(found?.['counts'] as Record<string, number>);
}

export function reportOf(storm: Storm, runId: string): Record<string, unknown> {
  return rowOf(storm, 'run', 'run_id', runId)['report'] as Record<string, unknown>;
}

/** A request of the service's log by its number. Throws Error if there is none. */
export function requestOf(storm: Storm, no: number): Storm['service']['requests'][number] {
  const request = storm.service.requests.find((each) => each.no === no);
  if (request === undefined) throw new Error(`there is no request ${no}`);
  return request;
}
