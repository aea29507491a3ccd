/** The tables of the benchmarks as text, in the form of Markdown. */
import type { Change } from './comparison.ts';
import type { Figures, Spread } from './measurement.ts';

interface Column<Row> {
  readonly title: string;
  readonly isNumber: boolean;
  readonly cell: (row: Row) => string;
}

const figureColumns: ReadonlyArray<Column<Figures>> = [
  { title: 'subject', isNumber: false, cell: ({ subject }) => subject },
  { title: 'amount', isNumber: true, cell: ({ amount, unit }) => `${whole(amount)} ${unit}` },
  { title: 'seconds', isNumber: true, cell: ({ seconds }) => significant(seconds) },
  { title: 'a second', isNumber: true, cell: ({ rate }) => whole(rate) },
  { title: 'ratio', isNumber: true, cell: ({ ratio }) => ratio.median.toFixed(2) },
  { title: 'from to', isNumber: true, cell: ({ ratio }) => range(ratio) },
  { title: 'CPU us', isNumber: true, cell: ({ cpuMicros }) => significant(cpuMicros) },
  {
    title: 'peak MB',
    isNumber: true,
    cell: ({ peakMegabytes }) => (peakMegabytes === null ? '' : whole(peakMegabytes)),
  },
  { title: 'other load', isNumber: true, cell: ({ otherLoad }) => otherLoad.toFixed(1) },
  { title: 'baseline', isNumber: false, cell: ({ baseline }) => baseline },
  { title: 'its rate', isNumber: true, cell: ({ baselineRate }) => whole(baselineRate) },
  { title: 'its CPU us', isNumber: true, cell: ({ baselineCpuMicros }) => significant(baselineCpuMicros) },
];

const changeColumns: ReadonlyArray<Column<Change>> = [
  { title: 'subject', isNumber: false, cell: ({ subject }) => subject },
  { title: 'ratio before', isNumber: true, cell: ({ before }) => before?.toFixed(2) ?? '' },
  { title: 'ratio now', isNumber: true, cell: ({ after }) => after?.toFixed(2) ?? '' },
  { title: 'change', isNumber: true, cell: ({ change }) => (change === undefined ? '' : percent(change, true)) },
  { title: 'noise', isNumber: true, cell: ({ noise }) => (noise === undefined ? '' : percent(noise, false)) },
  { title: 'verdict', isNumber: false, cell: ({ verdict }) => verdict },
];

export function figuresTable(figures: readonly Figures[]): string {
  return tableOf(figureColumns, figures);
}

export function changesTable(changes: readonly Change[]): string {
  return tableOf(changeColumns, changes);
}

function tableOf<Row>(columns: ReadonlyArray<Column<Row>>, rows: readonly Row[]): string {
  const padded = columns.map(({ title, isNumber, cell }) => {
    const cells = [title, ...rows.map(cell)];
    const width = Math.max(3, ...cells.map(({ length }) => length));
    const rule = isNumber ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width);
    const [head = '', ...body] = cells.map((text) => (isNumber ? text.padStart(width) : text.padEnd(width)));
    return [head, rule, ...body];
  });
  const lines = Array.from({ length: rows.length + 2 }, (_, line) => padded.map((column) => column[line]));
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** Three digits of a small number, all of a large one. */
function significant(value: number): string {
  return value >= 100 ? whole(value) : value.toFixed(value >= 10 ? 1 : 2);
}

function range({ least, most }: Spread): string {
  return `${least.toFixed(2)}-${most.toFixed(2)}`;
}

function percent(share: number, isSigned: boolean): string {
  const text = `${(share * 100).toFixed(0)} %`;
  return isSigned && share > 0 ? `+${text}` : text;
}
