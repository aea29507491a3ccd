/** The integer keys of wells, by which the engine prunes. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { BatchKeys } from '../../sql/daily/batch-wells.ts';
import { jsonText, readRows } from '../file/sql.ts';

export const namedUwis = `SELECT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi`;

const knownKeys = `SELECT uwi, well_id AS "wellId" FROM well_key WHERE uwi IN (${namedUwis})`;

/** A key is never reused: rows of `well_key` are never deleted. */
const newKeys = `
  INSERT INTO well_key
    SELECT (SELECT coalesce(max(well_id), 0) FROM well_key) + row_number() OVER (ORDER BY uwi), uwi FROM (${namedUwis})
  RETURNING uwi, well_id AS "wellId"`;

/** Gives every well without a key the next one, in the order of their names. */
export async function takeKeys(connection: DuckDBConnection, uwis: readonly string[]): Promise<BatchKeys> {
  const known = await readKeys(connection, knownKeys, uwis);
  const without = uwis.filter((uwi) => !known.has(uwi));
  const given = without.length === 0 ? new Map<string, number>() : await readKeys(connection, newKeys, without);
  return { known, given };
}

async function readKeys(
  connection: DuckDBConnection,
  sql: string,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await readRows<{ uwi: string; wellId: number }>(connection, sql, [jsonText(uwis)]);
  return new Map(rows.map(({ uwi, wellId }) => [uwi, wellId]));
}
