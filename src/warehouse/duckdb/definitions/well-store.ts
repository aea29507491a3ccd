/** Tables of wells in DuckDB: the body as received, and as JSON if it is JSON. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { isJsonBody, wellContent, type WellBody } from '../../../core/definitions/well-body.ts';
import type { WellField, WellReading, WellStore } from '../../port/definitions.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { commitDefinitions, settleUnknownDefinitions, type DefinitionTable } from './definition-store.ts';
import { jsonText, readRows } from '../file/sql.ts';
import { wellFormed } from '../../sql/json-text.ts';

interface WellRow {
  readonly source_id: string;
  readonly content_type: string | null;
  readonly body: string;
  /** The body again, if it is JSON: the column for queries into it. */
  readonly document: string | null;
}

const wellTable: DefinitionTable<WellReading, WellRow> = {
  name: 'well',
  columns: { source_id: 'VARCHAR', content_type: 'VARCHAR', body: 'VARCHAR', document: 'VARCHAR' },
  owner: 'source_id',
  kind: 'well',
  key: 'source_id',
  rowsOf: ({ target, well }) => [
    {
      source_id: target,
      content_type: well.contentType,
      body: well.body,
      document: isJsonBody(well) ? wellFormed(well.body) : null,
    },
  ],
  definitionOf: ({ source_id: sourceId, content_type: contentType, body }) => ({
    key: sourceId,
    alias: sourceId,
    content: wellContent({ contentType, body }),
  }),
};

export function createWellStore(file: DatabaseFile): WellStore {
  return {
    commit: async (batch) =>
      batch.readings.length === 0 ? [] : file.transact((connection) => commitDefinitions(connection, wellTable, batch)),
    settleUnknown: (unknown) => file.transact((connection) => settleUnknownDefinitions(connection, wellTable, unknown)),
    known: (uwiField) =>
      file.transact((connection) =>
        readRows(connection, `SELECT source_id AS "sourceId", ${uwiOf('$1')} AS uwi FROM well ORDER BY source_id`, [
          pathOf(uwiField),
        ]),
      ),
    bodies: async (sourceIds) =>
      sourceIds.length === 0 ? new Map() : file.transact((connection) => readBodies(connection, sourceIds)),
    texts: async (field, uwis) =>
      uwis?.length === 0 ? new Map() : file.transact((connection) => readTexts(connection, field, uwis)),
  };
}

async function readBodies(
  connection: DuckDBConnection,
  sourceIds: readonly string[],
): Promise<ReadonlyMap<string, WellBody>> {
  const rows = await readRows<{ id: string; content_type: string | null; body: string }>(
    connection,
    `SELECT source_id AS id, content_type, body FROM well
     WHERE source_id IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`,
    [jsonText(sourceIds)],
  );
  return new Map(rows.map(({ id, content_type: contentType, body }) => [id, { contentType, body }]));
}

/** SQL of the uwi in the body, at the path in this parameter, else the source id. */
function uwiOf(parameter: string): string {
  return `coalesce(json_extract_string(document, ${parameter}::VARCHAR), source_id)`;
}

function pathOf(field: string | undefined): string | null {
  if (field === undefined) return null;
  const names = field.split('.').map((name) => `"${name}"`);
  return `$.${names.join('.')}`;
}

async function readTexts(
  connection: DuckDBConnection,
  { uwi, field }: WellField,
  uwis: readonly string[] | undefined,
): Promise<ReadonlyMap<string, string>> {
  const rows = await readRows<{ uwi: string; value: string }>(
    connection,
    `SELECT uwi, min(value) AS value FROM (
       SELECT ${uwiOf('$2')} AS uwi, json_extract_string(document, $3::VARCHAR) AS value FROM well WHERE document IS NOT NULL)
     WHERE value IS NOT NULL AND ($1 IS NULL OR uwi IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))) GROUP BY uwi`,
    [uwis === undefined ? null : jsonText(uwis), pathOf(uwi), pathOf(field)],
  );
  return new Map(rows.map((row) => [row.uwi, row.value]));
}
