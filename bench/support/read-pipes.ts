/**
 * Reads a file of pipes into request bodies in one of two ways, and prints rows and bytes as JSON: `bare` (csv-parse with
 * columns, JSON.stringify by 500) and `checked` (the reader and the look-ahead of a push, which check every cell). Arguments:
 * way, file.
 */
import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { LookAhead, type ReaderState } from '../../src/core/pipes/look-ahead.ts';
import type { PipeItem, RejectedRows } from '../../src/pipes/items.ts';
import { readPipes } from '../../src/pipes/read-pipes.ts';

const limits = { maxItems: 500, maxBytes: 1_000_000 };
let [rows, bodyBytes] = [0, 0];

async function readBare(file: string): Promise<void> {
  let chunk: unknown[] = [];
  for await (const record of createReadStream(file).pipe(parse({ columns: true }))) {
    chunk.push(record);
    rows += 1;
    if (chunk.length < limits.maxItems) continue;
    bodyBytes += JSON.stringify(chunk).length;
    chunk = [];
  }
  bodyBytes += JSON.stringify(chunk).length;
}

async function readChecked(file: string): Promise<void> {
  const ahead = new LookAhead<PipeItem, RejectedRows>({
    limits: () => limits,
    identity: 'unknown',
    concurrency: 1,
  });
  const send = (reader: ReaderState): void => {
    for (let chunk = ahead.next(reader); chunk !== undefined; chunk = ahead.next(reader)) {
      bodyBytes += `[${chunk.items.map((item) => item.body).join(',')}]`.length;
      ahead.settle(chunk, { accepted: chunk.items, refused: [], failed: [], requests: 1 }, () => {
        throw new Error('nothing is refused');
      });
      rows += ahead.pass()?.counts['rows'] ?? 0;
    }
  };
  for await (const { entries } of readPipes({ path: file })) {
    for (const entry of entries) {
      if (entry.kind === 'item') ahead.add(entry);
      else ahead.reject(entry);
      send('reading');
    }
  }
  send('ended');
}

const [way, file = ''] = process.argv.slice(2);
await (way === 'bare' ? readBare(file) : readChecked(file));
console.log(JSON.stringify({ rows, bodyBytes }));
