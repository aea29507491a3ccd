/**
 * The lists of records that the service has, each of one target. The client's call, the tables, the job, its command, its
 * start by the API and by a schedule, its settings and its file of the feed follow from an entry here (docs/adding-a-job.md).
 */
import { columnOf } from '../base/text.ts';

/** Text, an id, or text that may be missing or null. */
export type FieldKind = 'text' | 'uuid' | 'text?';

export interface RecordList {
  /** Of the command `export NAME`, of the API and of schedules: stored with every run, so it never changes. */
  readonly name: string;
  /** What the records are, many of them. */
  readonly title: string;
  readonly table: string;
  readonly targets: {
    /** Names the targets of this list alone, in the tables of all: it never changes. */
    readonly kind: string;
    /** The targets in general, and counted. */
    readonly all: string;
    readonly one: string;
    readonly many: string;
    /** Of a CSV file and of the tables; the list of names in the API, in schedules and on the command line. */
    readonly column: string;
    /** The option of a CSV file in camel case: `equipmentFile` is `--equipment-file`; `wells`, as elsewhere, for wells. */
    readonly file: string;
    /** Below `export`: the configured targets. With `File` appended, the CSV file of them. */
    readonly setting: string;
  };
  /** By the service's name; a column has it in snake case. */
  readonly fields: Readonly<Record<string, FieldKind>>;
  /** The field that is the identity of a record within its target. */
  readonly key: string;
  /** The field by which operators name a record. A new key with the alias of a record that left replaces that record. */
  readonly alias: string;
}

/** docs/interface.md section 2.2. The allowed values of `measurement` are not documented: any text is kept. */
export const timeSeries = {
  name: 'time-series',
  title: 'time series definitions',
  table: 'time_series',
  targets: {
    kind: 'equipment',
    all: 'equipment',
    one: 'equipment id',
    many: 'equipment ids',
    column: 'equipment',
    file: 'equipmentFile',
    setting: 'equipment',
  },
  fields: { xid: 'uuid', equipmentXid: 'uuid', sourceId: 'text', measurement: 'text', unit: 'text?' },
  key: 'xid',
  alias: 'sourceId',
} as const satisfies RecordList;

export const recordLists = [timeSeries] as const;

export type KnownList = (typeof recordLists)[number];

/** A record as the client returns it: absent text is null. */
export type RecordOf<List extends RecordList> = {
  readonly [Field in keyof List['fields']]: List['fields'][Field] extends 'text?' ? string | null : string;
};

export type TimeSeriesRecord = RecordOf<typeof timeSeries>;

/** The columns of a table with their kinds, that of the target first. */
export function columnsOfList({ targets, fields }: RecordList): readonly (readonly [name: string, kind: FieldKind])[] {
  const own = Object.entries(fields).map(([field, kind]) => [columnOf(field), kind] as const);
  return [[targets.column, 'text'], ...own];
}
