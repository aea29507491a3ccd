/** The stored rows of one well, in pages. */
import { type Measure, measureFields } from '../../../core/daily/row.ts';
import type { ProductionRow, RowsQuestion } from '../../port/daily-production.ts';
import type { SqlSession } from '../session.ts';

interface StoredRow extends Readonly<Record<string, Measure>> {
  readonly xid: string;
  readonly date: string;
  readonly production_day: string | null;
  readonly extras: string | null;
}

/** By the key of the well, by which DuckDB finds its rows without reading those of others. */
const statement = `SELECT xid, date, production_day, extras, ${measureFields.map(({ column }) => column).join(', ')}
  FROM internal.daily_production
  WHERE well_id = $1 AND ($2::DATE IS NULL OR production_day >= $2::DATE)
    AND ($3::DATE IS NULL OR production_day < $3::DATE)
    AND ($4::TIMESTAMPTZ IS NULL OR (date, xid) > ($4::TIMESTAMPTZ, $5::UUID))
  ORDER BY date, xid LIMIT $6`;

/** Undefined for a well without a key: it has never had a row. */
export async function readProductionRows(
  session: SqlSession,
  { uwi, from, to, after, limit }: RowsQuestion,
): Promise<readonly ProductionRow[] | undefined> {
  const [well] = await session.rows<{ id: number }>('SELECT well_id AS id FROM well_key WHERE uwi = $1', [uwi]);
  if (well === undefined) return undefined;
  const rows = await session.rows<StoredRow>(statement, [
    well.id,
    from ?? null,
    to ?? null,
    after?.date ?? null,
    after?.xid ?? null,
    limit,
  ]);
  return rows.map((row) => ({
    xid: row.xid,
    date: row.date,
    day: row.production_day,
    measures: Object.fromEntries(measureFields.map(({ column }) => [column, row[column] ?? null])),
    extras: row.extras,
  }));
}
