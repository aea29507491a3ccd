import type { DeletionTarget } from '../../../core/cleanup/target.ts';
import { always } from '../../../core/daily/read-order.ts';
import { isJsonBody, type WellBody, wellContent } from '../../../core/definitions/well-body.ts';
import type { TimeSeriesReading, TimeSeriesStore, WellField, WellReading, WellStore } from '../../port/definitions.ts';
import { keepReads, placeInOrder } from './read-order.ts';
import { jsonText, type SqlDatabase, type SqlSession, takeTurn, wellFormed } from '../session.ts';
import {
  commitDefinitions,
  type DefinitionTable,
  endVersions,
  type Noticed,
  settleUnknownDefinitions,
} from './definition-store.ts';

interface TimeSeriesRow {
  readonly equipment: string;
  readonly xid: string;
  readonly equipment_xid: string;
  readonly source_id: string;
  readonly measurement: string;
  readonly unit: string | null;
}

const timeSeriesTable: DefinitionTable<TimeSeriesReading, TimeSeriesRow> = {
  name: 'time_series',
  columns: {
    equipment: 'VARCHAR',
    xid: 'UUID',
    equipment_xid: 'UUID',
    source_id: 'VARCHAR',
    measurement: 'VARCHAR',
    unit: 'VARCHAR',
  },
  owner: 'equipment',
  kind: 'equipment',
  key: 'xid',
  rowsOf: ({ target, records }) =>
    records.map(({ xid, equipmentXid, sourceId, measurement, unit }) => ({
      equipment: target,
      xid,
      equipment_xid: equipmentXid,
      source_id: sourceId,
      measurement,
      unit,
    })),
  definitionOf: ({ xid, equipment_xid: equipmentXid, source_id: sourceId, measurement, unit }) => ({
    key: xid,
    alias: sourceId,
    content: JSON.stringify([equipmentXid, sourceId, measurement, unit]),
  }),
};

export function createTimeSeriesStore(database: SqlDatabase): TimeSeriesStore {
  return {
    commit: async (batch) =>
      batch.readings.length === 0
        ? []
        : database.transact((session) => commitDefinitions(session, timeSeriesTable, batch)),
    settleUnknown: (unknown) =>
      database.transact((session) => settleUnknownDefinitions(session, timeSeriesTable, unknown)),
    equipment: () =>
      database.transact(async (session) => {
        const rows = await session.rows<{ equipment: string }>(
          'SELECT DISTINCT equipment FROM time_series ORDER BY equipment',
        );
        return rows.map(({ equipment }) => equipment);
      }),
  };
}

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
  const place = await placeInOrder(session, batch);
  const kept = targets.map((target) => ({ target, window: always }));
  await keepReads(session, 'equipment', place, kept);
}

/** Those of the pieces of equipment that the table has records of. */
async function storedAmong(session: SqlSession, equipment: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const rows = await session.rows<{ equipment: string }>(
    `SELECT DISTINCT equipment FROM time_series WHERE equipment IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText([...equipment])],
  );
  return new Set(rows.map((row) => row.equipment));
}

/** Tables of wells: the body as received, and as JSON if it is JSON. */
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
    commit: async (batch) =>
      batch.readings.length === 0 ? [] : database.transact((session) => commitDefinitions(session, wellTable, batch)),
    settleUnknown: (unknown) => database.transact((session) => settleUnknownDefinitions(session, wellTable, unknown)),
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
