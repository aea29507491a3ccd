/** Files of pipes for a model: each row tells which one it is, so that the service and the rejects can be asked for it. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';

interface DrawnRow {
  readonly pipe: number;
  /** Of the pipe; 0 for none. */
  readonly date: number;
  readonly kind: 'good' | 'rejected' | 'refused';
  /** Lines in the long form. */
  readonly segments: number;
}

/** What goes as one item, or is rejected as one. */
export interface ModelItem {
  readonly row: string;
  readonly pipe: string;
  readonly version: string;
  readonly kind: DrawnRow['kind'];
  readonly lines: number;
  /** The first line behind it. */
  readonly endLine: number;
}

export interface ModelFile {
  readonly name: string;
  readonly form: 'wide' | 'long';
  readonly text: string;
  readonly sha256: string;
  readonly items: readonly ModelItem[];
}

const kind = fc.constantFrom<DrawnRow['kind']>('good', 'good', 'good', 'good', 'good', 'rejected', 'refused');
const row = fc.record({ pipe: fc.nat(3), date: fc.nat(3), kind, segments: fc.integer({ min: 1, max: 3 }) });

export function drawnFile(name: string, form: 'wide' | 'long'): fc.Arbitrary<ModelFile> {
  return fc.array(row, { minLength: 1, maxLength: 24, size: 'max' }).map((rows) => fileOf(name, form, rows));
}

/** The network of a file is its own: no two files write the same pipes. */
function fileOf(name: string, form: 'wide' | 'long', rows: readonly DrawnRow[]): ModelFile {
  const items: ModelItem[] = [];
  const lines = ['sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,length'];
  for (const [index, { pipe, date, kind: what, segments }] of rows.entries()) {
    // In the long form, a broken row takes its neighbours of the same pipe with it.
    const id = form === 'long' && what === 'rejected' ? `B${index}` : `P${pipe}`;
    const day = date === 0 ? '' : `2026-01-0${date}`;
    const count = form === 'long' ? segments : 1;
    const named = `${name}-${index}`;
    for (let segment = 1; segment <= count; segment += 1) {
      const dated = day === '' ? '' : `${day}T00:00:00Z`;
      const length = what === 'rejected' ? 'much' : segment;
      lines.push([name, id, dated, `row ${named}`, what === 'refused' ? 'refused' : '', length].join(','));
    }
    const of = { pipe: `${name} ${id}`, version: `${name} ${id} ${day}`, kind: what };
    items.push({ row: named, ...of, lines: count, endLine: lines.length + 1 });
  }
  const text = `${lines.join('\n')}\n`;
  return { name, form, text, sha256: createHash('sha256').update(text).digest('hex'), items };
}
