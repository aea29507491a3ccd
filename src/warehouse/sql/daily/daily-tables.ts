/** What a commit of daily production needs of an engine: how it finds, compares and writes rows. */
import type { WindowBatch, WindowCounts } from '../../../core/daily/merge.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import { dayOfNumber, type InSession, jsonText, numberOfDay, type SqlSession, type SqlValue } from '../session.ts';
import { type Measure, measureFields } from '../../../core/daily/row.ts';
import type { ByUwi, DailyProductionStore, Watermark } from '../../port/daily-production.ts';
import { conflictOfRecord, counts, doesCount } from './row-fields.ts';

export interface WellWindow extends WindowBatch, BatchWell {}

export interface CountedWindow extends WellWindow, Pick<ComparedCounts, 'inserted' | 'updated' | 'lastChangedDay'> {
  /** Without the rows that are held. */
  readonly removed: number;
}

export interface Noticed {
  readonly runId: string;
  readonly atMs: number;
}

/** Days of one well, both bounds included, as day numbers. */
export interface DaysOfWell {
  readonly wellId: number;
  readonly fromDay: number;
  readonly toDay: number;
}

/** The tables of rows in an engine, in the transaction of one commit. */
export interface DailyTables {
  readonly session: SqlSession;
  readonly byteLength: (text: string) => string;
  /** SQL of the instant of the last change; null without one. */
  readonly lastChange: string;
  /** Notes the instant of a change, in an engine that does not find it in the history. */
  recordChange(atMs: number): Promise<void>;
  readonly keys: KeyStatements;
  /**
   * What replacing each window would do, in their order. `windows` as core's settleBatch returns them, by their keys, so
   * that rows are inserted in that order, by the way that each takes. The windows of known wells and their rows stand in
   * `merge_window` and `staged_row` then.
   */
  compare(windows: readonly WellWindow[]): Promise<readonly ComparedCounts[]>;
  /** Writes what {@link compare} found, but for the rows that were marked as kept since. */
  replace(windows: readonly CountedWindow[], noticed: Noticed): Promise<void>;
  /** The rows that the table now has, by the index of the window; a window without any may be absent. */
  countRows(windows: readonly CountedWindow[]): Promise<readonly Record<'windowNo' | 'rows', number>[]>;
  /**
   * SQL of a relation `d` with the rows of these days of wells, found by what the engine finds rows by; with the values that it
   * binds. Day numbers, both of them included.
   */
  rowsOfDays(wells: readonly DaysOfWell[]): {
    readonly sql: string;
    readonly values: readonly SqlValue[];
  };
  /** The last day with a row, as a day number, by the key of the well; a well without rows may be absent. */
  lastDays(
    wellIds: readonly number[],
  ): Promise<ReadonlyArray<{ readonly wellId: number; readonly day: number | null }>>;
}

/** Work on the tables beside the commits of reads, in one transaction. */
export interface WithinTables {
  readonly within: <T>(work: (tables: DailyTables) => Promise<T>) => Promise<T>;
}

/** Of each well the instants between which all rows of its days lie, whatever its zone. */
export function instantsOfDays(
  wells: Parameters<DailyTables['rowsOfDays']>[0],
): ReadonlyArray<Readonly<Record<'well_id' | 'from_day' | 'to_day' | 'from_ms' | 'to_ms', number>>> {
  return wells.map(({ wellId, fromDay, toDay }) => {
    const [from, to] = [Math.max(fromDay, leastDay), Math.min(toDay, mostDay)];
    const bounds = { from_ms: (from - zoneDays) * DAY_MS, to_ms: (to + 1 + zoneDays) * DAY_MS };
    return { well_id: wellId, from_day: from, to_day: to, ...bounds };
  });
}

/** In some zones a production day begins a day before that of UTC, or after it. */
const zoneDays = 2;
/** The first day of the year 1, and the last one of the year 9999. */
const leastDay = -719_162;
const mostDay = 2_932_896;

/** The first days of the months of all rows, as day numbers. */
export function monthsOf(windows: readonly WellWindow[]): readonly number[] {
  const months = new Set<number>();
  let first = -Infinity;
  for (const { rows } of windows) {
    for (const day of rows.days) {
      if (day >= first && day < first + leastDaysOfMonth) continue;
      first = day - new Date(day * DAY_MS).getUTCDate() + 1;
      months.add(first);
    }
  }
  return [...months];
}

const leastDaysOfMonth = 28;

export function sumOf(windows: readonly CountedWindow[], name: 'inserted' | 'updated' | 'removed'): number {
  return windows.reduce((sum, window) => sum + window[name], 0);
}

// What follows from the comparison of a batch's readings with the stored rows (docs/design.md section 4.1). An engine
// writes the temporary table `compared`: each row that differs, by the number of the window that was read (`window_no`) and
// of the one that it is stored in (`stored_no`), with what becomes of it:
//
//   fresh      read, not stored
//   same       stored with equal values, in an engine that keeps equal rows
//   updated    stored with other values, in the window or moved into it from elsewhere
//   removed    stored, and not read
//   kept       the same, but a record in quarantine accounts for it, or it is held (held-months.ts)
//   replaced   the same, but the record continues as the fresh row `reading_id`, of the same day
//   successor  such a fresh row

const tally = `
  SELECT window_no AS "windowNo", stored_no AS "storedNo", change, count(*) AS rows,
    max(stored_day) - DATE '1970-01-01' AS "lastDay"
  FROM compared GROUP BY window_no, stored_no, change`;

/** G4: a row that stands for an unreadable record stays. */
const accountedFor = (relation: string): string => `
  UPDATE compared AS c SET change = 'kept' FROM ${relation} q
  WHERE c.change = 'removed' AND c.stored_no = q.window_no AND CASE
    WHEN q.xid IS NOT NULL THEN lower(q.xid) = CAST(c.xid AS VARCHAR)
    ELSE coalesce(CAST(q.day AS DATE) = c.stored_day, true) END`;

/** SQL of the changes that end the stored version of a row. */
export const ended = `('updated', 'replaced', 'removed')`;

/** SQL of the instant, bound at `$2`, after that from which the version of `d` was known that ends, whatever the clock says. */
export const changedAt = `greatest($2::TIMESTAMPTZ, d.changed_at + INTERVAL '1 microsecond')`;

/** SQL of the days, as `day`, of rows that change, and of the first days of months that are bound at `$2`. */
export function changedDays({ dialect }: SqlSession, isCompared: boolean): string {
  const months = `SELECT ${dayOfNumber('number')} AS day FROM (SELECT ${dialect.each('$2', 'INTEGER')} AS number) months`;
  const compared = `SELECT production_day FROM compared WHERE change IN ('fresh', 'updated', 'replaced')
    UNION ALL SELECT stored_day FROM compared WHERE change IN ${ended}`;
  return isCompared ? `${months} UNION ALL ${compared}` : months;
}

const replaced = `
  UPDATE compared AS c SET change = 'replaced', reading_id = p.reading_id, window_no = c.stored_no,
    production_day = p.production_day
  FROM (
    WITH gone AS (SELECT *, row_number() OVER (PARTITION BY stored_no, stored_day ORDER BY stored_at, xid) AS rank
                  FROM compared WHERE change = 'removed'),
         come AS (SELECT *, row_number() OVER (PARTITION BY window_no, production_day ORDER BY read_at, xid) AS rank
                  FROM compared WHERE change = 'fresh')
    SELECT gone.well_id, gone.xid, come.reading_id, come.production_day FROM gone JOIN come
      ON gone.stored_no = come.window_no AND gone.stored_day = come.production_day AND gone.rank = come.rank) p
  WHERE c.change = 'removed' AND c.well_id = p.well_id AND c.xid = p.xid`;

const successors = `
  UPDATE compared SET change = 'successor'
  WHERE change = 'fresh' AND reading_id IN (SELECT reading_id FROM compared WHERE change = 'replaced')`;

export function tallyOf(session: SqlSession): Promise<readonly Tally[]> {
  return session.rows<Tally>(tally);
}

/**
 * Marks the rows of `compared` that leave nothing behind: those that moved (`findMoved`, where rows are fresh), those that
 * a quarantined record stands for, and those that go on under another xid. Returns what becomes of all.
 */
export async function followChanges(
  session: SqlSession,
  windows: ReadonlyArray<Pick<WindowBatch, 'quarantined'>>,
  findMoved: () => Promise<unknown>,
): Promise<readonly Tally[]> {
  const found = await tallyOf(session);
  const isFresh = has(found, 'fresh');
  const quarantined = has(found, 'removed') ? quarantinedOf(windows) : [];
  if (isFresh) await findMoved();
  if (quarantined.length > 0) {
    const relation = session.dialect.relation('$1', { window_no: 'INTEGER', xid: 'VARCHAR', day: 'VARCHAR' });
    await session.run(accountedFor(relation), [jsonText(quarantined)]);
  }
  const left = isFresh || quarantined.length > 0 ? await tallyOf(session) : found;
  if (!has(left, 'fresh') || !has(left, 'removed')) return left;
  await session.run(replaced);
  await session.run(successors);
  return tallyOf(session);
}

function has(tallies: readonly Tally[], change: Change): boolean {
  return tallies.some((each) => each.change === change);
}

function quarantinedOf(windows: ReadonlyArray<Pick<WindowBatch, 'quarantined'>>): readonly object[] {
  return windows.flatMap(({ quarantined }, index) =>
    quarantined.map(({ xid, day }) => ({ window_no: index, xid, day })),
  );
}

export type Change = 'fresh' | 'same' | 'updated' | 'removed' | 'kept' | 'replaced' | 'successor';

export interface Tally {
  /** Null for rows that are not in the reading. */
  readonly windowNo: number | null;
  /** Null for rows that are not stored in a window of the batch. */
  readonly storedNo: number | null;
  readonly change: Change;
  readonly rows: number;
  /** The last day of the stored ones among them, as a day number; null if none is stored. */
  readonly lastDay: number | null;
}

export type MutableCounts = { -readonly [name in keyof ComparedCounts]: number };

export function noCounts(): MutableCounts {
  const known = { stored: 0, inserted: 0, updated: 0, unchanged: 0, leaving: 0, replaced: 0 };
  return { ...known, rowsBefore: 0, lastChangedDay: -Infinity };
}

/** Adds the tallies to the counts of their windows, which are in the order of the windows' numbers. */
export function addTallies(windowCounts: readonly MutableCounts[], tallies: readonly Tally[]): void {
  for (const { windowNo, storedNo, change, rows, lastDay } of tallies) {
    const stood = storedNo === null ? undefined : windowCounts[storedNo];
    if (stood !== undefined) stood.stored += rows;
    const count = windowCounts[windowNo ?? storedNo ?? -1];
    if (count === undefined) throw new Error(`the comparison counted rows of window ${windowNo}, which is not there`);
    const name = countedAs[change];
    if (name !== undefined) count[name] += rows;
    if (change === 'replaced') count.replaced += rows;
    if (change !== 'fresh' && change !== 'successor') count.rowsBefore += rows;
    if (lastDay !== null && ends.has(change)) count.lastChangedDay = Math.max(count.lastChangedDay, lastDay);
  }
}

const ends: ReadonlySet<Change> = new Set<Change>(['updated', 'replaced', 'removed']);

const countedAs: Readonly<Partial<Record<Change, keyof WindowCounts>>> = {
  fresh: 'inserted',
  same: 'unchanged',
  updated: 'updated',
  removed: 'leaving',
  replaced: 'updated',
};

/** What the merge of a window does, and the rows that it found of it. */
export interface ComparedCounts extends WindowCounts {
  /** Stored rows that the merge accounts for in this window: those in it, and those that move into it. */
  readonly rowsBefore: number;
  /** The last day of a stored row that leaves or changes, or would if it were not held; -Infinity without one. */
  readonly lastChangedDay: number;
}

// What the warehouse knows of wells before their next window: keys, watermarks and last days.

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
interface KeyStatements {
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
