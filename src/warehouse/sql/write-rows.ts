/** Writes the rows of a statement to a text file, each value as a query prints it. */
import { createWriteStream } from 'node:fs';
import { Readable, type Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { stringify } from 'csv-stringify';
import { distinctNames } from '../../core/base/distinct-names.ts';
import { csvForm, ndjsonLine } from '../../core/base/row-text.ts';
import type { CopyTarget, QueryResult } from '../port/query.ts';

/** Returns the number of rows. Throws what the rows throw, and the system's error where the file cannot be written. */
export async function writeRows({ columns, rows }: QueryResult, target: CopyTarget): Promise<number> {
  const names = distinctNames(columns.map(({ name }) => name));
  let count = 0;
  async function* items(): AsyncGenerator {
    for await (const row of rows) {
      count += 1;
      yield target.format === 'csv' ? row : ndjsonLine(names, row);
    }
  }
  const forms: readonly Duplex[] = [
    ...(target.format === 'csv' ? [stringify(csvForm(names))] : []),
    ...(target.isGzip ? [createGzip()] : []),
  ];
  await pipeline([Readable.from(items()), ...forms, createWriteStream(target.path)]);
  return count;
}
