/**
 * The tables of a feed: columns, order, and what says which run wrote a row. The one place that both engines, the schema in
 * datapackage.json and the checksums go by; columns and keys are those of the contract (core/contract/tables.ts).
 */
import {
  type ColumnKind,
  type ContractSettings,
  type ContractTable,
  contractTables,
  defaultContract,
} from '../../core/contract/tables.ts';
import { columnOf } from '../../core/base/text.ts';
import type { Units } from '../../core/daily/units.ts';
import { type KnownList, recordLists } from '../../core/definitions/record-list.ts';
import type { FeedTable } from '../port/feed.ts';

/** An xid and JSON are text, which every reader has. */
export type FeedKind = ColumnKind;

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

const numberOfRestatement = 'restatement_no';

/** The tables of the feed as a contract describes them. The number of a restatement leads its table, and is its key. */
export function feedContract(tables: readonly ContractTable[]): ReadonlyMap<FeedTable, ContractTable> {
  return new Map(
    tables.flatMap((table) => {
      const name = table.feedName as FeedTable | undefined;
      if (name === undefined) return [];
      const published = { ...table, columns: table.columns.filter(({ isOfWarehouse = false }) => !isOfWarehouse) };
      return [[name, name === 'restatements' ? numbered(published) : published] as const];
    }),
  );
}

function numbered(table: ContractTable): ContractTable {
  const isNumber = ({ name }: FeedColumn): boolean => name === numberOfRestatement;
  const number = table.columns.filter(isNumber).map((column) => ({ ...column, isRequired: true }));
  const others = table.columns.filter((column) => !isNumber(column));
  return { ...table, key: [numberOfRestatement], columns: [...number, ...others] };
}

/** The units of the columns of a table, as far as they are known; `unknown` where nobody has said one. */
export function feedUnits(table: FeedTable, contract: ContractSettings): Units {
  const columns = feedContract(contractTables(contract)).get(table)?.columns ?? [];
  return Object.fromEntries(columns.flatMap(({ name, unit }) => (unit === undefined ? [] : [[name, unit] as const])));
}

const described = feedContract(contractTables(defaultContract));

function columnsOf(table: FeedTable): readonly FeedColumn[] {
  return (described.get(table)?.columns ?? []).map(({ name, kind }) => ({ name, kind }));
}

const writing = ['inserted_run_id', 'changed_run_id', 'changed_at'];

/** A table whose rows say which run wrote them. */
function writtenTable(table: FeedTable, ...order: readonly string[]): FeedTableShape {
  const written = { run: 'changed_run_id', at: 'changed_at' };
  return { columns: columnsOf(table), order, written, unsummed: writing };
}

function recordShape({ table, targets, alias, key }: KnownList): FeedTableShape {
  return writtenTable(table, targets.column, columnOf(alias), columnOf(key));
}

export const feedTables: Readonly<Record<FeedTable, FeedTableShape>> = {
  daily_production: writtenTable('daily_production', 'uwi', 'production_day', 'date', 'xid'),
  well: writtenTable('well', 'source_id'),
  ...(Object.fromEntries(recordLists.map((list) => [list.table, recordShape(list)])) as Readonly<
    Record<KnownList['table'], FeedTableShape>
  >),
  // Half-open intervals of days that verified reads accounted for (docs/decisions/0005-coverage-is-kept-by-well-not-by-day.md).
  coverage: { columns: columnsOf('coverage'), order: ['uwi', 'from_day'], unsummed: [] },
  restatements: {
    columns: columnsOf('restatements'),
    order: [numberOfRestatement],
    written: { run: 'run_id', at: 'noticed_at' },
    unsummed: ['run_id', 'noticed_at', 'known_from', 'known_run_id'],
  },
};

export const feedTableNames = Object.keys(feedTables) as readonly FeedTable[];

/** Published whole, where something of them changed. */
export const wholeTables = ['well', ...recordLists.map(({ table }) => table), 'coverage'] as const;
