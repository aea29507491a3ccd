/**
 * Reading 1,000,000 generated pipes in three ways: a bare loop (csv-parse with columns, JSON.stringify by 500), the
 * same loop with arrays and booleans where the service wants them, and the reader cut into request bodies, which also
 * checks every cell. Each way runs in its own process, so that memory does not carry over.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse';
import { ChunkCutter, type PipeChunk } from '../src/core/pipes/chunk-cutter.ts';
import type { PipeItem, RejectedRows } from '../src/pipes/items.ts';
import { readPipes } from '../src/pipes/read-pipes.ts';
import { generatePipes } from './support/generated-pipes.ts';

const rowCount = Number(process.env['WELLSYNC_BENCH_ROWS'] ?? 1_000_000);
const rounds = Number(process.env['WELLSYNC_BENCH_ROUNDS'] ?? 3);
const chunkItems = 500;
const maxBodyBytes = 1_000_000;

interface Figures {
  readonly rows: number;
  readonly bodyBytes: number;
  readonly seconds: number;
  readonly peakMb: number;
  readonly longestBlockMs: number;
}

const ways = ['bare', 'typed', 'reader'] as const;
type Way = (typeof ways)[number];

const listFields = ['length', 'trueVerticalDepth', 'innerDiameter', 'roughness'];

function typed(record: Record<string, unknown>): Record<string, unknown> {
  for (const field of listFields) record[field] = JSON.parse(String(record[field]));
  record['enabled'] = record['enabled'] === 'true';
  return record;
}

/** The bare loop: every value a string, unless `shape` converts it. */
async function readBare(
  file: string,
  shape: (record: Record<string, unknown>) => Record<string, unknown>,
): Promise<{ rows: number; bodyBytes: number }> {
  let [rows, bodyBytes] = [0, 0];
  let chunk: unknown[] = [];
  for await (const record of createReadStream(file).pipe(parse({ columns: true }))) {
    chunk.push(shape(record as Record<string, unknown>));
    rows += 1;
    if (chunk.length < chunkItems) continue;
    bodyBytes += JSON.stringify(chunk).length;
    chunk = [];
  }
  return { rows, bodyBytes: bodyBytes + JSON.stringify(chunk).length };
}

async function readChecked(file: string): Promise<{ rows: number; bodyBytes: number }> {
  let [rows, bodyBytes] = [0, 0];
  const cutter = new ChunkCutter<PipeItem, RejectedRows>(() => ({ maxItems: chunkItems, maxBytes: maxBodyBytes }));
  const send = (chunk: PipeChunk<PipeItem, RejectedRows> | undefined): void => {
    if (chunk === undefined) return;
    rows += chunk.rowCount;
    bodyBytes += `[${chunk.items.map((item) => item.body).join(',')}]`.length;
  };
  for await (const { entries } of readPipes({ path: file })) {
    for (const entry of entries) send(entry.kind === 'item' ? cutter.add(entry) : cutter.reject(entry));
  }
  send(cutter.flush());
  return { rows, bodyBytes };
}

async function measure(way: Way, file: string): Promise<Figures> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const startedAtMs = performance.now();
  const read = await (way === 'reader'
    ? readChecked(file)
    : readBare(file, way === 'typed' ? typed : (record) => record));
  const seconds = (performance.now() - startedAtMs) / 1000;
  return { ...read, seconds, peakMb: process.resourceUsage().maxRSS / 1024, longestBlockMs: delay.max / 1e6 };
}

async function inOwnProcess(way: Way, file: string): Promise<Figures> {
  const child = fork(fileURLToPath(import.meta.url), [way, file], { execArgv: process.execArgv });
  const [figures] = (await once(child, 'message')) as [Figures];
  await once(child, 'exit');
  return figures;
}

async function compare(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
  try {
    const file = path.join(folder, 'pipes.csv');
    await generatePipes(file, rowCount);
    const { size } = await stat(file);
    console.log(`${rowCount} pipes, ${(size / 1e6).toFixed(0)} MB; best of ${rounds}, the ways in turn`);
    const best = new Map<Way, Figures>();
    for (let round = 0; round < rounds; round += 1) {
      for (const way of ways) {
        const figures = await inOwnProcess(way, file);
        if (figures.seconds < (best.get(way)?.seconds ?? Infinity)) best.set(way, figures);
      }
    }
    print(best);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function print(best: ReadonlyMap<Way, Figures>): void {
  const bareSeconds = best.get('bare')?.seconds ?? Number.NaN;
  console.table(
    [...best].map(([way, { rows, seconds, peakMb, longestBlockMs, bodyBytes }]) => ({
      way,
      rows,
      'rows/s': Math.round(rows / seconds),
      'of bare': Number((bareSeconds / seconds).toFixed(2)),
      'peak MB': Math.round(peakMb),
      'longest block ms': Math.round(longestBlockMs),
      'bodies MB': Math.round(bodyBytes / 1e6),
    })),
  );
}

const [named, file] = process.argv.slice(2);
const way = ways.find((candidate) => candidate === named);
if (way !== undefined && file !== undefined) process.send?.(await measure(way, file));
else await compare();
