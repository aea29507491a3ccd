/**
 * How far wells are read: the coverage ledger and the watermarks. Written by merges alone, of which one at a time
 * works on a well.
 */
import { grouped } from '../../../core/base/lists.ts';
import { type DayInterval, mergeDays } from '../../../core/daily/coverage.ts';
import { movedWatermarks, verifiedUpTo } from '../../../core/daily/watermark.ts';
import type { ByUwi } from '../../port/daily-production.ts';
import { dayOfNumber, jsonText, numberOfDay, runOver, type SqlSession } from '../session.ts';
import type { CountedWindow, DailyTables } from './daily-tables.ts';

export interface ReadDays {
  readonly uwi: string;
  readonly days: DayInterval;
  /** Whether the ledger may have days of the well. */
  readonly isKnown: boolean;
}

interface StoredInterval extends DayInterval {
  /** As the engine has it. */
  readonly rowId: number | string;
}

interface LedgerChanges {
  readonly inserted: Array<DayInterval & { readonly uwi: string }>;
  readonly changed: StoredInterval[];
  readonly removed: StoredInterval['rowId'][];
}

/**
 * Adds the days to those of their wells, in the transaction of the merge: the ledger has the days of verified reads, as the
 * fewest merged intervals a well.
 */
export async function recordRead(session: SqlSession, read: readonly ReadDays[]): Promise<void> {
  const known = new Set(read.flatMap(({ uwi, isKnown }) => (isKnown ? [uwi] : [])));
  const stored = await readStored(session, [...known]);
  const changes: LedgerChanges = { inserted: [], changed: [], removed: [] };
  for (const [uwi, sameWell] of grouped(read, (each) => each.uwi)) {
    const days = sameWell.map((each) => each.days);
    addChanges(changes, uwi, stored.get(uwi) ?? [], days);
  }
  await writeChanges(session, changes);
}

async function readStored(session: SqlSession, uwis: readonly string[]): Promise<ByUwi<readonly StoredInterval[]>> {
  if (uwis.length === 0) return new Map();
  const rows = await session.rows<StoredInterval & { readonly uwi: string }>(
    `SELECT ${session.dialect.rowId} AS "rowId", uwi, ${numberOfDay('from_day')} AS "fromDay", ${numberOfDay('to_day')} AS "toDay"
     FROM coverage WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(uwis)],
  );
  return grouped(rows, ({ uwi }) => uwi);
}

/** Lets each merged interval take the place of a stored one that it contains, if there is one. */
function addChanges(
  { inserted, changed, removed }: LedgerChanges,
  uwi: string,
  stored: readonly StoredInterval[],
  read: readonly DayInterval[],
): void {
  for (const { fromDay, toDay } of mergeDays([...stored, ...read])) {
    const [first, ...others] = stored.filter((each) => each.fromDay >= fromDay && each.toDay <= toDay);
    removed.push(...others.map(({ rowId }) => rowId));
    if (first === undefined) inserted.push({ uwi, fromDay, toDay });
    else if (first.fromDay !== fromDay || first.toDay !== toDay) changed.push({ rowId: first.rowId, fromDay, toDay });
  }
}

const intervalFields = { fromDay: 'INTEGER', toDay: 'INTEGER' } as const;
const interval = `${dayOfNumber('"fromDay"')} AS from_day, ${dayOfNumber('"toDay"')} AS to_day`;

async function writeChanges(session: SqlSession, { inserted, changed, removed }: LedgerChanges): Promise<void> {
  const { dialect } = session;
  const { rowId, rowIdType } = dialect;
  await runOver(session, removed, `DELETE FROM coverage WHERE ${rowId} IN (SELECT ${dialect.each('$1', rowIdType)})`);
  await runOver(
    session,
    changed,
    `UPDATE coverage SET from_day = c.from_day, to_day = c.to_day
     FROM (SELECT "rowId", ${interval} FROM ${dialect.relation('$1', { rowId: rowIdType, ...intervalFields })} r) c
     WHERE coverage.${rowId} = c."rowId"`,
  );
  const added = dialect.relation('$1', { uwi: 'VARCHAR', ...intervalFields });
  await runOver(session, inserted, `INSERT INTO coverage SELECT uwi, ${interval} FROM ${added} r`);
}

// The row of a well in `watermark`: how far it was read, up to when it is verified, and its last day with a row.

/** Instants are text. */
const watermarkFields = { uwi: 'VARCHAR', reached: 'VARCHAR', verified: 'VARCHAR', day: 'INTEGER' } as const;
const watermarkValues = (relation: string): string => `
  SELECT uwi, CAST(reached AS TIMESTAMPTZ) AS watermark, ${dayOfNumber('day')} AS last_day,
    CAST(verified AS TIMESTAMPTZ) AS verified_at FROM ${relation} r`;

/**
 * Moves the watermarks of the wells, in the transaction of the merge, after its rows. A well that only backfills have read
 * has no row.
 */
export async function keepWatermarks(
  tables: DailyTables,
  windows: readonly CountedWindow[],
  atMs: number,
): Promise<void> {
  const before = new Map(windows.map(({ uwi, watermark }) => [uwi, watermark]));
  const currentMs = new Map(
    [...before].flatMap(([uwi, watermark]) => (watermark === undefined ? [] : [[uwi, watermark.watermarkMs] as const])),
  );
  const movedMs = movedWatermarks(currentMs, windows);
  const verifiedMs = verifiedUpTo(windows, atMs);
  const lastDays = await lastDaysAfter(tables, windows);
  const rows = [...before].flatMap(([uwi, { watermarkMs, verifiedAtMs, lastDay } = {}]) => {
    const atNowMs = movedMs.get(uwi) ?? watermarkMs;
    const verifiedNowMs = later(verifiedAtMs, verifiedMs.get(uwi));
    const day = lastDays.get(uwi);
    const isSame = atNowMs === watermarkMs && verifiedNowMs === verifiedAtMs && day === lastDay;
    if (atNowMs === undefined || isSame) return [];
    return [
      { uwi, reached: textOf(atNowMs), verified: verifiedNowMs === undefined ? undefined : textOf(verifiedNowMs), day },
    ];
  });
  const { session } = tables;
  const values = watermarkValues(session.dialect.relation('$1', watermarkFields));
  await runOver(
    session,
    rows,
    `INSERT INTO watermark (uwi, watermark, last_day, verified_at) ${values} ON CONFLICT (uwi) DO UPDATE
       SET watermark = excluded.watermark, last_day = excluded.last_day, verified_at = excluded.verified_at`,
  );
}

function textOf(instantMs: number): string {
  return new Date(instantMs).toISOString();
}

/** A run that was overtaken by a newer one takes nothing back. */
function later(beforeMs: number | undefined, nowMs: number | undefined): number | undefined {
  return beforeMs === undefined || nowMs === undefined ? (nowMs ?? beforeMs) : Math.max(beforeMs, nowMs);
}

/**
 * The last day with a row, by uwi. Looked up in the table, through all years of the well, only if it is unknown, or if a
 * row of the last day has left or changed and the reading has no row as late.
 */
async function lastDaysAfter(
  tables: DailyTables,
  windows: readonly CountedWindow[],
): Promise<ByUwi<number | undefined>> {
  const lastDays = new Map<string, number | undefined>();
  const unsure = new Map<number, string>();
  for (const window of windows) {
    const { uwi, wellId, isNew, watermark } = window;
    const newest = newestDay(window);
    const known = lastDays.get(uwi) ?? watermark?.lastDay;
    lastDays.set(uwi, Math.max(known ?? -Infinity, newest));
    const isLost = known !== undefined && newest < known && window.lastChangedDay >= known;
    if (!isNew && (watermark?.lastDay === undefined || isLost)) unsure.set(wellId, uwi);
  }
  for (const [uwi, day] of lastDays) if (day === -Infinity) lastDays.set(uwi, undefined);
  if (unsure.size === 0) return lastDays;
  const rows = await tables.lastDays([...unsure.keys()]);
  const stored = new Map(rows.map(({ wellId, day }) => [wellId, day ?? undefined]));
  for (const [wellId, uwi] of unsure) lastDays.set(uwi, stored.get(wellId));
  return lastDays;
}

function newestDay({ rows }: CountedWindow): number {
  let newest = -Infinity;
  for (const day of rows.days) newest = Math.max(newest, day);
  return newest;
}
