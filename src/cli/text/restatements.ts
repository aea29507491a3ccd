/** Restatements as columns, and their totals as a sentence. */
import type { QueryResult } from '../../app/warehouse/query-file.ts';
import { counted, instantText, listed } from '../../core/base/text.ts';
import type { Restatement } from '../../core/daily/restatement.ts';

const names = ['day', 'uwi', 'change', 'field', 'old', 'new', 'run', 'noticed_at'];

/** For programs: times as ISO text. */
export function restatementTable(lines: AsyncIterable<Restatement>): QueryResult {
  return { columns: columnsOf(names), rows: rowsOf(lines, ({ runId, noticedAt }) => [runId, noticedAt]) };
}

/** A terminal of fewer columns would cut the id of the run, which is then of no use. */
const wideWidth = 110;

/** For people: the minute at which it was noticed, in UTC, and the run where there is room for it. */
export function readableRestatements(lines: AsyncIterable<Restatement>, width: number): QueryResult {
  const isWide = width >= wideWidth;
  const shown = [...names.slice(0, -2), 'noticed_at', ...(isWide ? ['run'] : [])];
  const minute = (iso: string): string => instantText(Date.parse(iso)).slice(0, 'YYYY-MM-DD HH:mm'.length);
  return {
    columns: columnsOf(shown),
    rows: rowsOf(lines, ({ runId, noticedAt }) => [minute(noticedAt), ...(isWide ? [runId] : [])]),
  };
}

function columnsOf(shown: readonly string[]): QueryResult['columns'] {
  return shown.map((name) => ({ name, type: 'VARCHAR' }));
}

async function* rowsOf(
  lines: AsyncIterable<Restatement>,
  noticeOf: (line: Restatement) => readonly string[],
): AsyncGenerator<readonly unknown[]> {
  for await (const line of lines) {
    const { field } = line;
    const values = field === null ? ['', '', ''] : [field, line.old, line.new];
    yield [line.day, line.uwi, line.change, ...values, ...noticeOf(line)];
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
