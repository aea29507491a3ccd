/** What the warehouse knows of wells before their next window: keys, watermarks and last days. */
import { type Measure, measureFields } from '../../../core/daily/row.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { ByUwi, DailyProductionStore, Watermark } from '../../port/daily-production.ts';
import { type InSession, jsonText, numberOfDay, type SqlSession } from '../session.ts';
import { conflictOfRecord, counts, doesCount } from './row-fields.ts';

export interface BatchWell {
  readonly wellId: number;
  /** Whether the key was given out just now: no row, no watermark, no coverage and no quarantined record is of the well. */
  readonly isNew: boolean;
  readonly watermark: Watermark | undefined;
  readonly isQuarantined: boolean;
  /** Whether the service did not know it before. */
  readonly isUnknown: boolean;
  readonly isHeld: boolean;
  /** Whether a day of it has two records or more. */
  readonly isConflicting: boolean;
  /** By which its rows are dated, or those of the warehouse for a new one; undefined before the first export. */
  readonly keptZone: string | undefined;
  /** By which all rows are being dated. */
  readonly rezoneTo: string | undefined;
  /** Whether a read of it failed that no later one has covered. */
  readonly isFailed: boolean;
}

interface WatermarkRow {
  readonly uwi: string;
  /** Instants and days, as text. */
  readonly watermark: string;
  readonly lastDay: string | null;
  readonly verifiedAt: string | null;
}

const watermarkColumns = `watermark, last_day AS "lastDay", verified_at AS "verifiedAt"`;

function watermarkOf({ watermark, lastDay, verifiedAt }: WatermarkRow): Watermark {
  return {
    watermarkMs: Date.parse(watermark),
    lastDay: lastDay === null ? undefined : Date.parse(lastDay) / DAY_MS,
    verifiedAtMs: verifiedAt === null ? undefined : Date.parse(verifiedAt),
  };
}

export const readWatermarks: InSession<DailyProductionStore['watermarks']> = async (session, uwis) => {
  const rows = await session.rows<WatermarkRow>(
    `SELECT uwi, ${watermarkColumns} FROM watermark WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(uwis)],
  );
  return new Map(rows.map((row) => [row.uwi, watermarkOf(row)]));
};

export interface BatchKeys {
  readonly known: ByUwi<number>;
  /** Given out just now. */
  readonly given: ByUwi<number>;
}

/** Statements of the wells whose names are bound at `$1`; they give the uwi and the key of each. */
export interface KeyStatements {
  /** Of wells with a key; keeps other commits of these wells waiting until the transaction ends. */
  readonly known: string;
  /** Gives a key to wells without one, but for those that another commit gives one meanwhile. */
  readonly added: string;
}

/** Gives a key to every well without one, and keeps other commits of these wells waiting until the transaction ends. */
export async function takeKeys(session: SqlSession, keys: KeyStatements, uwis: readonly string[]): Promise<BatchKeys> {
  const read = async (sql: string, names: readonly string[]): Promise<ByUwi<number>> => {
    if (names.length === 0) return new Map();
    const rows = await session.rows<{ uwi: string; wellId: number }>(sql, [jsonText(names)]);
    return new Map(rows.map(({ uwi, wellId }) => [uwi, wellId]));
  };
  const before = await read(keys.known, uwis);
  const without = uwis.filter((uwi) => !before.has(uwi));
  const given = await read(keys.added, without);
  const meanwhile = without.filter((uwi) => !given.has(uwi));
  return { known: new Map([...before, ...(await read(keys.known, meanwhile))]), given };
}

interface WellRow extends Omit<WatermarkRow, 'watermark'> {
  readonly watermark: string | null;
  readonly isQuarantined: boolean;
  readonly isUnknown: boolean;
  readonly isHeld: boolean;
  readonly isConflicting: boolean;
  readonly isFailed: boolean;
  readonly keptZone: string | null;
  readonly rezoneTo: string | null;
}

export async function readBatchWells(session: SqlSession, { known, given }: BatchKeys): Promise<ByUwi<BatchWell>> {
  const fresh = { isNew: true, watermark: undefined, isQuarantined: false };
  const uwis = [...known, ...given].map(([uwi, wellId]) => ({ uwi, well_id: wellId }));
  const rows = await session.rows<WellRow>(
    `SELECT n.uwi, ${watermarkColumns}, EXISTS (SELECT 1 FROM quarantine q WHERE q.uwi = n.uwi) AS "isQuarantined",
       EXISTS (SELECT 1 FROM unknown_target u WHERE u.kind = 'uwi' AND u.target = n.uwi) AS "isUnknown",
       EXISTS (SELECT 1 FROM held_month h WHERE h.uwi = n.uwi) AS "isHeld",
       EXISTS (SELECT 1 FROM internal.conflicting_day c WHERE c.well_id = n.well_id) AS "isConflicting",
       coalesce(z.time_zone, h.time_zone) AS "keptZone", h.rezone_to AS "rezoneTo",
       EXISTS (SELECT 1 FROM alert a WHERE a.kind = 'well-failed' AND a.job = 'export daily-production'
         AND a.owner = n.uwi AND a.state <> 'resolved') AS "isFailed"
     FROM ${session.dialect.relation('$1', { uwi: 'VARCHAR', well_id: 'INTEGER' })} n
       CROSS JOIN warehouse h LEFT JOIN watermark ON watermark.uwi = n.uwi LEFT JOIN well_zone z ON z.uwi = n.uwi`,
    [jsonText(uwis)],
  );
  return new Map(
    rows.map(({ uwi, watermark, lastDay, verifiedAt, keptZone, rezoneTo, ...others }): [string, BatchWell] => {
      const flags = { ...others, keptZone: keptZone ?? undefined, rezoneTo: rezoneTo ?? undefined };
      const newKey = given.get(uwi);
      if (newKey !== undefined) return [uwi, { ...flags, wellId: newKey, ...fresh }];
      const wellId = known.get(uwi);
      if (wellId === undefined) throw new Error(`well ${uwi} was given no key`);
      const before = watermark === null ? undefined : watermarkOf({ uwi, watermark, lastDay, verifiedAt });
      return [uwi, { ...flags, wellId, isNew: false, watermark: before }];
    }),
  );
}

/** The stored rows of one well, in pages. */
interface StoredRow extends Readonly<Record<string, Measure>> {
  readonly xid: string;
  readonly date: string;
  readonly production_day: string | null;
  readonly extras: string | null;
  readonly counts: boolean;
}

/** By the key of the well, by which DuckDB finds its rows without reading those of others. */
const columns = measureFields.map(({ column }) => column);
const statement = `SELECT ${['d.xid', 'd.date', 'd.production_day', 'd.extras', ...columns].join(', ')}, ${counts}
  FROM internal.daily_production d
    ${conflictOfRecord}
  WHERE d.well_id = $1 AND ($2::DATE IS NULL OR d.production_day >= $2::DATE)
    AND ($3::DATE IS NULL OR d.production_day < $3::DATE)
    AND ($4::TIMESTAMPTZ IS NULL OR (d.date, d.xid) > ($4::TIMESTAMPTZ, $5::UUID))
  ORDER BY d.date, d.xid LIMIT $6`;

/** Undefined for a well without a key: it has never had a row. */
export const readProductionRows: InSession<DailyProductionStore['rows']> = async (session, question) => {
  const { uwi, from = null, to = null, after, limit } = question;
  const well = await keyOfWell(session, uwi);
  if (well === undefined) return undefined;
  const values = [well.id, from, to, after?.date ?? null, after?.xid ?? null, limit];
  return (await session.rows<StoredRow>(statement, values)).map((row) => ({
    xid: row.xid,
    date: row.date,
    day: row.production_day,
    measures: Object.fromEntries(columns.map((column) => [column, row[column] ?? null])),
    extras: row.extras,
    counts: row.counts,
  }));
};

/** As {@link readProductionRows}, of the records that count. */
export const readDayColumns: InSession<DailyProductionStore['days']> = async (session, { uwi, numbers, texts }) => {
  const well = await keyOfWell(session, uwi);
  if (well === undefined) return undefined;
  const read = [
    `CAST(${numberOfDay('d.production_day')} AS DOUBLE PRECISION)`,
    ...numbers.map((column) => `coalesce(CAST(d.${column} AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION))`),
    ...texts.map((column) => `d.${column}`),
  ];
  const found = await session.columns(
    `SELECT ${read.map((expression, index) => `${expression} AS c${index}`).join(', ')}
     FROM internal.daily_production d ${conflictOfRecord}
     WHERE d.well_id = $1 AND d.production_day IS NOT NULL AND ${doesCount}
     ORDER BY d.production_day`,
    [well.id],
  );
  const [days = new Float64Array(), ...values] = found.numbers;
  return { days, numbers: values, texts: found.texts };
};

async function keyOfWell(session: SqlSession, uwi: string): Promise<{ readonly id: number } | undefined> {
  const [well] = await session.rows<{ id: number }>('SELECT well_id AS id FROM well_key WHERE uwi = $1', [uwi]);
  return well;
}
