/** Targets of a cleanup: from a table with the columns kind, well, equipment and source_id, and from flags. */
import { Readable } from 'node:stream';
import type { Config } from '../../../config/schema.ts';
import type { Selections, TargetLists } from '../../../jobs/cleanup/selection.ts';
import { PermanentError, UsageError } from '../../core/base/errors.ts';
import { counted, figure, listed } from '../../core/base/text.ts';
import { type DeletionTarget, kindText, type TargetKind, targetKinds } from '../../core/cleanup/target.ts';
import { paths } from '../../service/contract.ts';
import type { Warehouse } from '../../warehouse/port/warehouse.ts';
import {
  type CsvFile,
  type CsvUse,
  EmptyListError,
  firstIssues,
  mostRecords,
  namesShown,
  readCsv,
  tooLong,
} from '../exports/csv-list.ts';
import { namesOf } from '../exports/target-input.ts';

/** A CSV file, or the rows of a query. Cells are not trimmed: an id may begin or end with a blank. */
export interface TargetTable {
  /** The operator's name for it: the path of a file, `the query`. */
  readonly name: string;
  readonly columns: readonly string[];
  /** All its columns, where `columns` and the cells of the rows are only some of them. */
  readonly found?: readonly string[];
  readonly rows: ReadonlyArray<{
    /** `line 3`, `row 3`. */
    readonly position: string;
    readonly cells: readonly string[];
    /** Number of its cells among `found`. */
    readonly width?: number;
  }>;
}

const neededColumns = ['kind', 'well', 'equipment', 'source_id'] as const;
type NeededColumn = (typeof neededColumns)[number];
type Row = Readonly<Record<NeededColumn, string>>;

const hint = 'Nothing was planned and nothing was deleted. Fix the rows and plan again.';

/** The targets in the order of the rows. Throws UsageError with every fault of the table. */
export function targetsOfTable(table: TargetTable): readonly DeletionTarget[] {
  const positions = positionsOf(table);
  const columnCount = (table.found ?? table.columns).length;
  const issues: string[] = [];
  const targets = table.rows.flatMap(({ position, cells, width = cells.length }) => {
    const fault = width === columnCount ? undefined : widthFault(width, columnCount);
    const found = fault ?? targetOfRow(rowOf(cells, positions));
    if (typeof found !== 'string') return [found];
    issues.push(`${position}: ${found}`);
    return [];
  });
  if (issues.length > 0) throw faulty(table.name, issues);
  if (targets.length > 0) return targets;
  const emptyHint = 'An empty selection never means everything: nothing was planned.';
  throw new EmptyListError(`${table.name} names no target: it has no row`, emptyHint);
}

function positionsOf({ name, columns, found = columns }: TargetTable): ReadonlyMap<NeededColumn, number> {
  const names = columns.map((column) => column.trim().toLowerCase());
  const missing = neededColumns.filter((column) => !names.includes(column));
  const repeated = neededColumns.filter((column) => names.indexOf(column) !== names.lastIndexOf(column));
  const columnHint = `The columns must be ${listed(neededColumns)}; it has ${namesShown(found)}.`;
  if (missing.length > 0) throw new UsageError(`${name} has no column ${listed(missing)}`, { hint: columnHint });
  if (repeated.length > 0) {
    throw new UsageError(`${name} has more than one column ${listed(repeated)}`, { hint: columnHint });
  }
  return new Map(neededColumns.map((column) => [column, names.indexOf(column)]));
}

/** An unquoted comma would shift an id into another column. */
function widthFault(cells: number, columns: number): string {
  return `it has ${cells} cells, and the first line ${columns}: a comma within a cell must be quoted`;
}

function rowOf(cells: readonly string[], positions: ReadonlyMap<NeededColumn, number>): Row {
  const cell = (column: NeededColumn): string => cells[positions.get(column) ?? -1] ?? '';
  return { kind: cell('kind'), well: cell('well'), equipment: cell('equipment'), source_id: cell('source_id') };
}

/** The target of a row, or its fault. */
function targetOfRow(row: Row): DeletionTarget | string {
  // A plan and the audit show `micro strings`: a list that was made from them is taken as well.
  const named = row.kind
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, '-');
  const kind = targetKinds.find((known) => known === named);
  if (kind === undefined) {
    return `the kind ${JSON.stringify(row.kind)} is none of ${listed(targetKinds)}`;
  }
  const fault = kind === 'time-series' ? faultOfTimeSeries(row) : faultOfWell(kind, row);
  if (fault !== undefined) return fault;
  const target = targetOf(kind, kind === 'time-series' ? row.equipment : row.well, row.source_id);
  return faultOfIds(target) ?? target;
}

function faultOfTimeSeries({ well, equipment, source_id }: Row): string | undefined {
  if (well !== '' && equipment !== '') return bothFault;
  if (well !== '') return 'a time series goes by its equipment, not by a well';
  const missing = [...(equipment === '' ? ['equipment'] : []), ...(source_id === '' ? ['source_id'] : [])];
  return missing.length === 0 ? undefined : `a time series needs ${listed(missing)}`;
}

function faultOfWell(kind: TargetKind, { well, equipment, source_id }: Row): string | undefined {
  if (well !== '' && equipment !== '') return bothFault;
  if (equipment !== '') return `${kindText(kind)} go by their well, not by equipment`;
  if (well === '') return `${kindText(kind)} need a well`;
  if (source_id !== '') return `all ${kindText(kind)} of a well are deleted together: source_id must be empty`;
  return undefined;
}

const bothFault = 'it names both a well and equipment';

function targetOf(kind: TargetKind, ownerId: string, sourceId: string): DeletionTarget {
  return { kind, ownerId, sourceId: kind === 'time-series' ? sourceId : null };
}

/** Longer than any id: a longer cell holds something else. */
const maxIdCharacters = 1_000;

/** Why the ids of a target are invalid or cannot be sent; undefined if they are valid. */
function faultOfIds({ ownerId, sourceId }: DeletionTarget): string | undefined {
  return faultOfId(ownerId) ?? faultOfId(sourceId ?? 'none') ?? faultOfPath(ownerId, sourceId);
}

function faultOfId(id: string): string | undefined {
  if (id.length > maxIdCharacters)
    return `an id of ${figure(id.length)} characters is none: they have ${figure(maxIdCharacters)} at most`;
  if (id !== '' && id.trim() === '') return 'an id of blanks alone is none';
  return /\p{Control}/u.test(id) ? `the id ${JSON.stringify(id)} holds a control character` : undefined;
}

function faultOfPath(ownerId: string, sourceId: string | null): string | undefined {
  try {
    paths.timeSeriesRecord(ownerId, sourceId ?? 'none');
    return undefined;
  } catch (error) {
    if (error instanceof PermanentError) return error.message;
    throw error;
  }
}

function faulty(name: string, issues: readonly string[]): UsageError {
  return new UsageError(`${name} has ${counted(issues.length, 'row')} with a fault`, {
    issues: firstIssues(issues),
    hint,
  });
}

// From flags, from a CSV file, or from a query on the warehouse.

/** Values of the flags of a command. */
export interface TargetFlags {
  readonly equipment?: readonly string[];
  readonly sourceId?: readonly string[];
  readonly well?: readonly string[];
  readonly wells?: string;
  /** Whether a file may name no target; EmptyListError tells it where nothing else names one. */
  readonly allowEmpty?: boolean;
}

/** Throws UsageError unless the flags name one piece of equipment and its records. */
export function timeSeriesOf({ equipment = [], sourceId = [] }: TargetFlags): readonly DeletionTarget[] {
  const [owner = ''] = equipment;
  if (equipment.length !== 1 || sourceId.length === 0) {
    throw new UsageError('time series go by one --equipment and at least one --source-id', {
      action: { kind: 'cleanup-from-file' },
    });
  }
  return sendable(sourceId.map((id) => targetOf('time-series', owner.trim(), id.trim())));
}

/** Throws UsageError if no well is named. */
export async function ofWells(
  kind: TargetKind,
  { well = [], wells, allowEmpty }: TargetFlags,
  stdin: Readable,
): Promise<readonly DeletionTarget[]> {
  if (well.length === 0 && wells === undefined) {
    throw new UsageError('no well is named', {
      hint: 'Name wells by --well W (repeatable) or by --wells FILE.csv with the column well. None never means all.',
    });
  }
  const calledBy = { names: '--well', file: '--wells' };
  const source = { names: well, file: wells, mayBeEmpty: allowEmpty };
  const names = await namesOf({ one: 'well', column: 'well' }, source, calledBy, stdin);
  return sendable(names.map((id) => targetOf(kind, id, '')));
}

function sendable(targets: readonly DeletionTarget[]): readonly DeletionTarget[] {
  const issues = targets.flatMap((target) => faultOfIds(target) ?? []);
  if (issues.length === 0) return targets;
  throw new UsageError('targets are named by ids that cannot be sent', { issues });
}

const targetsUse: CsvUse = {
  called: 'the targets file',
  pathHint: 'Check the path of the file.',
  headerHint: 'The first line must name the columns: kind,well,equipment,source_id.',
  record: 'target',
  columns: neededColumns,
};

/** Trims the cells, which may be padded for alignment. Throws UsageError with every fault of the file. */
export async function ofFile(file: string, stdin: Readable): Promise<readonly DeletionTarget[]> {
  return targetsOfCsv(await readCsv(file, stdin, targetsUse));
}

/** Of a file that was uploaded under this name; as {@link ofFile}. */
export async function ofUpload(name: string, content: Buffer): Promise<readonly DeletionTarget[]> {
  return targetsOfCsv(await readCsv('-', Readable.from([content]), { ...targetsUse, name }));
}

function targetsOfCsv({ name, header, records }: CsvFile): readonly DeletionTarget[] {
  const needed = new Set<string>(neededColumns);
  return targetsOfTable({
    name,
    columns: header.filter((column) => needed.has(column.trim().toLowerCase())),
    found: header,
    rows: records.map(({ line, cells, width }) => ({
      position: `line ${line}`,
      cells: cells.map((cell) => cell.trim()),
      width,
    })),
  });
}

/**
 * Takes ids unchanged from the warehouse, blanks included. Throws UsageError with every fault of the query or of its
 * rows.
 */
export function ofQuery(sql: string, warehouse: Warehouse): Promise<readonly DeletionTarget[]> {
  return warehouse.query(sql, async ({ columns, rows }) => {
    const read: { readonly position: string; readonly cells: readonly string[] }[] = [];
    for await (const row of rows) {
      if (read.length === mostRecords) throw tooLong('the query', `${figure(mostRecords)} rows`);
      const position = `row ${read.length + 1}`;
      read.push({
        position,
        cells: row.map((value, index) => cellText(value, `${position}: ${columns[index]?.name}`)),
      });
    }
    return targetsOfTable({ name: 'the query', columns: columns.map((column) => column.name), rows: read });
  });
}

/** Throws UsageError for a value that is not an id, such as a list. */
function cellText(value: unknown, what: string): string {
  if (value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new UsageError(`${what} is ${JSON.stringify(value).slice(0, 60)}, and not a text`);
}

/** Readers of the lists of a saved selection, for the cleanup job. */
const targetLists: TargetLists = {
  readFile: async (file) => {
    const csv = await readCsv(file, undefined, targetsUse);
    return { targets: targetsOfCsv(csv), sha256: csv.sha256 };
  },
  readQuery: ofQuery,
};

/** The saved selections of the configuration, for the job that resolves them. */
export function selectionsOf({ cleanup, folder }: Config): Selections {
  return { saved: cleanup.selections, folder, lists: targetLists };
}
