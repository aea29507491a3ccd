/** Tables for a terminal: columns side by side, with a rule only below the head. */
import stringWidth from 'string-width';
import { printable } from '../../core/base/text.ts';
import { folded } from './folded-text.ts';

export type Align = 'left' | 'right';

export interface Column {
  readonly head?: string;
  readonly align?: Align;
}

const gap = '  ';

/**
 * Lines without trailing blanks; the head is shown if any column has one. Control characters are made visible. Where
 * the columns are wider than `width` together, the cells of the widest ones to the left are wrapped at words; a longer
 * word stays whole.
 */
export function tableText(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  indent = '',
  width = Number.POSITIVE_INFINITY,
): string {
  const hasHead = columns.some((column) => column.head !== undefined);
  const head = hasHead ? [columns.map((column) => printable(column.head ?? ''))] : [];
  const body = rows.map((row) => columns.map((_, position) => printable(row[position] ?? '')));
  const wanted = columns.map((_, position) => widestOf([...head, ...body].map((row) => row[position] ?? '')));
  const least = columns.map(({ align }, position) => {
    const [heads, cells] = [head, body].map((part) => part.map((row) => row[position] ?? ''));
    const words = [...wordsOf(heads), ...(align === 'right' ? (cells ?? []) : wordsOf(cells))];
    return Math.max(align === 'right' ? 0 : leastWrapped, widestOf(words));
  });
  const most = narrowed(wanted, least, width - indent.length);
  const wrapped = [...head, ...body].map((row) => wrappedRow(row, most));
  const widths = columns.map((_, position) => widestOf(wrapped.flat().map((row) => row[position] ?? '')));
  const rule = hasHead ? [widths.map((each) => '─'.repeat(each))] : [];
  const lines = [...wrapped.slice(0, head.length).flat(), ...rule, ...wrapped.slice(head.length).flat()];
  return lines
    .map((row) => row.map((cell, position) => padded(cell, widths[position] ?? 0, columns[position]?.align)))
    .map((cells) => `${indent}${cells.join(gap)}`.trimEnd())
    .join('\n');
}

function wordsOf(texts: readonly string[] = []): readonly string[] {
  return texts.flatMap((text) => text.split(' '));
}

/** Least width of a column of text that is wrapped. A column of figures wraps its head alone. */
const leastWrapped = 10;

/** The widths of the columns, the widest ones made narrower until all fit, or have their least width. */
function narrowed(wanted: readonly number[], least: readonly number[], room: number): readonly number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, each) => sum + each + gap.length, -gap.length) - room;
  while (excess > 0 && Number.isFinite(excess)) {
    const flexible = widths.map((each, position) => (each > (least[position] ?? 0) ? each : 0));
    const most = Math.max(...flexible);
    if (most === 0) break;
    widths[flexible.indexOf(most)] = most - 1;
    excess -= 1;
  }
  return widths;
}

/** The lines of a row. */
function wrappedRow(row: readonly string[], widths: readonly number[]): readonly (readonly string[])[] {
  const cells = row.map((cell, position) => folded(cell, widths[position] ?? 0).split('\n'));
  const height = Math.max(1, ...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => cells.map((lines) => lines[line] ?? ''));
}

/** Width of the widest of the texts, in columns of a terminal. */
export function widestOf(texts: readonly string[]): number {
  return texts.reduce((widest, text) => Math.max(widest, stringWidth(text)), 0);
}

/** The text padded with blanks to `width` columns of a terminal; before it if it is aligned right. */
export function padded(text: string, width: number, align: Align = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return align === 'right' ? `${blanks}${text}` : `${text}${blanks}`;
}
