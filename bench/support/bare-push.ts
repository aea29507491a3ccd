/**
 * The bare loop of a push: csv-parse with columns, JSON.stringify by chunk, POST. Every value a string, no check, no order,
 * no checkpoint. Arguments: origin, file, items of a chunk, requests at one time. Prints rows and seconds of the loop as
 * JSON.
 */
import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { Pool } from 'undici';

const [origin = '', file = '', chunkItems = '', concurrency = ''] = process.argv.slice(2);
const pool = new Pool(origin, { connections: Number(concurrency) });
const sending = new Set<Promise<void>>();
const beganAtMs = performance.now();
let rows = 0;
let chunk: unknown[] = [];

async function post(body: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await pool.request({ method: 'POST', path: '/api/production/network/pipe', headers, body });
  await answer.body.dump();
}

async function send(): Promise<void> {
  const request = post(JSON.stringify(chunk)).finally(() => sending.delete(request));
  sending.add(request);
  chunk = [];
  if (sending.size >= Number(concurrency)) await Promise.race(sending);
}

for await (const record of createReadStream(file).pipe(parse({ columns: true }))) {
  chunk.push(record);
  rows += 1;
  if (chunk.length === Number(chunkItems)) await send();
}
if (chunk.length > 0) await send();
await Promise.all(sending);
await pool.close();
console.log(JSON.stringify({ rows, seconds: (performance.now() - beganAtMs) / 1_000 }));
