/** Owns the tables of wells in DuckDB: the body as it came, and as JSON where it is. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { isJsonBody, wellContent } from '../../core/well-body.ts';
import type { WellFields, WellReading, WellStore } from '../definitions.ts';
import type { DatabaseFile } from './database-file.ts';
import { commitDefinitions, type DefinitionTable } from './definition-store.ts';
import { jsonText, readRows, wellFormed } from './sql.ts';

interface WellRow {
  readonly source_id: string;
  readonly content_type: string | null;
  readonly body: string;
  /** The body again, where it is JSON: what the query language can look into. */
  readonly document: string | null;
}

const wellTable: DefinitionTable<WellReading, WellRow> = {
  name: 'well',
  columns: { source_id: 'VARCHAR', content_type: 'VARCHAR', body: 'VARCHAR', document: 'VARCHAR' },
  owner: 'source_id',
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
    known: (uwiField) =>
      file.transact((connection) =>
        readRows(connection, `SELECT source_id AS "sourceId", ${uwiOf('$1')} AS uwi FROM well ORDER BY source_id`, [
          pathOf(uwiField),
        ]),
      ),
    timeZones: async (uwis, fields) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readTimeZones(connection, uwis, fields)),
  };
}

/** The uwi that the body names at the path of this parameter, else the source id. */
function uwiOf(parameter: string): string {
  return `coalesce(json_extract_string(document, ${parameter}::VARCHAR), source_id)`;
}

function pathOf(field: string | undefined): string | null {
  if (field === undefined) return null;
  const names = field.split('.').map((name) => `"${name}"`);
  return `$.${names.join('.')}`;
}

async function readTimeZones(
  connection: DuckDBConnection,
  uwis: readonly string[],
  { uwi, timeZone }: WellFields,
): Promise<ReadonlyMap<string, string>> {
  const rows = await readRows<{ uwi: string; zone: string }>(
    connection,
    `SELECT uwi, min(zone) AS zone FROM (
       SELECT ${uwiOf('$2')} AS uwi, json_extract_string(document, $3::VARCHAR) AS zone FROM well WHERE document IS NOT NULL)
     WHERE zone IS NOT NULL AND uwi IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]'))) GROUP BY uwi`,
    [jsonText(uwis), pathOf(uwi), pathOf(timeZone)],
  );
  return new Map(rows.map((row) => [row.uwi, row.zone]));
}
