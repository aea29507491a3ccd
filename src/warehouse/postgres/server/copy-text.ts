/** Records on their way into a table by COPY, as text (PostgreSQL's manual, COPY, "Text Format"). */
import type { SqlValue } from '../../sql/session.ts';
import { textOf } from './wire-values.ts';

const chunkChars = 128 * 1024;

/** Chunks of lines, one line a record. */
export function* linesOf<T>(
  columns: ReadonlyArray<(record: T) => SqlValue>,
  records: Iterable<T>,
): Generator<string, void> {
  let chunk = '';
  for (const record of records) {
    chunk += `${columns.map((read) => field(read(record))).join('\t')}\n`;
    if (chunk.length < chunkChars) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function field(value: SqlValue): string {
  return value === null ? '\\N' : textOf(value).replaceAll(/[\\\t\n\r]/g, (sign) => escapes[sign] ?? sign);
}
