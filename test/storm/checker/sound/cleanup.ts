/** The plan of a cleanup, and its audit with numbers and hashes. */
import type { TableRow } from '../../evidence.ts';
import { hashOf } from '../audit-chain.ts';
import { at, instant, runIds, service } from './world.ts';

export const targets = [
  { kind: 'time-series', owner_id: 'E1', source_id: 'T1' },
  { kind: 'micro-strings', owner_id: 'W1', source_id: null },
];

/** The rows of an audit with their numbers and hashes: also of rows that a test has changed. */
export function chained(rows: readonly TableRow[]): readonly TableRow[] {
  let previous = '0'.repeat(64);
  return rows.map((row, index) => {
    const linked = { ...row, seq: index + 1, previous_hash: previous };
    previous = hashOf(linked);
    return { ...linked, hash: previous };
  });
}

function auditRow(
  unit: number,
  second: number,
  event: string,
  outcome: string | null = null,
  verification: string | null = null,
): TableRow {
  const by = {
    run_id: runIds.cleanup,
    plan_id: 'plan-1',
    requested_by: 'root@vm',
    service_url: service,
    retried_by: null,
  };
  const result = { outcome, answer: outcome === 'deleted' ? 1 : null, words: null, verification, digest_version: 2 };
  return { noted_at: instant(at(second)), event, unit, ...targets[unit], ...by, ...result };
}

export const audit = chained([
  auditRow(0, 71, 'intent'),
  auditRow(1, 71, 'intent'),
  auditRow(0, 74, 'outcome', 'deleted', 'gone'),
  auditRow(1, 74, 'outcome', 'already gone', 'no read'),
]);
