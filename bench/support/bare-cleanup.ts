/**
 * The bare loop of a cleanup: deletes every record, then reads the equipment of each once to see that they are gone. No
 * plan, no audit, no retry. Arguments: origin, pieces of equipment, records of each, requests at one time.
 */
import { Pool } from 'undici';
import { equipmentId, sourceId } from './asset-service.ts';

const [origin = '', equipment = '', recordsEach = '', concurrency = ''] = process.argv.slice(2);
const pool = new Pool(origin, { connections: Number(concurrency) });

function pathOf(index: number): string {
  return `/api/production/netx/equipment/${encodeURIComponent(equipmentId(index))}/time-series`;
}

async function ask(method: 'GET' | 'DELETE', path: string): Promise<unknown> {
  const answer = await pool.request({ method, path });
  return JSON.parse(await answer.body.text());
}

async function concurrently<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]() as IterableIterator<T>;
  const loop = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Number(concurrency) }, loop));
}

function* targets(): Generator<string> {
  for (let index = 0; index < Number(equipment); index += 1) {
    for (let record = 0; record < Number(recordsEach); record += 1) {
      yield `${pathOf(index)}/${encodeURIComponent(sourceId(record))}`;
    }
  }
}

let [deleted, left] = [0, 0];
await concurrently(targets(), async (path) => {
  const count = Number(await ask('DELETE', path));
  deleted += count;
});
await concurrently(Array(Number(equipment)).keys(), async (index) => {
  const { length } = (await ask('GET', pathOf(index))) as unknown[];
  left += length;
});
await pool.close();
console.log(JSON.stringify({ deleted, left }));
