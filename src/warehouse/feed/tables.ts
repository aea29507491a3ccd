/**
 * The tables of a feed: columns, order, and what says which run wrote a row. The one place that both engines, the schema in
 * datapackage.json and the checksums go by.
 */
import { columnOf } from '../../core/base/text.ts';
import { columnsOfList, type KnownList, recordLists } from '../../core/definitions/record-list.ts';
import { measureFields } from '../../core/daily/row.ts';
import type { FeedTable } from '../port/feed.ts';

/** `day`: a calendar day; `instant`: microseconds in UTC. An xid and JSON are text, which every reader has. */
export type FeedKind = 'string' | 'double' | 'int32' | 'int64' | 'boolean' | 'instant' | 'day';

export interface FeedColumn {
  readonly name: string;
  readonly kind: FeedKind;
}

export interface FeedTableShape {
  readonly columns: readonly FeedColumn[];
  /** By which the rows of a file are sorted; no two rows have the same values in them. */
  readonly order: readonly string[];
  /** Columns of the run that wrote a row, and of the time. */
  readonly written?: { readonly run: string; readonly at: string };
  /** Columns that say when a row was stored: they are no part of what the service said, and of the checksum. */
  readonly unsummed: readonly string[];
}

function text(...names: readonly string[]): readonly FeedColumn[] {
  return names.map((name) => ({ name, kind: 'string' }));
}

const dailyValues: readonly FeedColumn[] = [
  ...text('uwi', 'xid'),
  { name: 'date', kind: 'instant' },
  { name: 'production_day', kind: 'day' },
  ...measureFields.map(({ column, kind }) => ({ name: column, kind })),
  ...text('extras'),
];

const writing: readonly FeedColumn[] = [
  ...text('inserted_run_id', 'changed_run_id'),
  { name: 'changed_at', kind: 'instant' },
];

/** A table whose rows say which run wrote them. */
function writtenTable(values: readonly FeedColumn[], ...order: readonly string[]): FeedTableShape {
  const written = { run: 'changed_run_id', at: 'changed_at' };
  return { columns: [...values, ...writing], order, written, unsummed: writing.map(({ name }) => name) };
}

const ended: readonly FeedColumn[] = [
  ...text('change', 'run_id'),
  { name: 'noticed_at', kind: 'instant' },
  { name: 'known_from', kind: 'instant' },
  ...text('known_run_id', 'next_xid'),
];

function recordShape(list: KnownList): FeedTableShape {
  const columns = columnsOfList(list).map(([name, kind]): FeedColumn => ({
    name,
    kind: kind === 'uuid' ? 'string' : kind,
  }));
  return writtenTable(columns, list.targets.column, columnOf(list.alias), columnOf(list.key));
}

export const feedTables: Readonly<Record<FeedTable, FeedTableShape>> = {
  daily_production: writtenTable(
    [...dailyValues, { name: 'counts', kind: 'boolean' }],
    ...['uwi', 'production_day', 'date', 'xid'],
  ),
  well: writtenTable(text('source_id', 'content_type', 'body'), 'source_id'),
  ...(Object.fromEntries(recordLists.map((list) => [list.table, recordShape(list)])) as Readonly<
    Record<KnownList['table'], FeedTableShape>
  >),
  // Half-open intervals of days that verified reads accounted for (docs/decisions/0005-coverage-is-kept-by-well-not-by-day.md).
  coverage: {
    columns: [...text('uwi'), { name: 'from_day', kind: 'day' }, { name: 'to_day', kind: 'day' }],
    order: ['uwi', 'from_day'],
    unsummed: [],
  },
  restatements: {
    columns: [{ name: 'restatement_no', kind: 'int64' }, ...dailyValues, ...ended],
    order: ['restatement_no'],
    written: { run: 'run_id', at: 'noticed_at' },
    unsummed: ['run_id', 'noticed_at', 'known_from', 'known_run_id'],
  },
};

export const feedTableNames = Object.keys(feedTables) as readonly FeedTable[];

/** Published whole, where something of them changed. */
export const wholeTables = ['well', ...recordLists.map(({ table }) => table), 'coverage'] as const;
