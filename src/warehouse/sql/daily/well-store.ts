/** The bodies of wells, as received and as JSON. */
import { isJsonBody, type WellBody, wellContent } from '../../../core/definitions/well-body.ts';
import type { WellField, WellReading, WellStore } from '../../port/definitions.ts';
import { jsonText, type SqlDatabase, type SqlSession, wellFormed } from '../session.ts';
import { definitionCommits, type DefinitionTable } from './definition-store.ts';

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
