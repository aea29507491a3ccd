/** The hash chain of the deletion audit, computed from its rows again (decision 6): no row was changed, removed or added. */
import { createHash } from 'node:crypto';
import type { Evidence, TableRow, Violation } from '../evidence.ts';
import { msOf, numberOf, rowsOf, textOf, violated } from './tables.ts';

const emptyHash = '0'.repeat(64);

/** Follows the chain from its first row to its separately stored head. */
export function checkChain(evidence: Evidence): readonly Violation[] {
  const rows = rowsOf(evidence, 'deletion_audit').toSorted((left, right) => seqOf(left) - seqOf(right));
  const violations = rows.flatMap((row, index) => violationsOfRow(row, rows[index - 1], index + 1));
  const heads = rowsOf(evidence, 'deletion_audit_head');
  const [head] = heads;
  const last = rows.at(-1);
  if (last === undefined && heads.length === 0) return violations;
  const isHead = heads.length === 1 && head !== undefined && numberOf(head, 'rows') === rows.length;
  const isLast = isHead && textOf(head, 'hash') === (last === undefined ? emptyHash : textOf(last, 'hash'));
  return isLast
    ? violations
    : [...violations, violated('G6', 'the head of the audit is not its last row', { rows: rows.length })];
}

function seqOf(row: TableRow): number {
  return numberOf(row, 'seq') ?? 0;
}

function violationsOfRow(row: TableRow, before: TableRow | undefined, seq: number): readonly Violation[] {
  const at = { seq: seqOf(row), atMs: msOf(row, 'noted_at') };
  const previous = before === undefined ? emptyHash : textOf(before, 'hash');
  return [
    ...(seqOf(row) === seq ? [] : [violated('G6', `row ${seq} of the audit is missing, or there twice`, at)]),
    ...(textOf(row, 'previous_hash') === previous
      ? []
      : [violated('G6', 'a row of the audit does not follow the one before', at)]),
    ...(textOf(row, 'hash') === hashOf(row)
      ? []
      : [violated('G6', 'a row of the audit was changed after it was written', at)]),
  ];
}

/** Version of the digest that has who retried the run; rows of storms are of no other. */
const digestVersion = 2;

/** SHA-256 of a JSON array of the fields in the order that is part of the stored format. */
export function hashOf(row: TableRow): string {
  const text = (column: string): string | null =>
    row[column] === null || row[column] === undefined ? null : textOf(row, column);
  const number = (column: string): number | null => numberOf(row, column) ?? null;
  const fields = [
    digestVersion,
    text('previous_hash'),
    number('seq'),
    msOf(row, 'noted_at'),
    ...['event', 'run_id', 'plan_id'].map(text),
    number('unit'),
    ...['requested_by', 'service_url', 'kind', 'owner_id', 'source_id', 'outcome'].map(text),
    number('answer'),
    ...['words', 'verification', 'retried_by'].map(text),
  ];
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex');
}
