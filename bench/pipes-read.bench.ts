/**
 * Measures the reading of 1,000,000 generated pipes: a bare loop (csv-parse with columns, JSON.stringify by 500), the same
 * loop with arrays and booleans where the service wants them, and the reader cut into request bodies, which checks every
 * cell as well. Each way runs in a process of its own, so that none pays for another's memory.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse';
import { SliceCutter, type PipeSlice } from '../src/core/pipe-slices.ts';
import type { PipeItem, RejectedRows } from '../src/pipes/items.ts';
import { readPipes } from '../src/pipes/read-pipes.ts';

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

/** What anybody would write: every value a string, or what `shape` makes of it. */
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
  const cutter = new SliceCutter<PipeItem, RejectedRows>(() => ({ maxItems: chunkItems, maxBytes: maxBodyBytes }));
  const send = (slice: PipeSlice<PipeItem, RejectedRows> | undefined): void => {
    if (slice === undefined) return;
    rows += slice.rowCount;
    bodyBytes += `[${slice.items.map((item) => item.body).join(',')}]`.length;
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

async function generate(file: string): Promise<void> {
  const out = createWriteStream(file);
  const columns = 'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled';
  let text = `${columns},length,trueVerticalDepth,innerDiameter,roughness\n`;
  for (let row = 0; row < rowCount; row += 1) {
    const [from, to] = [row % 400_000, (row * 7) % 400_000];
    const depth = -35 - (row % 50);
    text += `BENCH_Network_1,LINK-${row},2020-01-01T00:00:00Z,JUNCTION-${from},JUNCTION-${to},true,`;
    text += `"[${(row % 9000) / 10 + 1}]","[${depth}.507973,-38.211669000000001]","[6.000000]","[140]"\n`;
    if (text.length < 1_000_000) continue;
    if (!out.write(text)) await once(out, 'drain');
    text = '';
  }
  out.end(text);
  await once(out, 'close');
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
    await generate(file);
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
