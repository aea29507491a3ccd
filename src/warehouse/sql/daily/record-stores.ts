/**
 * The lists of records (core/definitions/record-list.ts), each in a table of its own with its history; and the bodies
 * of wells.
 */
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
import { isJsonBody, type WellBody, wellContent } from '../../../core/definitions/well-body.ts';
import type { RecordsReading, RecordStore, WellField, WellReading, WellStore } from '../../port/wells.ts';
import { jsonText, type SqlDatabase, type SqlSession, takeTurn, wellFormed } from '../session.ts';
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

// The bodies of wells, as received and as JSON.

interface WellRow {
  readonly source_id: string;
  readonly content_type: string | null;
  readonly body: string;
  /** The body again, if it is JSON: the column for queries into it. */
  readonly document: string | null;
}

const wellTable: DefinitionTable<WellReading, WellRow> = {
  name: 'well',
  columns: { source_id: 'VARCHAR', content_type: 'VARCHAR', body: 'VARCHAR', document: 'JSON' },
  owner: 'source_id',
  kind: 'well',
  key: 'source_id',
  rowsOf: ({ target, well }) => [
    {
      source_id: target,
      content_type: well.contentType,
      body: well.body,
      document: isJsonBody(well) ? readable(well.body) : null,
    },
  ],
  definitionOf: ({ source_id: sourceId, content_type: contentType, body }) => ({
    key: sourceId,
    alias: sourceId,
    content: wellContent({ contentType, body }),
  }),
};

export function createWellStore(database: SqlDatabase): WellStore {
  return {
    ...definitionCommits(database, wellTable),
    known: (uwiField) =>
      database.transact((session) =>
        session.rows(`SELECT source_id AS "sourceId", ${uwiOf(session, uwiField)} AS uwi FROM well ORDER BY source_id`),
      ),
    bodies: async (sourceIds) =>
      sourceIds.length === 0 ? new Map() : database.transact((session) => readBodies(session, sourceIds)),
    texts: async (field, uwis) =>
      uwis?.length === 0 ? new Map() : database.transact((session) => readTexts(session, field, uwis)),
  };
}

async function readBodies(session: SqlSession, sourceIds: readonly string[]): Promise<ReadonlyMap<string, WellBody>> {
  const rows = await session.rows<{ id: string; content_type: string | null; body: string }>(
    `SELECT source_id AS id, content_type, body FROM well
     WHERE source_id IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(sourceIds)],
  );
  return new Map(rows.map(({ id, content_type: contentType, body }) => [id, { contentType, body }]));
}

/** JSON text whose every part an engine can read: PostgreSQL reads none of an object with U+0000 in one of its texts. */
function readable(json: string): string {
  return wellFormed(json).replaceAll(/\\\\|\\u0000/g, (escape) => (escape === '\\u0000' ? '\\ufffd' : escape));
}

/** SQL of the uwi in the body, at this path, else the source id. */
function uwiOf({ dialect }: SqlSession, field: string | undefined): string {
  return field === undefined ? 'source_id' : `coalesce(${dialect.textAt('document', field.split('.'))}, source_id)`;
}

async function readTexts(
  session: SqlSession,
  { uwi, field }: WellField,
  uwis: readonly string[] | undefined,
): Promise<ReadonlyMap<string, string>> {
  const { dialect } = session;
  const rows = await session.rows<{ uwi: string; value: string }>(
    `SELECT uwi, min(value) AS value FROM (
       SELECT ${uwiOf(session, uwi)} AS uwi, ${dialect.textAt('document', field.split('.'))} AS value
       FROM well WHERE document IS NOT NULL) found
     WHERE value IS NOT NULL AND ($1::JSON IS NULL OR uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')})) GROUP BY uwi`,
    [uwis === undefined ? null : jsonText(uwis)],
  );
  return new Map(rows.map((row) => [row.uwi, row.value]));
}
