/** What the warehouse knows of wells before their next window: keys, watermarks and last days. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Watermark } from '../../port/daily-production.ts';
import { jsonText, readRows } from '../file/sql.ts';

export const namedUwis = `SELECT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi`;
const isNamed = `uwi IN (${namedUwis})`;

const watermarkColumns = `epoch_ms(watermark) AS "watermarkMs", last_day - DATE '1970-01-01' AS "lastDay",
  epoch_ms(verified_at) AS "verifiedAtMs"`;

interface WatermarkRow {
  readonly watermarkMs: number;
  readonly lastDay: number | null;
  readonly verifiedAtMs: number | null;
}

function watermarkOf({ watermarkMs, lastDay, verifiedAtMs }: WatermarkRow): Watermark {
  return { watermarkMs, lastDay: lastDay ?? undefined, verifiedAtMs: verifiedAtMs ?? undefined };
}

export async function readWatermarks(
  connection: DuckDBConnection,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, Watermark>> {
  const rows = await readRows<WatermarkRow & { readonly uwi: string }>(
    connection,
    `SELECT uwi, ${watermarkColumns} FROM watermark WHERE ${isNamed}`,
    [jsonText(uwis)],
  );
  return new Map(rows.map((row) => [row.uwi, watermarkOf(row)]));
}

/** A well of a batch, with its key. */
export interface BatchWell {
  readonly wellId: number;
  /** Whether the key was given out just now: no row, no watermark, no coverage and no quarantined record is of the well. */
  readonly isNew: boolean;
  readonly watermark: Watermark | undefined;
  /** Whether it has records in quarantine. */
  readonly isQuarantined: boolean;
  /** Whether the service did not know it before. */
  readonly isUnknown: boolean;
}

const batchWells = `
  SELECT uwi, well_id AS "wellId", ${watermarkColumns}, uwi IN (SELECT uwi FROM quarantine) AS "isQuarantined",
    uwi IN (SELECT target FROM unknown_target WHERE kind = 'uwi') AS "isUnknown"
  FROM (${namedUwis}) LEFT JOIN well_key USING (uwi) LEFT JOIN watermark USING (uwi)`;

/** A key is never reused: rows of `well_key` are never deleted. */
const newKeys = `
  INSERT INTO well_key
    SELECT (SELECT coalesce(max(well_id), 0) FROM well_key) + row_number() OVER (ORDER BY uwi), uwi FROM (${namedUwis})
  RETURNING uwi, well_id AS "wellId"`;

type BatchWellRow = Pick<BatchWell, 'isQuarantined' | 'isUnknown'> &
  Omit<WatermarkRow, 'watermarkMs'> & {
    readonly uwi: string;
    readonly wellId: number | null;
    readonly watermarkMs: number | null;
  };

/** By uwi. Gives every well without a key the next one, in the order of their names. */
export async function readBatchWells(
  connection: DuckDBConnection,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, BatchWell>> {
  const rows = await readRows<BatchWellRow>(connection, batchWells, [jsonText([...new Set(uwis)])]);
  const without = rows.flatMap(({ uwi, wellId }) => (wellId === null ? [uwi] : []));
  const given = without.length === 0 ? new Map<string, number>() : await giveKeys(connection, without);
  return new Map(
    rows.map(({ uwi, wellId, watermarkMs, isQuarantined, isUnknown, ...others }) => {
      const key = wellId ?? given.get(uwi);
      if (key === undefined) throw new Error(`well ${uwi} was given no key`);
      const watermark = watermarkMs === null ? undefined : watermarkOf({ watermarkMs, ...others });
      return [uwi, { wellId: key, isNew: wellId === null, watermark, isQuarantined, isUnknown }];
    }),
  );
}

async function giveKeys(connection: DuckDBConnection, uwis: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const keys = await readRows<{ uwi: string; wellId: number }>(connection, newKeys, [jsonText(uwis)]);
  return new Map(keys.map(({ uwi, wellId }) => [uwi, wellId]));
}
