/** Owns what a file of pipes amounts to: items that may leave, and rows that may not, with their place in the file. */
import type { FilePosition, PipeLoad, RejectedLoad } from '../core/pipe-slices.ts';
import { countNumbers, type CellFault } from './cells.ts';
import { placeOf, rawText, type RowPlace } from './csv-row.ts';
import { listFields } from '../core/pipe-fields.ts';
import { withoutRejectCells, type PipeHeader } from './header.ts';
import type { CheckedRow } from './row-check.ts';

/** One pipe, from one row or from the consecutive rows of the long form. */
export interface PipeItem extends PipeLoad {
  readonly kind: 'item';
  readonly network: string;
  readonly sourceId: string;
  readonly upstream: string | undefined;
  readonly downstream: string | undefined;
  /** Its JSON object text, fields in the documented order: goes into a request body as it is. */
  readonly body: string;
  readonly firstLine: number;
  readonly lastLine: number;
  /** Arrays of different length (two elevations, one length): allowed, and to be reported. */
  readonly hasUnevenLists: boolean;
  /** The rows that it is made of, for a reject by the service. */
  readonly rows: readonly RowPlace[];
}

/** A row as it stands in the rejects file. */
export interface RejectedRow {
  readonly line: number;
  /** The header's word for the column; several with a blank between them; empty where the whole row is at fault. */
  readonly column: string;
  readonly reason: string;
  /** The original cells, byte for byte. */
  readonly raw: string;
}

/** Rows that do not leave: one, or all the rows of one pipe in the long form. */
export interface RejectedRows extends RejectedLoad {
  readonly kind: 'rejected';
  readonly rows: readonly RejectedRow[];
}

export type PipeEntry = PipeItem | RejectedRows;

/** Fields that separate pipes: no id holds a NUL. */
function pipeKey(network: string, sourceId: string): string {
  return `${network}\u0000${sourceId}`;
}

/** An item of one row. `checked` has no faults. */
export function itemOfRow(checked: CheckedRow, form: FilePosition['form']): PipeItem {
  return itemOf([checked], checked.lists, form);
}

/** An item of consecutive rows of one pipe: the numbers of each list column, one after the other. */
export function itemOfRows(rows: readonly CheckedRow[], form: FilePosition['form']): PipeItem {
  const lists = listFields.map((_, index) => {
    const cells = rows.map((row) => row.lists[index]).filter((list) => list !== undefined);
    return cells.length === 0 ? undefined : `[${cells.map((json) => json.slice(1, -1)).join(',')}]`;
  });
  return itemOf(rows, lists, form);
}

function itemOf(
  rows: readonly CheckedRow[],
  lists: readonly (string | undefined)[],
  form: FilePosition['form'],
): PipeItem {
  const [first] = rows;
  const last = rows.at(-1);
  if (first?.network === undefined || first.sourceId === undefined || last === undefined) {
    throw new Error('an item needs a row with both ids');
  }
  const body = `{${first.scalars}${listMembers(lists)}}`;
  return {
    kind: 'item',
    key: pipeKey(first.network, first.sourceId),
    network: first.network,
    sourceId: first.sourceId,
    upstream: first.upstream,
    downstream: first.downstream,
    body,
    bytes: Buffer.byteLength(body),
    firstLine: first.row.line,
    lastLine: last.row.lastLine,
    rowCount: rows.length,
    hasUnevenLists: isUneven(lists),
    rows: rows.map(({ row }) => placeOf(row)),
    end: endOf(last.row, form),
  };
}

function listMembers(lists: readonly (string | undefined)[]): string {
  let members = '';
  for (let index = 0; index < lists.length; index += 1) {
    const json = lists[index];
    if (json !== undefined) members += `,"${listFields[index] ?? ''}":${json}`;
  }
  return members;
}

function isUneven(lists: readonly (string | undefined)[]): boolean {
  let common: number | undefined;
  for (const json of lists) {
    if (json === undefined) continue;
    const count = countNumbers(json);
    if (common !== undefined && count !== common) return true;
    common = count;
  }
  return false;
}

/** Rows of the file with what is wrong with each; in the order of the file. */
export function rejectedRows(
  rows: readonly { readonly row: RowPlace; readonly faults: readonly CellFault[] }[],
  header: PipeHeader,
  form: FilePosition['form'],
): RejectedRows {
  const last = rows.at(-1);
  if (last === undefined) throw new Error('a reject needs a row');
  return {
    kind: 'rejected',
    rows: rows.map(({ row, faults }) => rejectedRow(row, faults, header)),
    rowCount: rows.length,
    end: endOf(last.row, form),
  };
}

/** An item that the service refused: its rows with the service's words, cut and cleaned, or wellsync's own. */
export function rejectItem(item: PipeItem, header: PipeHeader, reason: string): RejectedRows {
  return rejectedRows(
    item.rows.map((row) => ({ row, faults: [{ column: '', reason }] })),
    header,
    item.end.form,
  );
}

function rejectedRow(row: RowPlace, faults: readonly CellFault[], header: PipeHeader): RejectedRow {
  const columns = [...new Set(faults.map(({ column }) => column))].filter((column) => column !== '');
  const reasons = new Set(faults.map(({ reason }) => reason));
  const needsNames = columns.length > 1 && reasons.size > 1;
  const words = faults.map(({ column, reason }) => (needsNames && column !== '' ? `${column}: ${reason}` : reason));
  return {
    line: row.line,
    column: columns.join(' '),
    reason: [...new Set(words)].join('; '),
    raw: withoutRejectCells(rawText(row), header.delimiter, header.hasRejectColumns),
  };
}

/** A reject in one sentence, for a report. */
export function describeReject({ line, column, reason }: RejectedRow): string {
  return column === '' ? `line ${line}: ${reason}` : `line ${line}, column ${column}: ${reason}`;
}

function endOf(row: RowPlace, form: FilePosition['form']): FilePosition {
  return { byte: row.endByte, line: row.lastLine + 1, form };
}
