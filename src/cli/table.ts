/** Owns the shape of tables on a terminal: columns side by side without rules, but for one under the head. */
import Table from 'cli-table3';
import { printable } from './words.ts';

export type Align = 'left' | 'right';

export interface Column {
  readonly head?: string;
  readonly align?: Align;
}

const noRules = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
} as const;

const ruleUnderHead = { mid: '─', 'mid-mid': '  ' } as const;

/** Lines without trailing blanks; a head is shown where any column has one. */
export function tableText(columns: readonly Column[], rows: readonly (readonly string[])[], indent = ''): string {
  const hasHead = columns.some((column) => column.head !== undefined);
  const table = new Table({
    chars: { ...noRules, ...ruleUnderHead },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true },
    colAligns: columns.map((column) => column.align ?? 'left'),
    ...(hasHead ? { head: columns.map((column) => printable(column.head ?? '')) } : {}),
  });
  table.push(...rows.map((row) => row.map(printable)));
  return table
    .toString()
    .split('\n')
    .map((line) => `${indent}${line}`.trimEnd())
    .join('\n');
}
