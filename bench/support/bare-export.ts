/**
 * The bare loop of an export: GET, JSON.parse and a count, page after page until one is not full. Arguments: origin, wells,
 * first day, requests at one time, and `gzip` where answers shall be compressed. Prints the rows and requests as JSON.
 */
import { gunzipSync } from 'node:zlib';
import { Pool } from 'undici';
import { uwiOf } from './daily-service.ts';

const [origin = '', wells = '', from = '', concurrency = '', encoding = 'identity'] = process.argv.slice(2);
const limit = 1_000;
const pool = new Pool(origin, { connections: Number(concurrency) });
const queue = Array(Number(wells)).keys();
let [rows, requests] = [0, 0];

async function page(uwi: string, number: number): Promise<number> {
  const query = new URLSearchParams({ startDate: `${from}T00:00:00Z`, page: String(number), limit: String(limit) });
  const path = `/api/production/daily/${encodeURIComponent(uwi)}?${query.toString()}`;
  const answer = await pool.request({ method: 'GET', path, headers: { 'accept-encoding': encoding } });
  const isCompressed = answer.headers['content-encoding'] === 'gzip';
  const text = isCompressed ? gunzipSync(await answer.body.bytes()).toString() : await answer.body.text();
  requests += 1;
  return (JSON.parse(text) as unknown[]).length;
}

async function loop(): Promise<void> {
  for (const well of queue) {
    let count = limit;
    for (let number = 1; count === limit; number += 1) {
      count = await page(uwiOf(well), number);
      rows += count;
    }
  }
}

await Promise.all(Array.from({ length: Number(concurrency) }, loop));
await pool.close();
console.log(JSON.stringify({ rows, requests }));
