/** The entries of a file of pipes: items to send and rejected rows, with their place in the file. */
import type { FilePosition, PipeLoad, RejectedLoad } from '../core/pipes/chunks-in-order.ts';
import { listFields, type PipeKey } from '../core/pipes/pipe.ts';
import { positionOf, rawText, type RowPosition } from './csv-rows.ts';
import { type PipeHeader, withoutRejectCells } from './header.ts';
import { type CellFault, type CheckedRow, countNumbers } from './row-check.ts';

/** One version of a pipe, from one row or from the consecutive rows of the long form. */
export interface PipeItem extends PipeLoad {
  readonly kind: 'item';
  readonly network: string;
  readonly sourceId: string;
  readonly upstream: string | undefined;
  readonly downstream: string | undefined;
  /** JSON text of the item, fields in the documented order, ready for a request body. */
  readonly body: string;
  readonly lastLine: number;
  /** Whether its arrays differ in length (two elevations, one length): allowed, and reported. */
  readonly hasUnevenLists: boolean;
  /** Positions of its rows, needed when the service refuses the item. */
  readonly rows: readonly RowPosition[];
}

/** One row of the rejects file. */
export interface RejectedRow {
  readonly line: number;
  /** Name of the column in the header; several separated by a blank; empty when the whole row is at fault. */
  readonly column: string;
  readonly reason: string;
  /** The original cells, byte for byte. */
  readonly raw: string;
}

/** Rows that are not sent: one row, or all rows of one pipe in the long form. */
export interface RejectedRows extends RejectedLoad {
  readonly kind: 'rejected';
  /** Undefined where it cannot be read. */
  readonly key: PipeKey | undefined;
  readonly rows: readonly RejectedRow[];
}

export type PipeEntry = PipeItem | RejectedRows;

/** Key of a pipe. No id holds a NUL, so keys are unique. */
function pipeKey(network: string, sourceId: string): string {
  return `${network}\u0000${sourceId}`;
}

/** An item of one row. `checked` has no faults. */
export function itemOfRow(checked: CheckedRow, form: FilePosition['form']): PipeItem {
  return itemOf([checked], checked.lists, form);
}

/** An item of consecutive rows of one pipe. Each list holds the numbers of its column, in order. */
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
    version: first.version,
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
    rows: rows.map(({ row }) => positionOf(row)),
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

/** The entry for rejected rows, in the order of the file. Rejects hold each row's faults. */
export function rejectedRows(
  rows: readonly { readonly row: RowPosition; readonly faults: readonly CellFault[] }[],
  header: PipeHeader,
  form: FilePosition['form'],
  key: PipeKey | undefined,
): RejectedRows {
  const last = rows.at(-1);
  if (last === undefined) throw new Error('a reject needs a row');
  const rejected = rows.map(({ row, faults }) => rejectedRow(row, faults, header));
  return {
    kind: 'rejected',
    key,
    rows: rejected,
    rowCount: rows.length,
    bytes: rejected.reduce((bytes, { raw, reason }) => bytes + raw.length + reason.length, 0),
    end: endOf(last.row, form),
  };
}

/**
 * The entry for an item that was not stored: its rows, each with `reason`, which is the service's text, cut and
 * cleaned, or wellsync's.
 */
export function rejectItem(item: PipeItem, header: PipeHeader, reason: string): RejectedRows {
  return rejectedRows(
    item.rows.map((row) => ({ row, faults: [{ column: '', reason }] })),
    header,
    item.end.form,
    item,
  );
}

function rejectedRow(row: RowPosition, faults: readonly CellFault[], header: PipeHeader): RejectedRow {
  const columns = [...new Set(faults.map(({ column }) => column))].filter((column) => column !== '');
  const reasons = new Set(faults.map(({ reason }) => reason));
  const needsNames = columns.length > 1 && reasons.size > 1;
  const texts = faults.map(({ column, reason }) => (needsNames && column !== '' ? `${column}: ${reason}` : reason));
  return {
    line: row.line,
    column: columns.join(' '),
    reason: [...new Set(texts)].join('; '),
    raw: withoutRejectCells(rawText(row), header.delimiter, header.hasRejectColumns),
  };
}

/** One sentence about a reject, for a report. */
export function describeReject({ line, column, reason }: RejectedRow): string {
  return column === '' ? `line ${line}: ${reason}` : `line ${line}, column ${column}: ${reason}`;
}

function endOf(row: RowPosition, form: FilePosition['form']): FilePosition {
  return { byte: row.endByte, line: row.lastLine + 1, form };
}
