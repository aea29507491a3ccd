/** Owns the commit of definitions in DuckDB: records, history and outcomes in one transaction (G1, G2), for any of their tables. */
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  compareDefinitions,
  settleDefinitions,
  type Definition,
  type DefinitionChange,
} from '../../core/definition.ts';
import type { UnitOutcome } from '../../core/run.ts';
import type { CommitDefinitions } from '../definitions.ts';
import { openAmong, settleOpen } from './run-units.ts';
import { instant, jsonText, readRows, relationOf } from './sql.ts';

/** A table of definitions: `columns` with their types, of which `owner` names the target, and `key` the record within it. */
export interface DefinitionTable<Reading, Row extends object> {
  readonly name: string;
  readonly columns: Readonly<Record<keyof Row & string, string>>;
  readonly owner: keyof Row & string;
  readonly key: keyof Row & string;
  readonly rowsOf: (reading: Reading) => readonly Row[];
  readonly definitionOf: (row: Row) => Definition;
}

type Kept<Row> = Definition & { readonly row: Row; readonly insertedRunId: string | null };

/** Opened by the caller: the transaction of the commit. */
export async function commitDefinitions<
  Reading extends { readonly unit: number; readonly target: string },
  Row extends object,
>(
  connection: DuckDBConnection,
  table: DefinitionTable<Reading, Row>,
  { runId, readings, shrink, committedAtMs }: Parameters<CommitDefinitions<Reading>>[0],
): Promise<readonly UnitOutcome[]> {
  const units = readings.map(({ unit }) => unit);
  const open = await openAmong(connection, runId, units);
  const unsettled = readings.filter(({ unit }) => open.has(unit));
  if (unsettled.length === 0) return [];
  const targets = unsettled.map(({ target }) => target);
  const stored = await readStored(connection, table, targets);
  const settled = unsettled.map((reading) => {
    const standing = stored.get(reading.target) ?? [];
    const read = table.rowsOf(reading).map((row) => keptOf(table, row, runId));
    const comparison = compareDefinitions(standing, read);
    return settleDefinitions({ ...reading, read: read.length }, standing.length, comparison, shrink);
  });
  const changes = settled.flatMap((each) => each.changes);
  if (changes.length > 0) await writeChanges(connection, table, changes, { runId, atMs: committedAtMs });
  const outcomes = settled.map(({ outcome }) => outcome);
  await settleOpen(connection, runId, outcomes);
  return outcomes;
}

function keptOf<Row extends object>(
  { definitionOf }: Pick<DefinitionTable<never, Row>, 'definitionOf'>,
  row: Row,
  insertedRunId: string | null,
): Kept<Row> {
  return { ...definitionOf(row), row, insertedRunId };
}

async function readStored<Row extends object>(
  connection: DuckDBConnection,
  table: DefinitionTable<never, Row>,
  targets: readonly string[],
): Promise<ReadonlyMap<string, readonly Kept<Row>[]>> {
  const rows = await readRows<Row & { readonly inserted_run_id: string | null }>(
    connection,
    `SELECT ${namesOf(table).join(', ')}, inserted_run_id FROM ${table.name}
     WHERE ${table.owner} IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`,
    [jsonText(targets)],
  );
  const stored = new Map<string, Kept<Row>[]>(targets.map((target) => [target, []]));
  for (const { inserted_run_id: insertedRunId, ...rest } of rows) {
    const row = rest as unknown as Row;
    stored.get(String(row[table.owner]))?.push(keptOf(table, row, insertedRunId));
  }
  return stored;
}

/** Old versions into the history, then out of the table; then the new ones. */
async function writeChanges<Row extends object>(
  connection: DuckDBConnection,
  table: DefinitionTable<never, Row>,
  changes: readonly DefinitionChange<Kept<Row>>[],
  noticed: { readonly runId: string; readonly atMs: number },
): Promise<void> {
  const { name, owner, key, columns } = table;
  const names = namesOf(table).join(', ');
  // Typed by a cast, which throws: from_json makes null of what it cannot read.
  const texts = Object.fromEntries([...namesOf(table), 'inserted_run_id'].map((column) => [column, 'VARCHAR']));
  const typed = Object.entries<string>(columns)
    .map(([column, type]) => `${column}::${type}`)
    .join(', ');
  const ended = changes.flatMap((change) =>
    change.kind === 'inserted' ? [] : [{ owner: change.old.row[owner], key: change.old.key, change: change.kind }],
  );
  const written = changes.flatMap((change) =>
    change.kind === 'removed'
      ? []
      : [
          {
            ...change.next.row,
            inserted_run_id: change.kind === 'inserted' ? noticed.runId : change.old.insertedRunId,
          },
        ],
  );
  const isEnded = `t.${owner} = e.owner AND t.${key}::VARCHAR = e.key`;
  const endedRelation = relationOf('$1', { owner: 'VARCHAR', key: 'VARCHAR', change: 'VARCHAR' });
  await connection.run(`CREATE OR REPLACE TEMP TABLE ended AS FROM ${endedRelation}`, [jsonText(ended)]);
  await connection.run(
    `INSERT INTO ${name}_history (${names}, change, run_id, noticed_at, known_from, known_run_id)
     SELECT ${namesOf(table)
       .map((column) => `t.${column}`)
       .join(', ')}, e.change, $1, ${instant('$2')}, t.changed_at, t.changed_run_id
     FROM ${name} t JOIN ended e ON ${isEnded}`,
    [noticed.runId, BigInt(noticed.atMs)],
  );
  await connection.run(`DELETE FROM ${name} t USING ended e WHERE ${isEnded}`);
  await connection.run(
    `INSERT INTO ${name} (${names}, inserted_run_id, changed_run_id, changed_at)
     SELECT ${typed}, inserted_run_id, $2, ${instant('$3')} FROM ${relationOf('$1', texts)}`,
    [jsonText(written), noticed.runId, BigInt(noticed.atMs)],
  );
}

function namesOf<Row extends object>({ columns }: Pick<DefinitionTable<never, Row>, 'columns'>): readonly string[] {
  return Object.keys(columns);
}
