/**
 * Commits of definitions: records, history and outcomes in one transaction (G1, G2), for every table of definitions. They
 * are few and short, and take turns: each compares its reading with what the one before has stored.
 */
import { always } from '../../../core/daily/read-order.ts';
import {
  compareDefinitions,
  type Definition,
  type DefinitionChange,
  type HeldDefinitions,
  outcomeOfOlder,
  type SettledDefinitions,
  settleDefinitions,
} from '../../../core/definitions/definition.ts';
import type { ReadKind, UnitOutcome } from '../../../core/run/run.ts';
import type { CommitDefinitions, SettleUnknown } from '../../port/wells.ts';
import { observeHolds, observeRead } from '../alerts/export-observations.ts';
import { keepReads, positionInOrder, targetsParameter } from './read-order.ts';
import { forgetUnknown, openAmong, settleOpen, settleUnknown } from '../ledger/run-units.ts';
import { jsonText, type SqlDatabase, type SqlSession, type SqlType, takeTurn } from '../session.ts';

/**
 * A table of definitions. `columns` with their types; `owner` is the column of the target, `key` that of the record
 * within it, `kind` what the target is.
 */
export interface DefinitionTable<Reading, Row extends object> {
  readonly name: string;
  readonly columns: Readonly<Record<keyof Row & string, string>>;
  readonly owner: keyof Row & string;
  readonly kind: ReadKind;
  readonly key: keyof Row & string;
  readonly rowsOf: (reading: Reading) => readonly Row[];
  readonly definitionOf: (row: Row) => Definition;
}

type Kept<Row> = Definition & { readonly row: Row; readonly insertedRunId: string | null };

interface SettledReading<Row> {
  readonly target: string;
  readonly outcome: UnitOutcome;
  readonly changes: readonly DefinitionChange<Kept<Row>>[];
  /** Whether a later read stands in its place. */
  readonly isOlder: boolean;
  /** The hold of the target before and after; undefined where nothing was merged. */
  readonly holds?: Pick<ChangedHold, 'before' | 'after'>;
}

function holdsOf<Row>({ target, holds }: SettledReading<Row>): readonly ChangedHold[] {
  return holds === undefined ? [] : [{ target, ...holds }];
}

/** The commits of a table, each in a transaction of its own. */
export function definitionCommits<
  Reading extends { readonly unit: number; readonly target: string },
  Row extends object,
>(
  database: SqlDatabase,
  table: DefinitionTable<Reading, Row>,
): { readonly commit: CommitDefinitions<Reading>; readonly settleUnknown: SettleUnknown } {
  const { kind, name, owner } = table;
  const withRows = (named: string): string =>
    `SELECT ${owner} FROM ${name} WHERE ${owner} IN (SELECT target FROM ${named} n)`;
  return {
    commit: async (batch) =>
      batch.readings.length === 0 ? [] : database.transact((session) => commitDefinitions(session, table, batch)),
    settleUnknown: (unknown) => database.transact((session) => settleUnknown(session, { kind, withRows }, unknown)),
  };
}

/** Runs in the caller's transaction, that of the commit. */
async function commitDefinitions<
  Reading extends { readonly unit: number; readonly target: string },
  Row extends object,
>(
  session: SqlSession,
  table: DefinitionTable<Reading, Row>,
  { runId, readings, shrink, readNo, isLastRead = true, committedAtMs }: Parameters<CommitDefinitions<Reading>>[0],
): Promise<readonly UnitOutcome[]> {
  await takeTurn(session, 'definitions');
  const units = readings.map(({ unit }) => unit);
  const open = await openAmong(session, runId, units);
  const unsettled = readings.filter(({ unit }) => open.has(unit));
  if (unsettled.length === 0) return [];
  const targets = unsettled.map(({ target }) => target);
  const order = await positionInOrder(
    session,
    { kind: table.kind, runId, readNo, targets, lastChange: lastChangeOf(session, table) },
    committedAtMs,
  );
  const stored = await readStored(session, table, targets);
  const holds = await readHeldDefinitions(session, table.kind, targets);
  const settled = unsettled.flatMap((reading): readonly SettledReading<Row>[] => {
    const { target } = reading;
    const current = stored.get(target) ?? [];
    const read = table.rowsOf(reading).map((row) => keptOf(table, storedRow(session, row), runId));
    const comparison = compareDefinitions(current, read);
    const answer = { ...reading, read: read.length };
    const later = order.later.get(target) ?? [];
    const isBehind = later.some(({ isBegunLater }) => isBegunLater || !isLastRead);
    if (isBehind && comparison.changes.length > 0) {
      const outcome = outcomeOfOlder(answer, current.length, comparison);
      return isLastRead ? [{ target, outcome, changes: [], isOlder: true }] : [];
    }
    const hold = holds.get(target);
    const merged = settleDefinitions(answer, current.length, comparison, { guard: shrink, runId, hold });
    return [{ target, ...merged, isOlder: false, holds: { before: hold, after: merged.hold } }];
  });
  if (settled.length === 0) return [];
  const changes = settled.flatMap((each) => each.changes);
  const noticed = { runId, atMs: order.atMs };
  if (changes.length > 0) await writeChanges(session, table, changes, noticed);
  const kept = settled.flatMap(({ target, isOlder }) => (isOlder ? [] : [{ target, window: always }]));
  await keepReads(session, table.kind, order, kept);
  await keepHeldDefinitions(session, table.kind, settled.flatMap(holdsOf), noticed);
  await forgetUnknown(
    session,
    table.kind,
    settled.map(({ target }) => target),
    noticed,
  );
  await observeRead(
    session,
    table.kind,
    settled.map(({ target }) => ({ target })),
    noticed,
  );
  const outcomes = settled.map(({ outcome }) => outcome);
  await settleOpen(session, runId, outcomes);
  return outcomes;
}

function lastChangeOf<Row extends object>(
  { dialect }: SqlSession,
  { name, owner }: Pick<DefinitionTable<never, Row>, 'name' | 'owner'>,
): string {
  const isOfBatch = `${owner} IN (SELECT ${dialect.each(targetsParameter, 'VARCHAR')})`;
  return `greatest((SELECT max(changed_at) FROM ${name} WHERE ${isOfBatch}), (SELECT max(noticed_at) FROM ${name}_history))`;
}

/** What is compared is what would be stored: else a text that is stored otherwise would change at each reading. */
function storedRow<Row extends object>({ dialect }: SqlSession, row: Row): Row {
  const texts = Object.entries(row).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? dialect.stored(value) : value,
  ]);
  return Object.fromEntries(texts) as Row;
}

function keptOf<Row extends object>(
  { definitionOf }: Pick<DefinitionTable<never, Row>, 'definitionOf'>,
  row: Row,
  insertedRunId: string | null,
): Kept<Row> {
  return { ...definitionOf(row), row, insertedRunId };
}

async function readStored<Row extends object>(
  session: SqlSession,
  table: DefinitionTable<never, Row>,
  targets: readonly string[],
): Promise<ReadonlyMap<string, readonly Kept<Row>[]>> {
  const rows = await session.rows<Row & { readonly inserted_run_id: string | null }>(
    `SELECT ${namesOf(table).join(', ')}, inserted_run_id FROM ${table.name}
     WHERE ${table.owner} IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
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
  session: SqlSession,
  table: DefinitionTable<never, Row>,
  changes: readonly DefinitionChange<Kept<Row>>[],
  noticed: Noticed,
): Promise<void> {
  const { name, owner, key, columns } = table;
  // Typed by a cast, which throws; an engine may return null for a value in JSON that it cannot read.
  const texts = Object.fromEntries(
    [...namesOf(table), 'inserted_run_id'].map((column): [string, SqlType] => [column, 'VARCHAR']),
  );
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
  await endVersions(session, table, key, ended, noticed);
  await session.run(
    `INSERT INTO ${name} (${namesOf(table).join(', ')}, inserted_run_id, changed_run_id, changed_at)
     SELECT ${typed}, inserted_run_id, CAST($2 AS VARCHAR), CAST($3 AS TIMESTAMPTZ)
 FROM ${session.dialect.relation('$1', texts)} written`,
    [jsonText(written), noticed.runId, new Date(noticed.atMs)],
  );
}

/** The run that noticed a change, and the time. */
export interface Noticed {
  readonly runId: string;
  readonly atMs: number;
}

/** Why a version ended: the service changed the record, no longer has it, or deleted it at our request. */
interface EndedVersion {
  readonly owner: string;
  /** Value of the column that names the record within its owner. */
  readonly value: string;
  readonly change: 'updated' | 'replaced' | 'removed' | 'deleted';
}

/** Moves versions from a table to its history; `column` is the column of `value`. Skips versions that do not exist. */
export async function endVersions<Row extends object>(
  session: SqlSession,
  table: DefinitionTable<never, Row>,
  column: keyof Row & string,
  ended: readonly EndedVersion[],
  noticed: Noticed,
): Promise<void> {
  const { name, owner } = table;
  const relation = session.dialect.relation('$1', { owner: 'VARCHAR', value: 'VARCHAR', change: 'VARCHAR' });
  const isEnded = `t.${owner} = e.owner AND t.${column}::VARCHAR = e.value`;
  const versions = jsonText(ended);
  const moved = await session.run(
    `INSERT INTO ${name}_history (${namesOf(table).join(', ')}, change, run_id, noticed_at, known_from, known_run_id)
     SELECT ${namesOf(table)
       .map((each) => `t.${each}`)
       .join(
         ', ',
       )}, e.change, CAST($2 AS VARCHAR), greatest(CAST($3 AS TIMESTAMPTZ), t.changed_at), t.changed_at, t.changed_run_id
     FROM ${name} t JOIN ${relation} e ON ${isEnded}`,
    [versions, noticed.runId, new Date(noticed.atMs)],
  );
  if (moved === 0) return;
  await session.run(`DELETE FROM ${name} t USING ${relation} e WHERE ${isEnded}`, [versions]);
}

function namesOf<Row extends object>({ columns }: Pick<DefinitionTable<never, Row>, 'columns'>): readonly string[] {
  return Object.keys(columns);
}

/** The rows of `held_definition`: holds of definitions, one a target, in the transaction of a merge. */
interface HeldRow {
  readonly target: string;
  readonly rows: number;
  readonly releaseRunId: string | null;
  readonly releaseRows: number | null;
}

/** The holds that stand, by target; a target without one is absent. */
async function readHeldDefinitions(
  session: SqlSession,
  kind: ReadKind,
  targets: readonly string[],
): Promise<ReadonlyMap<string, HeldDefinitions>> {
  const rows = await session.rows<HeldRow>(
    `SELECT target, rows_missing AS rows, release_run_id AS "releaseRunId", release_rows AS "releaseRows"
     FROM held_definition WHERE kind = $2 AND target IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(targets), kind],
  );
  return new Map(
    rows.map(({ target, rows: missing, releaseRunId, releaseRows }) => {
      const isReleased = releaseRunId !== null && releaseRows !== null;
      return [target, { rows: missing, release: isReleased ? { runId: releaseRunId, rows: releaseRows } : undefined }];
    }),
  );
}

/** The hold of a target before and after a merge; undefined while none stands. */
interface ChangedHold {
  readonly target: string;
  readonly before: HeldDefinitions | undefined;
  readonly after: SettledDefinitions<never>['hold'];
}

const heldFields = { target: 'VARCHAR', rows_missing: 'INTEGER', is_new: 'INTEGER' } as const;

/** Writes the holds after a merge: begun, renewed and ended ones. Where none stands or begins, it costs no statement. */
async function keepHeldDefinitions(
  session: SqlSession,
  kind: ReadKind,
  changes: readonly ChangedHold[],
  { runId, atMs }: { readonly runId: string; readonly atMs: number },
): Promise<void> {
  const { dialect } = session;
  const held = changes.flatMap(({ target, before, after: hold }) =>
    hold === undefined
      ? []
      : [{ target, rows_missing: hold.rows, is_new: hold.isNew ? 1 : 0, isBegun: before === undefined }],
  );
  const begun = held.filter(({ isBegun }) => isBegun);
  const renewed = held.filter(({ isBegun }) => !isBegun);
  const ended = changes.filter(({ before, after }) => before !== undefined && after === undefined);
  const relation = dialect.relation('$1', heldFields);
  const noticed = [kind, new Date(atMs), runId];
  if (begun.length > 0) {
    await session.run(
      `INSERT INTO held_definition (kind, target, rows_missing, since, run_id)
         SELECT CAST($2 AS VARCHAR), n.target, n.rows_missing, CAST($3 AS TIMESTAMPTZ), CAST($4 AS VARCHAR)
         FROM ${relation} n`,
      [jsonText(begun), ...noticed],
    );
  }
  if (renewed.length > 0) {
    const ifNew = (column: string, value: string): string =>
      `${column} = CASE WHEN n.is_new = 1 THEN ${value} ELSE h.${column} END`;
    await session.run(
      `UPDATE held_definition AS h SET rows_missing = n.rows_missing, ${ifNew('since', 'CAST($3 AS TIMESTAMPTZ)')},
         ${ifNew('run_id', 'CAST($4 AS VARCHAR)')}, ${ifNew('release_run_id', 'NULL')}
       FROM ${relation} n WHERE h.kind = $2 AND h.target = n.target`,
      [jsonText(renewed), ...noticed],
    );
  }
  if (ended.length > 0) {
    await session.run(
      `DELETE FROM held_definition WHERE kind = $2 AND target IN (SELECT ${dialect.each('$1', 'VARCHAR')})`,
      [jsonText(ended.map(({ target }) => target)), kind],
    );
  }
  const observed = [...held, ...ended].map(({ target }) => target);
  await observeHolds(session, kind, observed, { runId, atMs });
}
