/**
 * The push of 1,000,000 generated pipes against a bare loop, in one run. The loop does csv-parse with columns,
 * JSON.stringify by 500 and undici with the same concurrency; `wellsync push network-pipes --inline` adds its checks,
 * order, checkpoint and ledger. Both send to the same sink, a process of its own that answers at once. Prints rows per
 * second, the ratio and peak memory. The rate is that of the loop, and of the run by its own report; the time of the
 * whole command is shown beside it, with the start of Node and the hash of the file. WELLSYNC_BENCH_ROWS sets the
 * number of rows.
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
import { peakMegabytes, processTree } from '../test/support/process-tree.ts';
import { generatePipes } from './support/generated-pipes.ts';

const rowCount = Number(process.env['WELLSYNC_BENCH_ROWS'] ?? 1_000_000);
const rounds = Number(process.env['WELLSYNC_BENCH_ROUNDS'] ?? 3);
const chunkItems = 500;
const concurrency = 8;
const pipePath = '/api/production/network/pipe';
/** Clock ticks per second of the times in /proc, on every Linux. */
const ticksASecond = 100;
const cli = path.resolve('dist/src/cli/main.js');

const figureSchema = z.object({
  rows: z.number(),
  /** Time of the loop or the run, from which the rate is computed. */
  seconds: z.number(),
  /** Time from the start of the process to its end. */
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

/** Accepts every request, and sends its port to the parent process. */
function serveSink(): void {
  const server = createServer((request: IncomingMessage, response) => {
    request.resume().once('end', () => response.end());
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

/** The bare loop: every value a string, no check, no order, no checkpoint. */
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

/** The command as a user runs it: through its executable, which bounds its memory. */
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

/** As the kernel counts for all processes of the command: their high-water marks of memory, and the time of all threads. */
function watchUsage(child: ChildProcess): () => Pick<Figure, 'cpuSeconds' | 'peakMegabytes'> {
  let [peak, ticks] = [0, 0];
  const look = async (): Promise<void> => {
    peak = Math.max(peak, peakMegabytes(child.pid ?? 0));
    const times = await Promise.all(processTree(child.pid ?? 0).map((pid) => readFile(`/proc/${pid}/stat`, 'utf8')));
    const spent = times.flatMap((line) => line.split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? []);
    ticks = Math.max(
      ticks,
      spent.reduce((sum, each) => sum + each, 0),
    );
  };
  // The process may be gone at the last sample.
  const timer = setInterval(() => void look().catch(() => undefined), 100);
  return () => {
    clearInterval(timer);
    return { cpuSeconds: ticks / ticksASecond, peakMegabytes: peak };
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
