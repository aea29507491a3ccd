/** The lists of records (core/definitions/record-list.ts), each in a table of its own with its history. */
import { columnOf } from '../../../core/base/text.ts';
import type { DeletionTarget } from '../../../core/cleanup/target.ts';
import { always } from '../../../core/daily/read-order.ts';
import {
  columnsOfList,
  type KnownList,
  type RecordList,
  type RecordOf,
  timeSeries,
} from '../../../core/definitions/record-list.ts';
import type { RecordsReading, RecordStore } from '../../port/definitions.ts';
import { jsonText, type SqlDatabase, type SqlSession, takeTurn } from '../session.ts';
import { definitionCommits, type DefinitionTable, endVersions, type Noticed } from './definition-store.ts';
import { keepReads, positionInOrder } from './read-order.ts';
import { commonTypes, typesOf } from './row-fields.ts';

type Row = Readonly<Record<string, RecordOf<RecordList>[string]>>;

const castTypes = typesOf(commonTypes);

function tableOf(list: KnownList): DefinitionTable<RecordsReading, Row> {
  const { table: name, targets, fields, key, alias } = list;
  const names = Object.keys(fields);
  const [keyColumn, aliasColumn] = [columnOf(key), columnOf(alias)];
  const compared = names.filter((field) => field !== key).map(columnOf);
  return {
    name,
    columns: Object.fromEntries(columnsOfList(list).map(([column, kind]) => [column, castTypes[kind]])),
    owner: targets.column,
    kind: targets.kind,
    key: keyColumn,
    rowsOf: ({ target, records }) =>
      records.map((record) => ({
        [targets.column]: target,
        ...Object.fromEntries(names.map((field) => [columnOf(field), record[field] ?? null])),
      })),
    definitionOf: (row) => ({
      key: String(row[keyColumn]),
      alias: String(row[aliasColumn]),
      content: JSON.stringify(compared.map((column) => row[column])),
    }),
  };
}

export function createRecordStore(database: SqlDatabase, list: KnownList): RecordStore {
  const table = tableOf(list);
  return {
    ...definitionCommits(database, table),
    targets: () => database.transact((session) => targetsIn(session, table)),
  };
}

async function targetsIn(
  session: SqlSession,
  { name, owner }: Pick<DefinitionTable<never, Row>, 'name' | 'owner'>,
): Promise<readonly string[]> {
  const rows = await session.rows<{ target: string }>(
    `SELECT DISTINCT ${owner} AS target FROM ${name} ORDER BY target`,
  );
  return rows.map(({ target }) => target);
}

const timeSeriesTable = tableOf(timeSeries);

/**
 * Moves records that a cleanup deleted at the service from the table to its history. Runs in the caller's transaction,
 * that of their outcome.
 */
export async function endDeletedTimeSeries(
  session: SqlSession,
  deleted: readonly DeletionTarget[],
  noticed: Noticed,
): Promise<void> {
  if (deleted.length === 0) return;
  await takeTurn(session, 'definitions');
  const owners = new Set(deleted.map(({ ownerId }) => ownerId));
  await keepDeletion(session, noticed, [...owners]);
  const stored = await storedAmong(session, owners);
  const ended = deleted.flatMap(({ ownerId, sourceId }) =>
    stored.has(ownerId) ? [{ owner: ownerId, value: sourceId ?? '', change: 'deleted' as const }] : [],
  );
  if (ended.length === 0) return;
  await endVersions(session, timeSeriesTable, 'source_id', ended, noticed);
}

/** An answer that the service gave before the deletion has the records still. */
async function keepDeletion(session: SqlSession, { runId }: Noticed, targets: readonly string[]): Promise<void> {
  const batch = { kind: 'equipment', runId, readNo: undefined, targets, lastChange: 'NULL' } as const;
  const order = await positionInOrder(session, batch);
  const kept = targets.map((target) => ({ target, window: always }));
  await keepReads(session, 'equipment', order, kept);
}

/** Those of the equipment that the table has records of. */
async function storedAmong(session: SqlSession, equipment: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const { name, owner } = timeSeriesTable;
  const rows = await session.rows<{ equipment: string }>(
    `SELECT DISTINCT ${owner} AS equipment FROM ${name} WHERE ${owner} IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText([...equipment])],
  );
  return new Set(rows.map((row) => row.equipment));
}
