/** Deletions as a table: a line each, the most important fields in the first columns. */
import { type DeletionTarget, targetText } from '../../core/cleanup/target.ts';
import type { QueryResult } from '../../app/views/query-result.ts';
import { instantText } from '../../core/base/text.ts';

/** A row of `DeletionLedger.list`. */
type Cells = Readonly<Record<string, unknown>>;

const columns: ReadonlyArray<{ readonly name: string; readonly type: string; readonly of: (cells: Cells) => unknown }> =
  [
    { name: 'noted at', type: 'VARCHAR', of: ({ noted_at }) => instantText(Date.parse(String(noted_at))) },
    { name: 'outcome', type: 'VARCHAR', of: ({ outcome }) => outcome },
    { name: 'target', type: 'VARCHAR', of: targetOf },
    { name: 'returned', type: 'BIGINT', of: ({ answer }) => answer },
    { name: 'verified', type: 'VARCHAR', of: ({ verification }) => verification },
    { name: 'by', type: 'VARCHAR', of: ({ requested_by }) => requested_by },
    { name: 'retried by', type: 'VARCHAR', of: ({ retried_by }) => retried_by },
    { name: 'run', type: 'VARCHAR', of: ({ run_id }) => run_id },
    { name: 'message', type: 'VARCHAR', of: ({ words }) => words },
    { name: 'plan', type: 'VARCHAR', of: ({ plan_id }) => plan_id },
    { name: 'service', type: 'VARCHAR', of: ({ service_url }) => service_url },
    { name: 'row', type: 'BIGINT', of: ({ seq }) => seq },
  ];

function targetOf({ kind, owner_id, source_id }: Cells): string {
  return targetText({ kind, ownerId: owner_id, sourceId: source_id } as DeletionTarget);
}

/** The deletions in a form for people: the target in one cell, and empty cells for null. */
export function readableDeletions(list: QueryResult): QueryResult {
  return { columns: columns.map(({ name, type }) => ({ name, type })), rows: readableRows(list) };
}

async function* readableRows({ columns: given, rows }: QueryResult): AsyncGenerator<readonly unknown[]> {
  for await (const row of rows) {
    const cells = Object.fromEntries(given.map(({ name }, position) => [name, row[position]]));
    yield columns.map(({ of }) => of(cells) ?? '');
  }
}
