/**
 * Commits of definitions in DuckDB: records, history and outcomes in one transaction (G1, G2), for every table of
 * definitions.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  compareDefinitions,
  settleDefinitions,
  type Definition,
  type DefinitionChange,
} from '../../../core/definitions/definition.ts';
import type { UnitOutcome } from '../../../core/run/run.ts';
import type { CommitDefinitions } from '../../port/definitions.ts';
import type { SettleUnknown } from '../../port/unknown-targets.ts';
import { openAmong, settleOpen } from '../runs/run-units.ts';
import { forgetUnknown, settleUnknown, type TargetKind } from '../runs/unknown-targets.ts';
import { instant, jsonText, readRows, relationOf } from '../file/sql.ts';

/**
 * A table of definitions. `columns` with their types; `owner` is the column of the target, `key` that of the record
 * within it, `kind` what the target is.
 */
export interface DefinitionTable<Reading, Row extends object> {
  readonly name: string;
  readonly columns: Readonly<Record<keyof Row & string, string>>;
  readonly owner: keyof Row & string;
  readonly kind: TargetKind;
  readonly key: keyof Row & string;
  readonly rowsOf: (reading: Reading) => readonly Row[];
  readonly definitionOf: (row: Row) => Definition;
}

type Kept<Row> = Definition & { readonly row: Row; readonly insertedRunId: string | null };

/** Runs in the caller's transaction, that of the commit. */
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
    const current = stored.get(reading.target) ?? [];
    const read = table.rowsOf(reading).map((row) => keptOf(table, row, runId));
    const comparison = compareDefinitions(current, read);
    return settleDefinitions({ ...reading, read: read.length }, current.length, comparison, shrink);
  });
  const changes = settled.flatMap((each) => each.changes);
  if (changes.length > 0) await writeChanges(connection, table, changes, { runId, atMs: committedAtMs });
  await forgetUnknown(connection, table.kind, targets);
  const outcomes = settled.map(({ outcome }) => outcome);
  await settleOpen(connection, runId, outcomes);
  return outcomes;
}

/** Runs in the caller's transaction. */
export function settleUnknownDefinitions<Row extends object>(
  connection: DuckDBConnection,
  { kind, name, owner }: Pick<DefinitionTable<never, Row>, 'kind' | 'name' | 'owner'>,
  unknown: Parameters<SettleUnknown>[0],
): Promise<readonly UnitOutcome[]> {
  const withRows = (named: string): string => `SELECT ${owner} FROM ${name} SEMI JOIN ${named} ON ${owner} = target`;
  return settleUnknown(connection, { kind, withRows }, unknown);
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

/** Moves old versions to the history, then inserts the new ones. */
async function writeChanges<Row extends object>(
  connection: DuckDBConnection,
  table: DefinitionTable<never, Row>,
  changes: readonly DefinitionChange<Kept<Row>>[],
  noticed: Noticed,
): Promise<void> {
  const { name, owner, key, columns } = table;
  // Typed by a cast, which throws; from_json returns null for a value that it cannot read.
  const texts = Object.fromEntries([...namesOf(table), 'inserted_run_id'].map((column) => [column, 'VARCHAR']));
  const typed = Object.entries<string>(columns)
    .map(([column, type]) => `${column}::${type}`)
    .join(', ');
  const ended = changes.flatMap((change) =>
    change.kind === 'inserted'
      ? []
      : [{ owner: String(change.old.row[owner]), value: change.old.key, change: change.kind }],
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
  await endVersions(connection, table, key, ended, noticed);
  await connection.run(
    `INSERT INTO ${name} (${namesOf(table).join(', ')}, inserted_run_id, changed_run_id, changed_at)
     SELECT ${typed}, inserted_run_id, $2, ${instant('$3')} FROM ${relationOf('$1', texts)}`,
    [jsonText(written), noticed.runId, BigInt(noticed.atMs)],
  );
}

/** The run that noticed a change, and the time. */
export interface Noticed {
  readonly runId: string;
  readonly atMs: number;
}

/** Why a version ended: the service changed the record, no longer has it, or deleted it at our request. */
export interface EndedVersion {
  readonly owner: string;
  /** Value of the column that names the record within its owner. */
  readonly value: string;
  readonly change: 'updated' | 'replaced' | 'removed' | 'deleted';
}

/** Moves versions from a table to its history; `column` is the column of `value`. Skips versions that do not exist. */
export async function endVersions<Row extends object>(
  connection: DuckDBConnection,
  table: DefinitionTable<never, Row>,
  column: keyof Row & string,
  ended: readonly EndedVersion[],
  noticed: Noticed,
): Promise<void> {
  const { name, owner } = table;
  const isEnded = `t.${owner} = e.owner AND t.${column}::VARCHAR = e.value`;
  const endedRelation = relationOf('$1', { owner: 'VARCHAR', value: 'VARCHAR', change: 'VARCHAR' });
  await connection.run(`CREATE OR REPLACE TEMP TABLE ended AS FROM ${endedRelation}`, [jsonText(ended)]);
  await connection.run(
    `INSERT INTO ${name}_history (${namesOf(table).join(', ')}, change, run_id, noticed_at, known_from, known_run_id)
     SELECT ${namesOf(table)
       .map((each) => `t.${each}`)
       .join(', ')}, e.change, $1, ${instant('$2')}, t.changed_at, t.changed_run_id
     FROM ${name} t JOIN ended e ON ${isEnded}`,
    [noticed.runId, BigInt(noticed.atMs)],
  );
  await connection.run(`DELETE FROM ${name} t USING ended e WHERE ${isEnded}`);
}

function namesOf<Row extends object>({ columns }: Pick<DefinitionTable<never, Row>, 'columns'>): readonly string[] {
  return Object.keys(columns);
}
