/**
 * Three ways of a chunk of pipes from the reader of a file to the worker that would send it: in place, as a queue item
 * with its rows, and as a queue item with a range of the file, which the worker reads again. Nothing is sent; each way
 * runs in its own process. WELLSYNC_BENCH_ROWS sets the number of rows.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { ChunkCutter, type CutChunk, type FilePosition } from '../src/core/pipes/chunks-in-order.ts';
import type { PipeItem } from '../src/pipes/items.ts';
import { readPipes } from '../src/pipes/read-pipes.ts';
import { generatePipes, pipesHeader } from './support/generated-pipes.ts';

const rowCount = Number(process.env['WELLSYNC_BENCH_ROWS'] ?? 200_000);
const rounds = Number(process.env['WELLSYNC_BENCH_ROUNDS'] ?? 3);
const redisUrl = process.env['WELLSYNC_BENCH_REDIS_URL'] ?? '';
const chunkItems = 500;
const maxBodyBytes = 1_000_000;
/** Most items that wait in Redis, so that it stays small for a file of any size. */
const maxOpen = 32;

const ways = ['in place', 'item with rows', 'item with pointer'] as const;
type Way = (typeof ways)[number];
interface Chunk {
  readonly items: readonly PipeItem[];
  readonly end: FilePosition;
}

const figureSchema = z.object({ rows: z.number(), seconds: z.number(), cpuSeconds: z.number(), redisMb: z.number() });
type Figure = z.output<typeof figureSchema>;

async function* chunksOf(source: Parameters<typeof readPipes>[0]): AsyncGenerator<Chunk> {
  const cutter = new ChunkCutter<{ readonly item: PipeItem }>(
    () => ({ maxItems: chunkItems, maxBytes: maxBodyBytes }),
    'unknown',
  );
  const taken = (chunk: CutChunk<{ readonly item: PipeItem }> | undefined): Chunk | undefined => {
    if (chunk === undefined) return undefined;
    cutter.settle(chunk);
    const items = Array.from(chunk.byKey.values(), ({ item }) => item);
    const end = items.at(-1)?.end;
    return end && { items, end };
  };
  for await (const { entries } of readPipes(source)) {
    for (const entry of entries) {
      if (entry.kind === 'item') cutter.add({ item: entry });
      const chunk = taken(cutter.next(false));
      if (chunk !== undefined) yield chunk;
    }
  }
  const last = taken(cutter.next(true));
  if (last !== undefined) yield last;
}

function bodyOf({ items }: Chunk): string {
  return `[${items.map((item) => item.body).join(',')}]`;
}

/** The queue item of a chunk: its rows, or its range of the file in bytes. */
interface Item {
  readonly rows: number;
  readonly body: string;
  readonly from: number;
  readonly to: number;
}

/** Adds an item for each chunk, at most `maxOpen` ahead of the worker. */
async function throughQueue(file: string, withRows: boolean, work: (item: Item) => Promise<void>): Promise<void> {
  const connection = { url: redisUrl, maxRetriesPerRequest: null };
  const queue = new Queue('travel', { connection });
  const open = new Set<number>();
  const takeItem = async ({ data }: { readonly data: Item }): Promise<void> => {
    await work(data);
    open.delete(data.from);
  };
  const worker = new Worker<Item>('travel', takeItem, { connection, concurrency: 8 });
  let from = 0;
  for await (const chunk of chunksOf({ path: file })) {
    while (open.size >= maxOpen) await once(worker, 'completed');
    open.add(from);
    const item = { rows: chunk.items.length, body: withRows ? bodyOf(chunk) : '', from, to: chunk.end.byte };
    await queue.add('chunk', item, { removeOnComplete: true });
    from = chunk.end.byte;
  }
  while (open.size > 0) await once(worker, 'completed');
  await Promise.all([worker.close(), queue.close()]);
}

/** The header of the file followed by the range: a small file of its own. */
async function* stretchOf(file: string, header: string, { from, to }: Item): AsyncGenerator<Buffer> {
  if (from > 0) yield Buffer.from(header);
  for await (const block of createReadStream(file, { start: from, end: to - 1 })) yield block as Buffer;
}

/** Passes every body to `deliver`, in any order. */
async function travel(way: Way, file: string, deliver: (body: string, rows: number) => void): Promise<void> {
  if (way === 'in place') {
    for await (const chunk of chunksOf({ path: file })) deliver(bodyOf(chunk), chunk.items.length);
  } else if (way === 'item with rows') {
    await throughQueue(file, true, async ({ body, rows }) => deliver(body, rows));
  } else {
    await throughQueue(file, false, async (item) => {
      const stream = Readable.from(stretchOf(file, pipesHeader, item));
      for await (const chunk of chunksOf({ stream, name: file })) deliver(bodyOf(chunk), chunk.items.length);
    });
  }
}

async function measure(way: Way, file: string): Promise<Figure> {
  const redis = new Redis(redisUrl);
  let [rows, redisMb] = [0, 0];
  const timer = setInterval(() => {
    void redis.info('memory').then((info) => {
      redisMb = Math.max(redisMb, Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0) / 1_048_576);
    });
  }, 50);
  const beganAtMs = performance.now();
  await travel(way, file, (body, count) => {
    if (Buffer.from(body).length > 0) rows += count;
  });
  const seconds = (performance.now() - beganAtMs) / 1_000;
  clearInterval(timer);
  await redis.quit();
  const { user, system } = process.cpuUsage();
  return { rows, seconds, cpuSeconds: (user + system) / 1e6, redisMb };
}

async function inOwnProcess(way: Way, file: string): Promise<Figure> {
  const child = fork(fileURLToPath(import.meta.url), [way, file], { execArgv: process.execArgv });
  const [figure] = (await once(child, 'message')) as [unknown];
  await once(child, 'exit');
  return figureSchema.parse(figure);
}

async function compare(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
  try {
    const file = path.join(folder, 'pipes.csv');
    await generatePipes(file, rowCount);
    console.log(
      `${rowCount.toLocaleString('en')} pipes in chunks of ${chunkItems}; best of ${rounds}, the ways in turn`,
    );
    const best = new Map<Way, Figure>();
    for (let round = 0; round < rounds; round += 1) {
      for (const way of ways) {
        const figure = await inOwnProcess(way, file);
        if (figure.rows !== rowCount) throw new Error(`${way}: ${figure.rows} rows arrived`);
        if (figure.seconds < (best.get(way)?.seconds ?? Infinity)) best.set(way, figure);
      }
    }
    print(best);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function print(best: ReadonlyMap<Way, Figure>): void {
  console.table(
    [...best].map(([way, { rows, seconds, cpuSeconds, redisMb }]) => ({
      way,
      'rows/s': Math.round(rows / seconds),
      seconds: Number(seconds.toFixed(1)),
      'CPU s': Number(cpuSeconds.toFixed(1)),
      'Redis peak MB': Number(redisMb.toFixed(1)),
    })),
  );
}

const [named, file] = process.argv.slice(2);
const way = ways.find((candidate) => candidate === named);
if (way !== undefined && file !== undefined) process.send?.(await measure(way, file));
else await compare();
