/** Tables for a terminal: columns side by side, with a rule only below the head. */
import { styleText } from 'node:util';
import fastStringWidth from 'fast-string-width';
import { wrapAnsi } from 'fast-wrap-ansi';
import { printable } from '../../core/base/text.ts';

const ascii = /^[\x20-\x7E]*$/;
/** They have no width of their own. */
const joiners = /[\u200B-\u200D\u2060\uFEFF]/g;

/** Columns that a text takes at a terminal. Names of files on macOS come in parts, which are put together first. */
export function stringWidth(text: string): number {
  if (ascii.test(text)) return text.length;
  const whole = text.normalize('NFC');
  // Between emojis a joiner makes one of two.
  return fastStringWidth(whole) - (/\p{Extended_Pictographic}/u.test(whole) ? 0 : (whole.match(joiners)?.length ?? 0));
}

type Align = 'left' | 'right';

interface Column {
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

// Prose wrapped for a terminal: broken at blanks. Pure.

/**
 * The text in lines of at most `width` columns of a terminal, all but the first after `indent`; a wider word stays
 * whole. Infinity, for a pipe or a file, leaves it on one line.
 */
export function folded(text: string, width: number, indent = ''): string {
  if (stringWidth(text) <= width) return text;
  const lead = /^ */.exec(text)?.[0] ?? '';
  const room = Math.max(1, width - Math.max(lead.length, indent.length));
  return `${lead}${wrapAnsi(text.slice(lead.length), room).replaceAll('\n', `\n${indent}`)}`;
}

/** A hint with its sentences on separate lines if one line is too short; a command to be copied is never broken. */
export function foldedHint(hint: string, width: number): string {
  if (hint.includes('\n'))
    return hint
      .split('\n')
      .map((line) => foldedHint(line, width))
      .join('\n');
  if (stringWidth(hint) <= width) return hint;
  const sentences = hint.split(/(?<=[.?]) (?=[A-Z])/);
  return sentences.map((line) => (line.includes('wellsync ') ? line : folded(line, width))).join('\n');
}

/** Colour for the words of a state, at a terminal: each word says the same without it. Pure. */
type Colour = 'green' | 'red' | 'yellow';

const colours: Readonly<Record<string, Colour>> = {
  done: 'green',
  ok: 'green',
  failed: 'red',
  cancelled: 'yellow',
  warning: 'yellow',
};

/** A state as a cell of a table, or as the first word of a line that goes on with a sentence. */
const states = /(?<=^| {2})(?:done|ok|failed|cancelled|warning)(?= {2}|$)|^(?:Done|Failed|Cancelled)(?=[:,. ])/gm;

export function withColour(text: string): string {
  return text.replaceAll(states, (word) => {
    const colour = colours[word.toLowerCase()];
    return colour === undefined ? word : styleText(colour, word, { validateStream: false });
  });
}

/** Fits the columns of a table to the width of a terminal, and cuts cells that are too long. Pure. */
const widestCell = 40;
const gapCells = 2;
/** Least width of a cut column: a narrower one would be unreadable. */
const leastCell = 12;
/** Code units of a cell that are measured: a cell may hold a whole document, and more is never shown. */
const mostMeasured = 1_000;

interface FittedCells {
  /** Number of shown columns, at least one, from the left. */
  readonly columnCount: number;
  readonly cells: readonly (readonly string[])[];
}

/**
 * `cells` by row, including the head, free of control characters; `width` in columns of the terminal. Without a limit
 * to the width nothing is cut.
 */
export function fitColumns(cells: readonly (readonly string[])[], width: number): FittedCells {
  const all = cells[0]?.length ?? 0;
  if (!Number.isFinite(width)) return { columnCount: all, cells };
  const widest = Math.min(widestCell, width);
  const measured = cells.map((row) => row.map((cell) => cell.slice(0, mostMeasured)));
  const widths = Array.from({ length: all }, (_, position) =>
    Math.min(widest, widestOf(measured.map((row) => row[position] ?? ''))),
  );
  const fitted = fittedWidths(widths, width);
  const cut = (row: readonly string[]) => fitted.map((most, position) => cutText(row[position] ?? '', most));
  return { columnCount: fitted.length, cells: measured.map(cut) };
}

/** Widths of as many columns as fit; the last ones are cut if that lets them fit. */
function fittedWidths(widths: readonly number[], width: number): readonly number[] {
  const fitted: number[] = [];
  let room = width;
  for (const wanted of widths) {
    const given = Math.min(wanted, room);
    if (given < Math.min(wanted, leastCell) && fitted.length > 0) break;
    fitted.push(given);
    room -= given + gapCells;
  }
  return fitted;
}

/** Made when it is needed: Intl takes 5 ms to begin with. */
let signs: Intl.Segmenter | undefined;

/**
 * The text in at most `width` columns of a terminal, with an ellipsis if it was cut, between two graphemes and never
 * within one. cli-truncate 5, the last version for Node 20, exceeds the width by a column if a grapheme of two columns
 * lies on it.
 */
export function cutText(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  signs ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  let kept = '';
  let room = width - 1;
  for (const { segment } of signs.segment(text)) {
    room -= stringWidth(segment);
    if (room < 0) break;
    kept += segment;
  }
  return `${kept}…`;
}
