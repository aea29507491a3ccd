/** The state of a feed: marks of months, the lease of those that publish, and the version that was published last. */
import { recordLists } from '../../../core/definitions/record-list.ts';
import { feedTables } from '../../feed/manifest.ts';
import type { DueMonths, FeedLedger, FeedRows } from '../../port/feed.ts';
import {
  countOf,
  epochMs,
  type InSession,
  jsonText,
  oneRow,
  type SqlDatabase,
  type SqlSession,
  takeTurn,
  transacted,
} from '../session.ts';

interface FeedRow {
  readonly feedId: string | null;
  readonly version: number;
  readonly lastRestatement: number;
  readonly holder: string | null;
}

/** `marks`: the table with the marks, which has its own name in each engine. */
export function createFeedLedger(database: SqlDatabase, marks: string): FeedLedger {
  return {
    ...transacted<Omit<FeedLedger, 'publish'>>(database, {
      hold,
      release: async (session, holder) => {
        await session.run('UPDATE feed SET holder = NULL, held_until = NULL WHERE holder = $1', [holder]);
      },
      begin: async (session, known, all) => {
        const feed = await readFeed(session);
        const isContinued = known !== undefined && known.feedId === feed.feedId && known.version >= feed.version;
        if (all || !isContinued) await markAll(session, marks, known?.months ?? []);
        return Math.max(feed.version, known?.version ?? 0);
      },
      due: (session, limit) => readDue(session, marks, limit),
      numberRestatements,
      stamps: readStamps,
      rowsByMonth: countMonths,
    }),
    publish: (holder, { feedId, version, marks: answered }, write) =>
      // The manifest is written once: a second time it would be another version.
      database.transactOnce(async (session) => {
        const feed = await readFeed(session);
        if (feed.holder !== holder || feed.version >= version) return false;
        await write();
        await session.run(
          `DELETE FROM ${marks} WHERE CAST(mark AS VARCHAR) IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
          [jsonText(answered)],
        );
        await session.run('UPDATE feed SET feed_id = $1, version = $2', [feedId, version]);
        return true;
      }),
  };
}

/** Waits for the turn of those that publish, until the end of the transaction. */
async function readFeed(session: SqlSession): Promise<FeedRow> {
  await takeTurn(session, 'feed');
  const [row] = await session.rows<FeedRow>(
    `SELECT feed_id AS "feedId", version, last_restatement AS "lastRestatement", holder FROM feed`,
  );
  if (row !== undefined) return row;
  await session.run('INSERT INTO feed (version, last_restatement) VALUES (0, 0)');
  return { feedId: null, version: 0, lastRestatement: 0, holder: null };
}

const hold: InSession<FeedLedger['hold']> = async (session, holder, keepMs) => {
  await readFeed(session);
  const leased = await session.run(
    `UPDATE feed SET holder = $1, held_until = current_timestamp + CAST($2 AS INTEGER) * INTERVAL '1 millisecond'
     WHERE holder IS NULL OR holder = $1 OR held_until < current_timestamp`,
    [holder, keepMs],
  );
  return leased === 1;
};

/** Months with rows, and those that only the feed has. */
export async function markAll(session: SqlSession, marks: string, published: readonly string[]): Promise<void> {
  await session.run(
    `INSERT INTO ${marks} (production_month, touched_at, mark)
       SELECT month, current_timestamp, gen_random_uuid() FROM (
         SELECT CAST(date_trunc('month', production_day) AS DATE) AS month FROM internal.daily_production
         WHERE production_day IS NOT NULL
         UNION SELECT CAST(month AS DATE) FROM (SELECT ${session.dialect.each('$1', 'VARCHAR')} AS month) published) every
       WHERE NOT EXISTS (SELECT 1 FROM ${marks} m WHERE m.production_month = every.month)`,
    [jsonText(published.map((month) => `${month}-01`))],
  );
}

async function readDue(session: SqlSession, marks: string, limit: number): Promise<DueMonths> {
  const months = await session.rows<{ month: string; marks: readonly string[] }>(
    `SELECT production_month AS month, array_agg(CAST(mark AS VARCHAR)) AS marks FROM ${marks}
     GROUP BY production_month ORDER BY production_month DESC LIMIT ${limit}`,
  );
  const total = await countOf(session, `(SELECT DISTINCT production_month FROM ${marks}) due`);
  return { months: months.map((each) => ({ ...each, month: each.month.slice(0, 7) })), total };
}

const numberRestatements: InSession<FeedLedger['numberRestatements']> = async (session, limit) => {
  const { lastRestatement } = await readFeed(session);
  const { rowId } = session.dialect;
  const order = 'noticed_at, uwi, date, xid';
  const numbered = await session.run(
    `UPDATE daily_production_history SET restatement_no = next.number + $1
     FROM (SELECT ${rowId} AS row_id, row_number() OVER (ORDER BY ${order}) AS number FROM daily_production_history
           WHERE restatement_no IS NULL ORDER BY ${order} LIMIT ${limit}) next
     WHERE daily_production_history.${rowId} = next.row_id`,
    [lastRestatement],
  );
  if (numbered > 0) await session.run('UPDATE feed SET last_restatement = $1', [lastRestatement + numbered]);
  return lastRestatement + numbered;
};

/** Sums of what every change of a row changes: a time could be earlier than that of an earlier commit of another host. */
const readStamps: InSession<FeedLedger['stamps']> = (session) => {
  const changed = `CAST(coalesce(sum(${epochMs('changed_at')}), 0) AS VARCHAR)`;
  const versions = (table: string): string =>
    `(SELECT count(*) || ' ' || ${changed} FROM ${table}) || ' ' || (SELECT count(*) FROM ${table}_history)`;
  const days = (day: string): string => `CAST(coalesce(sum(CAST(${day} - DATE '1970-01-01' AS BIGINT)), 0) AS VARCHAR)`;
  return oneRow(
    session,
    `SELECT ${['well', ...recordLists.map(({ table }) => table)].map((table) => `${versions(table)} AS ${table}`).join(', ')},
       (SELECT count(*) || ' ' || ${days('from_day')} || ' ' || ${days('to_day')} FROM coverage) AS coverage`,
  );
};

async function countMonths(session: SqlSession): Promise<ReadonlyMap<string, number>> {
  const rows = await session.rows<{ month: string; rows: number }>(
    `SELECT CAST(date_trunc('month', production_day) AS DATE) AS month, count(*) AS rows FROM internal.daily_production
     WHERE production_day IS NOT NULL GROUP BY 1`,
  );
  return new Map(rows.map(({ month, rows: count }) => [month.slice(0, 7), count]));
}

// The statement that gives the rows of a feed's file, in their order, in SQL that both engines take.

/** `dailyRows`: what stands after FROM for the rows of daily production of the days `from` to before `to`, as `t`. */
export function feedSelect(rows: FeedRows, dailyRows: (days: MonthDays) => string): string {
  const { columns, order } = feedTables[rows.table];
  // With the table before each name: a result column of the same name is text, and sorts otherwise.
  const named = columns.map(({ name, kind }) =>
    kind === 'string' ? `CAST(t.${name} AS VARCHAR) AS ${name}` : `t.${name} AS ${name}`,
  );
  const from = sourceOf(rows, dailyRows);
  return `SELECT ${named.join(', ')} FROM ${from} ORDER BY ${order.map((name) => `t.${name}`).join(', ')}`;
}

/** Days, YYYY-MM-DD: those from `from` to before `to`. */
export type MonthDays = Readonly<Record<'from' | 'to', string>>;

function sourceOf(rows: FeedRows, dailyRows: (days: MonthDays) => string): string {
  if (rows.table === 'daily_production') return dailyRows(daysOf(rows.month));
  if (rows.table !== 'restatements') return `${rows.table} t`;
  return `daily_production_history t WHERE t.restatement_no > ${rows.after} AND t.restatement_no <= ${rows.last}`;
}

function daysOf(month: string): MonthDays {
  const next = new Date(`${month}-01T00:00:00Z`);
  next.setUTCMonth(next.getUTCMonth() + 1);
  return { from: `${month}-01`, to: next.toISOString().slice(0, 10) };
}
