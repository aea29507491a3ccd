/**
 * The push of 1,000,000 generated pipes beside a bare loop, in one run: csv-parse with columns, JSON.stringify by 500 and
 * undici with the same concurrency on the one side, `wellsync push network-pipes --inline` with its checks, order,
 * checkpoint and ledger on the other; both to the same sink, a process of its own that answers at once. Prints rows per
 * second, the ratio and peak memory. The rate is that of the loop, and of the run by its own report; the whole command
 * stands beside it, with the start of Node and the hash of the file. WELLSYNC_BENCH_ROWS sets another number of rows.
 */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { z } from 'zod';
import { generatePipes } from './support/generated-pipes.ts';

const rowCount = Number(process.env['WELLSYNC_BENCH_ROWS'] ?? 1_000_000);
const rounds = Number(process.env['WELLSYNC_BENCH_ROUNDS'] ?? 3);
const chunkItems = 500;
const concurrency = 8;
const pipePath = '/api/production/network/pipe';
/** Of the times in /proc, on every Linux. */
const ticksASecond = 100;
const cli = path.resolve('dist/src/cli/main.js');

const figureSchema = z.object({
  rows: z.number(),
  /** Of the loop or the run: what the rate is made of. */
  seconds: z.number(),
  /** From the start of the process to its end. */
  wholeSeconds: z.number(),
  cpuSeconds: z.number(),
  peakMegabytes: z.number(),
});
type Figure = z.output<typeof figureSchema>;
const reportSchema = z.object({
  state: z.string(),
  durationMs: z.number(),
  counts: z.object({ accepted: z.number(), requests: z.number() }),
});

/** Takes whatever is sent, and tells its parent where. */
function serveSink(): void {
  const server = createServer((request: IncomingMessage, response) => {
    request.resume().once('end', () => response.end());
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

/** What anybody would write first: every value a string, no check, no order, no place kept. */
async function bareLoop(file: string, origin: string): Promise<Figure> {
  const pool = new Pool(origin, { connections: concurrency });
  const sending = new Set<Promise<void>>();
  const beganAtMs = performance.now();
  let rows = 0;
  let chunk: unknown[] = [];
  const post = async (body: string): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await pool.request({ method: 'POST', path: pipePath, headers, body });
    await answer.body.dump();
  };
  const send = async (): Promise<void> => {
    const request = post(JSON.stringify(chunk)).finally(() => sending.delete(request));
    sending.add(request);
    chunk = [];
    if (sending.size >= concurrency) await Promise.race(sending);
  };
  for await (const record of createReadStream(file).pipe(parse({ columns: true }))) {
    chunk.push(record);
    rows += 1;
    if (chunk.length === chunkItems) await send();
  }
  await send();
  await Promise.all(sending);
  await pool.close();
  const seconds = (performance.now() - beganAtMs) / 1_000;
  const { user, system } = process.cpuUsage();
  const cpuSeconds = (user + system) / 1e6;
  return {
    rows,
    seconds,
    wholeSeconds: performance.now() / 1_000,
    cpuSeconds,
    peakMegabytes: process.resourceUsage().maxRSS / 1_024,
  };
}

async function bareInOwnProcess(file: string, origin: string): Promise<Figure> {
  const child = fork(fileURLToPath(import.meta.url), ['bare', file, origin], { execArgv: process.execArgv });
  const [figure] = (await once(child, 'message')) as [unknown];
  await once(child, 'exit');
  return figureSchema.parse(figure);
}

/** As a user runs it: by the first line of the program, which bounds its memory. */
async function wellsyncPush(file: string, origin: string, home: Home): Promise<Figure> {
  const beganAtMs = performance.now();
  const child = spawn(cli, ['push', 'network-pipes', file, '--again', '--inline', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      WELLSYNC_SERVICE_URL: origin,
      WELLSYNC_REDIS_URL: home.redisUrl,
      WELLSYNC_DATA_DIR: home.folder,
      WELLSYNC_QUEUE_PREFIX: 'bench',
    },
  });
  const usage = watchUsage(child);
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const wholeSeconds = (performance.now() - beganAtMs) / 1_000;
  const report = reportSchema.parse(JSON.parse(output));
  if (report.state !== 'done') throw new Error(`the push ended as ${report.state}`);
  return { rows: report.counts.accepted, seconds: report.durationMs / 1_000, wholeSeconds, ...usage() };
}

interface Home {
  readonly folder: string;
  readonly redisUrl: string;
}

/** As the kernel counts: its high-water mark of memory, and the time of all threads. */
function watchUsage(child: ChildProcess): () => Pick<Figure, 'cpuSeconds' | 'peakMegabytes'> {
  let [peakKilobytes, ticks] = [0, 0];
  const look = async (): Promise<void> => {
    const [status, times] = await Promise.all(
      ['status', 'stat'].map((file) => readFile(`/proc/${child.pid}/${file}`, 'utf8')),
    );
    peakKilobytes = Number(/VmHWM:\s+(\d+)/.exec(status ?? '')?.[1] ?? peakKilobytes);
    const [user = 0, system = 0] = (times ?? '').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? [];
    ticks = user + system;
  };
  // The last look may come too late.
  const timer = setInterval(() => void look().catch(() => undefined), 100);
  return () => {
    clearInterval(timer);
    return { cpuSeconds: ticks / ticksASecond, peakMegabytes: peakKilobytes / 1_024 };
  };
}

async function compare(): Promise<void> {
  const redisUrl = z.string().parse(process.env['WELLSYNC_BENCH_REDIS_URL'], {
    error: () => 'run it by `npm run bench -- push`',
  });
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
  const sink = fork(fileURLToPath(import.meta.url), ['sink'], { execArgv: process.execArgv });
  try {
    const [port] = (await once(sink, 'message')) as [number];
    const origin = `http://127.0.0.1:${port}`;
    const file = path.join(folder, 'pipes.csv');
    await generatePipes(file, rowCount);
    const megabytes = ((await stat(file)).size / 1e6).toFixed(0);
    console.log(
      `${rowCount.toLocaleString('en')} pipes, ${megabytes} MB, chunks of ${chunkItems}, ${concurrency} requests at one time; best of ${rounds}, in turn`,
    );
    const bare: Figure[] = [];
    const push: Figure[] = [];
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await bareInOwnProcess(file, origin));
      push.push(await wellsyncPush(file, origin, { folder, redisUrl }));
    }
    print(quickest(bare), quickest(push), await redisMegabytes(redisUrl));
  } finally {
    sink.kill();
    await rm(folder, { recursive: true });
  }
}

async function redisMegabytes(redisUrl: string): Promise<number> {
  const redis = new Redis(redisUrl);
  const info = await redis.info('memory');
  redis.disconnect();
  return Number(/^used_memory_peak:(\d+)/m.exec(info)?.[1] ?? 0) / 1_048_576;
}

function quickest(figures: readonly Figure[]): Figure {
  return figures.reduce((best, figure) => (figure.seconds < best.seconds ? figure : best));
}

function print(bare: Figure, push: Figure, redisPeakMegabytes: number): void {
  const rate = ({ rows, seconds }: Figure): number => rows / seconds;
  const row = (way: string, figure: Figure) => ({
    way,
    'rows/s': Math.round(rate(figure)),
    'of bare': Number((rate(figure) / rate(bare)).toFixed(2)),
    seconds: Number(figure.seconds.toFixed(1)),
    'whole s': Number(figure.wholeSeconds.toFixed(1)),
    'CPU s': Number(figure.cpuSeconds.toFixed(1)),
    'peak MB': Math.round(figure.peakMegabytes),
  });
  console.table([row('bare loop', bare), row('wellsync push --inline', push)]);
  console.log(`Redis ${redisPeakMegabytes.toFixed(1)} MB at the most; load of the machine ${loadavg()[0]?.toFixed(1)}`);
}

const [way, file, origin] = process.argv.slice(2);
if (way === 'sink') serveSink();
else if (way === 'bare' && file !== undefined && origin !== undefined) process.send?.(await bareLoop(file, origin));
else await compare();
