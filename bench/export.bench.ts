/**
 * The export of daily production against a bare loop, in one run. Both read the same wells from the same testing
 * server. The loop does GET and JSON.parse, with the same concurrency and pages; `wellsync export daily-production
 * --inline` adds its checks, queue, merge and ledger. Prints rows per second, the ratio, requests, and peak memory.
 * WELLSYNC_BENCH_WELLS, WELLSYNC_BENCH_FROM and WELLSYNC_BENCH_TO set the size.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { peakMegabytes } from '../test/support/process-tree.ts';

const {
  WELLSYNC_BENCH_WELLS: wells,
  WELLSYNC_BENCH_FROM: from,
  WELLSYNC_BENCH_TO: to,
} = z
  .object({
    WELLSYNC_BENCH_WELLS: z.coerce.number().int().positive().default(200),
    WELLSYNC_BENCH_FROM: z.iso.date().default('2021-01-01'),
    WELLSYNC_BENCH_TO: z.iso.date().default('2026-01-01'),
  })
  .parse(process.env);
const pageLimit = 1_000;
const concurrency = 8;
const cli = path.resolve('dist/src/cli/main.js');

const redisUrl = z.string().parse(process.env['WELLSYNC_BENCH_REDIS_URL'], {
  error: () => 'run it by `npm run bench -- export`',
});
const stateSchema = z.object({ wells: z.array(z.string()) });
const reportSchema = z.object({ state: z.string(), durationMs: z.number(), counts: z.record(z.string(), z.number()) });

const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
const server = spawn(
  process.execPath,
  [cli, 'testing-server', '--seed', '7', '--wells', String(wells), '--from', from, '--to', to, '--port', '0', '--json'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
try {
  const baseUrl = await addressOf(server);
  const uwis = await knownWells(baseUrl);
  // The testing server generates a well's rows at its first request.
  await bareLoop(baseUrl, uwis);
  const bare = await bareLoop(baseUrl, uwis);
  const first = await wellsyncExport(baseUrl, uwis);
  const morning = await wellsyncExport(baseUrl, uwis);
  const again = await wellsyncExport(baseUrl, uwis, ['--from', from, '--to', to]);
  print(bare, { first, morning, again });
} finally {
  server.kill();
  await rm(folder, { recursive: true, force: true });
}

interface Figure {
  readonly rows: number;
  readonly seconds: number;
}

interface ExportFigure extends Figure {
  readonly state: string;
  readonly changed: number;
  readonly requests: number;
  readonly peakMegabytes: number;
  readonly redisMegabytes: number;
}

async function addressOf(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  return z.object({ url: z.string() }).parse(JSON.parse(line)).url;
}

async function knownWells(baseUrl: string): Promise<readonly string[]> {
  const answer = await request(`${baseUrl}/testing/state`);
  return stateSchema.parse(await answer.body.json()).wells;
}

/** The bare loop: pages until an empty one, all wells concurrently. */
async function bareLoop(baseUrl: string, uwis: readonly string[]): Promise<Figure> {
  const dispatcher = new Agent({ connections: concurrency });
  const queue = uwis.values();
  let rows = 0;
  const began = performance.now();
  const loop = async (): Promise<void> => {
    for (const uwi of queue) {
      for (let page = 1; ; page += 1) {
        const query = new URLSearchParams({
          startDate: `${from}T00:00:00Z`,
          endDate: `${to}T00:00:00Z`,
          page: String(page),
          limit: String(pageLimit),
        });
        const answer = await request(`${baseUrl}/api/production/daily/${encodeURIComponent(uwi)}?${query.toString()}`, {
          dispatcher,
        });
        const records = JSON.parse(await answer.body.text()) as unknown[];
        if (records.length === 0) break;
        rows += records.length;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  const seconds = (performance.now() - began) / 1_000;
  await dispatcher.close();
  return { rows, seconds };
}

/** The command as a user runs it. The time includes the start of Node and the opening of the warehouse. */
async function wellsyncExport(
  baseUrl: string,
  uwis: readonly string[],
  bounds: readonly string[] = [],
): Promise<ExportFigure> {
  const wellsFile = path.join(folder, 'wells.csv');
  await writeFile(wellsFile, ['uwi', ...uwis.map((uwi) => `"${uwi}"`)].join('\n'));
  const args = ['export', 'daily-production', '--wells', wellsFile, ...bounds, '--inline', '--json'];
  const began = performance.now();
  const child = spawn(cli, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      WELLSYNC_SERVICE_URL: baseUrl,
      WELLSYNC_REDIS_URL: redisUrl,
      WELLSYNC_WAREHOUSE: `duckdb:${path.join(folder, 'warehouse.duckdb')}`,
      WELLSYNC_QUEUE_PREFIX: 'bench',
    },
  });
  const memory = watchMemory(child);
  const output = await textOf(child);
  const seconds = (performance.now() - began) / 1_000;
  const report = reportSchema.parse(JSON.parse(output));
  const count = (name: string): number => report.counts[name] ?? 0;
  return {
    rows: count('inserted') + count('updated') + count('unchanged'),
    changed: count('inserted') + count('updated') + count('removed'),
    requests: count('requests'),
    seconds,
    state: report.state,
    ...(await memory()),
  };
}

async function textOf(child: ChildProcess): Promise<string> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part));
  await once(child, 'close');
  return text;
}

/** Peaks of all processes of the command from the kernel's own high-water marks, together; of Redis from its statistics. */
function watchMemory(child: ChildProcess): () => Promise<{ peakMegabytes: number; redisMegabytes: number }> {
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, peakMegabytes(child.pid ?? 0))), 100);
  return async () => {
    clearInterval(timer);
    const redis = new Redis(redisUrl);
    const info = await redis.info('memory');
    redis.disconnect();
    const redisBytes = Number(/^used_memory_peak:(\d+)/m.exec(info)?.[1] ?? 0);
    return { peakMegabytes: peak, redisMegabytes: redisBytes / 1_048_576 };
  };
}

function print(
  bare: Figure,
  { first, morning, again }: Readonly<Record<'first' | 'morning' | 'again', ExportFigure>>,
): void {
  const rate = (figure: Figure): number => figure.rows / figure.seconds;
  const line = (name: string, figure: Figure, more = ''): string =>
    `${name.padEnd(34)} ${Math.round(rate(figure)).toLocaleString('en').padStart(9)} rows/s  ${(rate(figure) / rate(bare)).toFixed(2).padStart(5)}  ${figure.seconds.toFixed(1).padStart(6)} s  ${more}`;
  const more = (figure: ExportFigure): string =>
    `${figure.state}, ${figure.changed.toLocaleString('en')} changed, ${figure.requests.toLocaleString('en')} requests, worker ${figure.peakMegabytes.toFixed(0)} MB, Redis ${figure.redisMegabytes.toFixed(1)} MB at the most`;
  console.log(
    `export of daily production: ${wells} wells, ${from} to ${to}, pages of ${pageLimit}, ${concurrency} requests at one time`,
  );
  console.log(line('bare loop (GET and JSON.parse)', bare, `${bare.rows.toLocaleString('en')} rows`));
  console.log(line('wellsync export, empty warehouse', first, more(first)));
  console.log(line('wellsync export, every morning', morning, more(morning)));
  console.log(line('wellsync export, all of it again', again, more(again)));
}
