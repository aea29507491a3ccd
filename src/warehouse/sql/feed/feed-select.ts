/** The statement that gives the rows of a feed's file, in their order, in SQL that both engines take. */
import { feedTables } from '../../feed/tables.ts';
import type { FeedRows } from '../../port/feed.ts';

/** `dailyRows`: what stands after FROM for the rows of daily production of the days `from` to before `to`, as `t`. */
export function feedSelect(rows: FeedRows, dailyRows: (days: MonthDays) => string): string {
  const { columns, order } = feedTables[rows.table];
  // With the table before each name: a result column of the same name is text, and sorts otherwise.
  const selected = columns.map(({ name, kind }) => (kind === 'string' ? `CAST(t.${name} AS VARCHAR)` : `t.${name}`));
  const named = selected.map((expression, place) => `${expression} AS ${columns[place]?.name}`);
  const from = sourceOf(rows, dailyRows);
  return `SELECT ${named.join(', ')} FROM ${from} ORDER BY ${order.map((name) => `t.${name}`).join(', ')}`;
}

/** Days, YYYY-MM-DD: those from `from` to before `to`. */
export interface MonthDays {
  readonly from: string;
  readonly to: string;
}

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
