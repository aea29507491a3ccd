/** Restatements as columns, and their totals as a sentence. */
import type { QueryResult } from '../../app/views/query-result.ts';
import { counted, instantText, listed } from '../../core/base/text.ts';
import type { Restatement } from '../../core/daily/restatement.ts';

const columns = ['day', 'uwi', 'change', 'field', 'old', 'new', 'run', 'noticed_at'].map((name) => ({
  name,
  type: 'VARCHAR',
}));

/** For programs: times as ISO text. */
export function restatementTable(lines: AsyncIterable<Restatement>): QueryResult {
  return { columns, rows: rowsOf(lines, (line) => line.noticedAt) };
}

/** For people: times as reports show them. */
export function readableRestatements(lines: AsyncIterable<Restatement>): QueryResult {
  return { columns, rows: rowsOf(lines, (line) => instantText(Date.parse(line.noticedAt))) };
}

async function* rowsOf(
  lines: AsyncIterable<Restatement>,
  timeOf: (line: Restatement) => string,
): AsyncGenerator<readonly unknown[]> {
  for await (const line of lines) {
    const { field, runId } = line;
    const values = field === null ? ['', '', ''] : [field, line.old, line.new];
    yield [line.day, line.uwi, line.change, ...values, runId, timeOf(line)];
  }
}

/** Counts lines on their way to a table. */
export class RestatementTotals {
  #fields = 0;
  #removed = 0;
  readonly #wells = new Set<string>();

  async *over(lines: AsyncIterable<Restatement>): AsyncGenerator<Restatement> {
    for await (const line of lines) {
      if (line.change === 'removed') this.#removed += 1;
      else this.#fields += 1;
      this.#wells.add(line.uwi);
      yield line;
    }
  }

  /** `12 fields restated and 1 row removed in 3 wells.` */
  text(): string {
    const parts = [
      ...(this.#fields > 0 ? [`${counted(this.#fields, 'field')} restated`] : []),
      ...(this.#removed > 0 ? [`${counted(this.#removed, 'row')} removed`] : []),
    ];
    return parts.length === 0 ? 'Nothing was restated.' : `${listed(parts)} in ${counted(this.#wells.size, 'well')}.`;
  }
}
