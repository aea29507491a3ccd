/**
 * The time zones by which rows are dated, and the change of them (core/daily/zones.ts). A rezone keeps the zone of each
 * well beside it, so that one that was killed finds the wells that are left.
 */
import { UsageError } from '../../../core/base/errors.ts';
import { grouped } from '../../../core/base/lists.ts';
import { counted, parsedJson } from '../../../core/base/text.ts';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { checkUnderWay, isDatedBy, isSameZone, otherDayOf, underRezone } from '../../../core/daily/zones.ts';
import { dayNumber, dayText, instantOfDateTime, productionCalendar } from '../../../core/time/production-day.ts';
import type { ByUwi } from '../../port/daily-production.ts';
import type { OtherZone, RedatedRows, ZoneStore } from '../../port/zones.ts';
import type { WellChecks } from '../../port/wells.ts';
import { evaluateAll } from './check-commit.ts';
import { markChanged } from './findings.ts';
import { markAll } from '../ledger/feed-ledger.ts';
import {
  countOf,
  dayOfNumber,
  type InSession,
  jsonText,
  lockRows,
  oneRow,
  runOver,
  type SqlDatabase,
  type SqlSession,
  transacted,
} from '../session.ts';
import { judgeDays } from './conflicting-days.ts';
import type { BatchWell, DailyTables, WithinTables } from './daily-tables.ts';

export function createZoneStore(database: SqlDatabase, { within, marks }: ZoneEngine): ZoneStore {
  return {
    ...transacted<Omit<ZoneStore, 'step'>>(database, {
      read: readZone,
      keep: async (session, timeZone) =>
        void (await session.run('UPDATE warehouse SET time_zone = $1 WHERE time_zone IS NULL', [timeZone])),
      ofWells: readZones,
      others: readOthers,
      measure: async (session, wells) => {
        let sum: RedatedRows = { rows: 0, otherDay: 0, otherMonth: 0 };
        for await (const instants of readInstants(session, wells)) sum = withInstants(sum, instants);
        return sum;
      },
      begin: (session, to) => begin(session, to, marks),
      finish: (session, to) => finish(session, to, marks),
    }),
    step: (to, wells, checks) => within((tables) => redate(tables, to, wells, checks)),
  };
}

/** What a rezone needs of an engine. */
interface ZoneEngine extends WithinTables {
  /** The table with the marks of months for a feed. */
  readonly marks: string;
}

const readZone: InSession<ZoneStore['read']> = async (session) => {
  const { timeZone, to } = await oneRow<{ timeZone: string | null; to: string | null }>(
    session,
    'SELECT time_zone AS "timeZone", rezone_to AS "to" FROM warehouse',
  );
  const wells = to === null ? 0 : await countOf(session, 'well_zone WHERE time_zone = $1', [to]);
  return { timeZone: timeZone ?? undefined, rezone: to === null ? undefined : { to, wells } };
};

/** For a session of a current schema; null before the first export, and where no rezone is under way. */
export async function describeZone(session: SqlSession): Promise<Record<'timeZone' | 'rezoneTo', string | null>> {
  const { timeZone = null, rezone } = await readZone(session);
  return { timeZone, rezoneTo: rezone?.to ?? null };
}

export const noZone = { timeZone: null, rezoneTo: null };

/** SQL of the zone by which the rows of a well are dated: `z` is its row of `well_zone`. */
const zoneOfRows = 'coalesce(z.time_zone, (SELECT time_zone FROM warehouse))';

const readZones: InSession<ZoneStore['ofWells']> = async (session, uwis) => {
  if (uwis.length === 0) return new Map();
  const rows = await session.rows<{ uwi: string; timeZone: string | null }>(
    `SELECT k.uwi, ${zoneOfRows} AS "timeZone" FROM well_key k LEFT JOIN well_zone z ON z.uwi = k.uwi
     WHERE k.uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(uwis)],
  );
  return new Map(rows.flatMap(({ uwi, timeZone }) => (timeZone === null ? [] : [[uwi, timeZone] as const])));
};

/** Wells that one look goes over, of which most may have their zone already. */
const wellsPerPage = 20_000;

const readOthers: InSession<ZoneStore['others']> = async (session, { timeZone, ofWells }, { afterId, limit }) => {
  const found: OtherZone[] = [];
  for (let after = afterId; ;) {
    const page = await session.rows<{ wellId: number; uwi: string; from: string | null }>(
      `SELECT k.well_id AS "wellId", k.uwi, ${zoneOfRows} AS "from" FROM well_key k LEFT JOIN well_zone z ON z.uwi = k.uwi
       WHERE k.well_id > $1 ORDER BY k.well_id LIMIT ${wellsPerPage}`,
      [after],
    );
    for (const { wellId, uwi, from } of page) {
      const to = ofWells.get(uwi) ?? timeZone;
      if (from !== null && !isSameZone(from, to)) found.push({ wellId, uwi, from, to });
      if (found.length === limit) return found;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < wellsPerPage) return found;
    after = last.wellId;
  }
};

async function begin(session: SqlSession, to: string, marks: string): Promise<void> {
  await lockRows(session, 'SELECT 1 FROM warehouse');
  const held = await countOf(session, '(SELECT DISTINCT uwi FROM held_month) h');
  if (held > 0) {
    throw new UsageError(
      `${counted(held, 'well has', 'wells have')} held rows: their months would be others by another time zone`,
      {
        hint: 'Release them first, or wait until they are back.',
        action: { kind: 'list-held' },
      },
    );
  }
  await session.run(
    `INSERT INTO well_zone (uwi, time_zone) SELECT k.uwi, w.time_zone FROM well_key k CROSS JOIN warehouse w
     WHERE w.time_zone IS NOT NULL AND NOT EXISTS (SELECT 1 FROM well_zone z WHERE z.uwi = k.uwi)`,
  );
  await session.run('UPDATE warehouse SET rezone_to = $1, epoch = epoch + 1, queue_id = NULL, taken_at = NULL', [to]);
  // What a month had under the days before is written again as well.
  await markAll(session, marks, []);
}

async function finish(session: SqlSession, to: string, marks: string): Promise<void> {
  await lockRows(session, 'SELECT 1 FROM warehouse');
  const kept = await readZone(session);
  if (isDatedBy(kept, to)) return;
  checkUnderWay(kept, to);
  await session.run('UPDATE warehouse SET time_zone = rezone_to, rezone_to = NULL');
  await session.run('DELETE FROM well_zone WHERE time_zone = (SELECT time_zone FROM warehouse)');
  await markAll(session, marks, []);
}

/** Rows of one instant, in wells that get the same zone. */
interface Instant {
  /** As the engine has it. */
  readonly at: string;
  readonly to: string;
  readonly before: string | null;
  /** The day number by the zone; undefined where it stays. */
  readonly day: number | undefined;
  readonly rows: number;
}

const wellFields = { wellId: 'INTEGER', uwi: 'VARCHAR', to: 'VARCHAR' } as const;
const instantFields = { to: 'VARCHAR', at: 'VARCHAR', day: 'INTEGER' } as const;

/** Instants that are in memory at one time (G8): some 10 MB. */
const instantsPerPage = 20_000;

/**
 * In order of time. They are few where a service dates its records by the day: those of many wells are the same; else there
 * may be as many as rows.
 */
async function* readInstants(
  session: SqlSession,
  wells: readonly OtherZone[],
  of: 'rows' | 'history' = 'rows',
): AsyncGenerator<readonly Instant[]> {
  if (wells.length === 0) return;
  const { dialect } = session;
  const named = `${dialect.relation('$1', wellFields)} w`;
  const keys = wells.map(({ wellId }) => wellId);
  const from =
    of === 'rows'
      ? `internal.daily_production d JOIN ${named} ON w."wellId" = d.well_id WHERE ${dialect.amongKeys('d.well_id', keys)}`
      : `daily_production_history d JOIN ${named} ON w.uwi = d.uwi`;
  for (let after = '-infinity'; ;) {
    const page = await session.rows<Omit<Instant, 'day'>>(
      `SELECT w."to", d.date AS at, d.production_day AS before, count(*) AS rows FROM ${from}
       ${of === 'rows' ? 'AND' : 'WHERE'} d.date > CAST($2 AS TIMESTAMPTZ)
       GROUP BY w."to", d.date, d.production_day ORDER BY d.date LIMIT ${instantsPerPage}`,
      [jsonText(wells), after],
    );
    const isLast = page.length < instantsPerPage;
    const cut = page.at(-1)?.at;
    // What has the last date of a full page may go on in the next one: it has few zones and days.
    const whole = isLast ? page : page.filter(({ at }) => at !== cut);
    yield whole.map((each) => {
      const day = each.before === null ? undefined : dayNumber(each.before);
      return { ...each, day: otherDayOf({ instantMs: Date.parse(each.at), day }, each.to) };
    });
    const last = whole.at(-1);
    if (isLast || last === undefined) return;
    after = last.at;
  }
}

function withInstants(sum: RedatedRows, instants: readonly Instant[]): RedatedRows {
  let { rows: all, otherDay, otherMonth } = sum;
  for (const { before, day, rows } of instants) {
    all += rows;
    if (day === undefined) continue;
    otherDay += rows;
    if (before?.slice(0, 7) !== dayText(day).slice(0, 7)) otherMonth += rows;
  }
  return { rows: all, otherDay, otherMonth };
}

async function redate(
  tables: DailyTables,
  to: string,
  found: readonly OtherZone[],
  checks: WellChecks | undefined,
): Promise<RedatedRows> {
  const { session } = tables;
  const { dialect } = session;
  await lockRows(session, 'SELECT 1 FROM warehouse', [], 'share');
  checkUnderWay(await readZone(session), to);
  const ids = jsonText(found.map(({ wellId }) => wellId));
  await lockRows(
    session,
    `SELECT 1 FROM well_key WHERE well_id IN (SELECT ${dialect.each('$1', 'INTEGER')}) ORDER BY well_id`,
    [ids],
  );
  const zones = await readZones(
    session,
    found.map(({ uwi }) => uwi),
  );
  // Another process may have dated some of them meanwhile: their coverage is shortened once.
  const wells = found.filter((well) => !isSameZone(zones.get(well.uwi) ?? well.from, well.to));
  let sum: RedatedRows = { rows: 0, otherDay: 0, otherMonth: 0 };
  if (wells.length === 0) return sum;
  const names = jsonText(wells);
  const byInstant = (join: string): string => `(SELECT w."wellId" AS well_id, w.uwi, CAST(i.at AS TIMESTAMPTZ) AS at,
      ${dayOfNumber('i.day')} AS day FROM ${dialect.relation('$1', instantFields)} i
      JOIN ${dialect.relation('$2', wellFields)} w ON w."to" = i."to") n WHERE ${join} AND d.date = n.at`;
  const keys = wells.map(({ wellId }) => wellId);
  const among = dialect.amongKeys('d.well_id', keys);
  for await (const instants of readInstants(session, wells)) {
    sum = withInstants(sum, instants);
    await runOver(
      session,
      changed(instants),
      `UPDATE internal.daily_production AS d SET production_day = n.day
       FROM ${byInstant('d.well_id = n.well_id')} AND ${among}`,
      names,
    );
  }
  for await (const instants of readInstants(session, wells, 'history')) {
    await runOver(
      session,
      changed(instants),
      `UPDATE daily_production_history AS d SET production_day = n.day FROM ${byInstant('d.uwi = n.uwi')}`,
      names,
    );
  }
  await redateQuarantine(session, wells);
  const days = await session.rows<{ wellId: number; uwi: string; firstDay: number; lastDay: number }>(
    `SELECT w."wellId", w.uwi, min(d.production_day) - DATE '1970-01-01' AS "firstDay",
       max(d.production_day) - DATE '1970-01-01' AS "lastDay"
     FROM internal.daily_production d JOIN ${dialect.relation('$1', wellFields)} w ON w."wellId" = d.well_id
     WHERE ${among} AND d.production_day IS NOT NULL GROUP BY w."wellId", w.uwi`,
    [names],
  );
  await runOver(
    session,
    days,
    `UPDATE watermark AS m SET last_day = ${dayOfNumber('n."lastDay"')}
     FROM ${dialect.relation('$1', { uwi: 'VARCHAR', lastDay: 'INTEGER' })} n WHERE m.uwi = n.uwi`,
  );
  if (days.length > 0) {
    // No row changes by it: what counted still does.
    const around = days.map(({ wellId, firstDay, lastDay }) => ({ wellId, fromDay: firstDay - 2, toDay: lastDay + 2 }));
    await judgeDays(tables, around, { runId: '', atMs: 0 });
  }
  await findAgain(tables, wells, checks);
  await shortenCoverage(session, wells);
  await session.run(
    `UPDATE well_zone AS z SET time_zone = w."to" FROM ${dialect.relation('$1', wellFields)} w WHERE z.uwi = w.uwi`,
    [names],
  );
  return sum;
}

function changed(instants: readonly Instant[]): readonly object[] {
  return instants.flatMap(({ to, at, day }) => (day === undefined ? [] : [{ to, at, day }]));
}

/** Findings stand by day: where no check is made any more, those of the days before go. */
async function findAgain(
  tables: DailyTables,
  wells: readonly OtherZone[],
  checks: WellChecks | undefined,
): Promise<void> {
  const { session } = tables;
  const uwis = wells.map(({ uwi }) => uwi);
  if (checks !== undefined) await evaluateAll(tables, uwis, checks, 'rezone');
  else {
    const isOfWells = `uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
    await session.run(`DELETE FROM check_result WHERE ${isOfWells}`, [jsonText(uwis)]);
    await markChanged(session, uwis);
  }
}

/** A day that a read covered is by another zone a part of two days: of the first and the last one it has seen a part. */
async function shortenCoverage(session: SqlSession, wells: readonly OtherZone[]): Promise<void> {
  const isOfWells = `uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
  const names = jsonText(wells.map(({ uwi }) => uwi));
  await session.run(`DELETE FROM coverage WHERE ${isOfWells} AND from_day + 1 >= to_day - 1`, [names]);
  await session.run(`UPDATE coverage SET from_day = from_day + 1, to_day = to_day - 1 WHERE ${isOfWells}`, [names]);
}

/** By their raw records, as far as those can be read. */
async function redateQuarantine(session: SqlSession, wells: readonly OtherZone[]): Promise<void> {
  const { dialect } = session;
  const zones = grouped(wells, ({ to }) => to);
  for (const [to, ofZone] of zones) {
    const rows = await session.rows<{ rowId: number | string; day: string | null; raw: string }>(
      `SELECT ${dialect.rowId} AS "rowId", production_day AS day, raw FROM quarantine
       WHERE uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')})`,
      [jsonText(ofZone.map(({ uwi }) => uwi))],
    );
    const dated = rows.flatMap(({ rowId, day, raw }) => {
      const next = day === null ? undefined : dayOfRaw(raw, to);
      return next === undefined || next === day ? [] : [{ rowId, day: dayNumber(next) }];
    });
    await runOver(
      session,
      dated,
      `UPDATE quarantine SET production_day = ${dayOfNumber('n.day')}
       FROM ${dialect.relation('$1', { rowId: dialect.rowIdType, day: 'INTEGER' })} n WHERE quarantine.${dialect.rowId} = n."rowId"`,
    );
  }
}

function dayOfRaw(raw: string, timeZone: string): string | undefined {
  const record = parsedJson(raw);
  if (typeof record !== 'object' || record === null || !('date' in record)) return undefined;
  const calendar = productionCalendar(timeZone);
  const instantMs = typeof record.date === 'string' ? instantOfDateTime(record.date, calendar) : undefined;
  return instantMs === undefined ? undefined : calendar.dayOf(instantMs);
}

// What a commit has to do with zones.

/**
 * Keeps the zones by which new wells of a batch are dated. Throws UsageError for a well whose rows are dated by another zone,
 * and during a rezone: a worker with another configuration, or a plan of before, would date some rows otherwise.
 */
export async function keepZonesOfBatch(
  session: SqlSession,
  windows: readonly WindowBatch[],
  wells: ByUwi<BatchWell>,
): Promise<void> {
  const own = new Map<string, string>();
  for (const { uwi, timeZone } of windows) {
    const { isNew = false, keptZone: kept, rezoneTo } = wells.get(uwi) ?? {};
    if (rezoneTo !== undefined) throw underRezone((await readZone(session)).rezone ?? { to: rezoneTo, wells: 0 });
    if (kept === undefined || isSameZone(kept, timeZone)) continue;
    if (!isNew) {
      throw new UsageError(`${uwi} was read by the time zone ${timeZone}, and its rows are dated by ${kept}`, {
        hint: 'Give all workers one timeZone and wells.timeZoneField.',
        action: { kind: 'rezone' },
      });
    }
    own.set(uwi, timeZone);
  }
  await runOver(
    session,
    [...own].map(([uwi, timeZone]) => ({ uwi, timeZone })),
    `INSERT INTO well_zone (uwi, time_zone)
       SELECT uwi, "timeZone" FROM ${session.dialect.relation('$1', { uwi: 'VARCHAR', timeZone: 'VARCHAR' })} n`,
  );
}
