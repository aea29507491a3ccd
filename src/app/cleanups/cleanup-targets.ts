/** Targets of a cleanup: from flags, from a CSV file, or from a query on the warehouse. */
import { Readable } from 'node:stream';
import type { Config } from '../../../config/schema.ts';
import type { Selections, TargetLists } from '../../../jobs/cleanup/selection.ts';
import type { DeletionTarget, TargetKind } from '../../core/cleanup/target.ts';
import { UsageError } from '../../core/base/errors.ts';
import type { Warehouse } from '../../warehouse/port/warehouse.ts';
import { faultOfIds, neededColumns, targetOf, targetsOfTable } from './cleanup-table.ts';
import { mostRecords, readCsv, tooLong, type CsvFile, type CsvUse } from '../exports/csv-list.ts';
import { namesOf } from '../exports/target-input.ts';
import { figure } from '../../core/base/text.ts';

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
  const listed = { names: well, file: wells, mayBeEmpty: allowEmpty };
  const names = await namesOf({ one: 'well', column: 'well' }, listed, calledBy, stdin);
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
