/** Owns which targets a cleanup means: from flags, from a CSV file, from a query on the warehouse, or from a saved selection. */
import type { Readable } from 'node:stream';
import type { Config } from '../../config/schema.ts';
import type { ResolvedSelection } from '../../jobs/cleanup.ts';
import type { DeletionTarget, TargetKind } from '../core/deletion-target.ts';
import { UsageError } from '../core/errors.ts';
import { nearestName } from '../core/nearest-name.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { faultOfIds, targetOf, targetsOfTable } from './cleanup-table.ts';
import { columnOf, readCsv, type CsvUse } from './csv-file.ts';
import { listed } from './words.ts';

/** As the flags of a command name them. */
export interface TargetFlags {
  readonly equipment?: readonly string[];
  readonly sourceId?: readonly string[];
  readonly well?: readonly string[];
  readonly wells?: string;
}

/** Throws UsageError where the flags do not name one piece of equipment and its records. */
export function timeSeriesOf({ equipment = [], sourceId = [] }: TargetFlags): readonly DeletionTarget[] {
  const [owner = ''] = equipment;
  if (equipment.length !== 1 || sourceId.length === 0) {
    throw new UsageError('time series go by one --equipment and at least one --source-id', {
      hint: 'For several pieces of equipment give a file: wellsync cleanup --file targets.csv',
    });
  }
  return sendable(sourceId.map((id) => targetOf('time-series', owner.trim(), id.trim())));
}

/** Throws UsageError where no well is named. */
export async function ofWells(
  kind: TargetKind,
  { well = [], wells }: TargetFlags,
  stdin: Readable,
): Promise<readonly DeletionTarget[]> {
  if (well.length === 0 && wells === undefined) {
    throw new UsageError('no well is named', {
      hint: 'Name wells by --well W (repeatable) or by --wells FILE.csv with the column well. None never means all.',
    });
  }
  const read = wells === undefined ? [] : columnOf(await readCsv(wells, stdin, wellsUse), 'well', wellsUse);
  return sendable([...well, ...read].map((id) => targetOf(kind, id.trim(), '')));
}

const wellsUse: CsvUse = {
  called: 'the wells file',
  pathHint: 'Check the path given by --wells.',
  headerHint: 'The first line must name the columns, one of them well (source well id), and every other line a well.',
  record: 'well',
};

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
};

/** Throws UsageError with every fault of the file. */
export async function ofFile(file: string, stdin: Readable): Promise<readonly DeletionTarget[]> {
  const { name, header, records } = await readCsv(file, stdin, targetsUse);
  return targetsOfTable({
    name,
    columns: header,
    rows: records.map(({ line, cells }) => ({ place: `line ${line}`, cells })),
  });
}

/** Throws UsageError with every fault of the query or of its rows. */
export function ofQuery(sql: string, warehouse: Warehouse): Promise<readonly DeletionTarget[]> {
  return warehouse.query(sql, async ({ columns, rows }) => {
    const read: { readonly place: string; readonly cells: readonly string[] }[] = [];
    for await (const row of rows) read.push({ place: `row ${read.length + 1}`, cells: row.map(cellText) });
    return targetsOfTable({ name: 'the query', columns: columns.map((column) => column.name), rows: read });
  });
}

function cellText(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The targets of a selection of the configuration, with its caps. Throws UsageError for a name that it does not know. */
export async function resolveSelection(name: string, config: Config, warehouse: Warehouse): Promise<ResolvedSelection> {
  const { selections } = config.cleanup;
  const selection = selections[name];
  if (selection === undefined) throw unknownSelection(name, Object.keys(selections));
  const { file, query = '', ...caps } = selection;
  const targets = file === undefined ? await ofQuery(query, warehouse) : await ofFile(file, process.stdin);
  return { targets, caps };
}

function unknownSelection(name: string, known: readonly string[]): UsageError {
  const nearest = nearestName(name, known);
  const all = known.length === 0 ? 'It saves none.' : `It saves ${listed(known)}.`;
  return new UsageError(`the configuration saves no selection ${name} (cleanup.selections)`, {
    hint: nearest === undefined ? all : `Do you mean ${nearest}? ${all}`,
  });
}
