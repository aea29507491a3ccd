/**
 * The lists of records that the service has, each of one target. The client's call, the tables, the job, its command, its
 * start by the API and by a schedule, its settings and its file of the feed follow from an entry here (docs/adding-a-job.md).
 */
import { columnOf } from '../base/text.ts';
import type { FieldKind } from '../daily/row.ts';

/** What a field of each kind is read as: the kinds of daily production, and ids. */
interface Values extends Record<FieldKind, unknown> {
  readonly string: string;
  readonly double: number;
  readonly int32: number;
  readonly boolean: boolean;
  readonly uuid: string;
}

export type ValueKind = keyof Values;

export interface RecordList {
  /** Of the command `export NAME`, of the API and of schedules. Unique; stored with every run, so it never changes. */
  readonly name: string;
  /** What the records are, many of them. */
  readonly title: string;
  /** Unique among all tables of the warehouse; `_history` appended is the second one. */
  readonly table: string;
  readonly targets: {
    /** Names the targets of this list in the tables of all. Unique, also beside `uwi` and `well`; it never changes. */
    readonly kind: string;
    /** The targets in general, and counted. These, `column` and `file` may be those of another export. */
    readonly all: string;
    readonly one: string;
    readonly many: string;
    /**
     * Of a CSV file and of the tables; also the list of names in the API and in schedules (`"well": […]`, where that of
     * `export wells` is `wells`), and the option of one name (`--well`).
     */
    readonly column: string;
    /** The option of a CSV file in camel case: `equipmentFile` is `--equipment-file`; `wells`, as elsewhere, for wells. */
    readonly file: string;
    /** Below `export`: the configured targets. With `File` appended, the CSV file of them. Unique among its settings. */
    readonly setting: string;
  };
  /** By the service's name; a column has it in snake case. With `?` it may be missing or null. */
  readonly fields: Readonly<Record<string, ValueKind | `${ValueKind}?`>>;
  /** The field that is the identity of a record within its target; as the alias, required, and no `double`. */
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
  fields: { xid: 'uuid', equipmentXid: 'uuid', sourceId: 'string', measurement: 'string', unit: 'string?' },
  key: 'xid',
  alias: 'sourceId',
} as const satisfies RecordList;

/** Only a list that other code names is a constant of its own. */
export const recordLists = [timeSeries] as const satisfies readonly RecordList[];

export type KnownList = (typeof recordLists)[number];

/** A record as the client returns it: what is absent is null. Of several lists, a record of any. */
export type RecordOf<List extends RecordList> = List extends RecordList
  ? { readonly [Field in keyof List['fields']]: ValueOf<List['fields'][Field]> }
  : never;

type ValueOf<Kind extends string> = Kind extends `${infer Plain extends ValueKind}?`
  ? Values[Plain] | null
  : Values[Kind & ValueKind];

export type TimeSeriesRecord = RecordOf<typeof timeSeries>;

/** The columns of a table with their kinds, that of the target first. */
export function columnsOfList({ targets, fields }: RecordList): readonly (readonly [name: string, kind: ValueKind])[] {
  const own = Object.entries(fields).map(([field, kind]) => [columnOf(field), plainKind(kind)] as const);
  return [[targets.column, 'string'], ...own];
}

/** Without the mark of what may be missing or null. */
export function plainKind(kind: ValueKind | `${ValueKind}?`): ValueKind {
  return kind.replace('?', '') as ValueKind;
}
