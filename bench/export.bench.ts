/**
 * The export of daily production beside a bare loop, in one run: the same wells from the same testing server, GET and
 * JSON.parse with the same concurrency and the same pages on the one side, `wellsync export daily-production --inline`
 * with its checks, queue, merge and ledger on the other. Prints rows per second, the ratio, and peak memory.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { Agent, request } from 'undici';
import { z } from 'zod';

const wells = 200;
const from = '2021-01-01';
const to = '2026-01-01';
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
  // The testing server makes a well's rows when they are first asked for.
  await bareLoop(baseUrl, uwis);
  const bare = await bareLoop(baseUrl, uwis);
  const first = await wellsyncExport(baseUrl, uwis);
  const again = await wellsyncExport(baseUrl, uwis);
  print(bare, first, again);
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

/** What anybody would write first: pages until an empty one, all wells side by side. */
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

/** As a user runs it; the time is that of the whole command, start of Node and opening of the warehouse included. */
async function wellsyncExport(baseUrl: string, uwis: readonly string[]): Promise<ExportFigure> {
  const wellsFile = path.join(folder, 'wells.csv');
  await writeFile(wellsFile, ['uwi', ...uwis.map((uwi) => `"${uwi}"`)].join('\n'));
  const args = ['export', 'daily-production', '--wells', wellsFile, '--from', from, '--to', to, '--inline', '--json'];
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

/** Peak of the process from the kernel's own high-water mark, and of Redis from its own statistics. */
function watchMemory(child: ChildProcess): () => Promise<{ peakMegabytes: number; redisMegabytes: number }> {
  let peakKilobytes = 0;
  const timer = setInterval(() => {
    void readFile(`/proc/${child.pid}/status`, 'utf8').then(
      (status) => (peakKilobytes = Math.max(peakKilobytes, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0))),
      () => undefined,
    );
  }, 100);
  return async () => {
    clearInterval(timer);
    const redis = new Redis(redisUrl);
    const info = await redis.info('memory');
    redis.disconnect();
    const redisBytes = Number(/^used_memory_peak:(\d+)/m.exec(info)?.[1] ?? 0);
    return { peakMegabytes: peakKilobytes / 1_024, redisMegabytes: redisBytes / 1_048_576 };
  };
}

function print(bare: Figure, first: ExportFigure, again: ExportFigure): void {
  const rate = (figure: Figure): number => figure.rows / figure.seconds;
  const line = (name: string, figure: Figure, more = ''): string =>
    `${name.padEnd(34)} ${Math.round(rate(figure)).toLocaleString('en').padStart(9)} rows/s  ${(rate(figure) / rate(bare)).toFixed(2).padStart(5)}  ${figure.seconds.toFixed(1).padStart(6)} s  ${more}`;
  const more = (figure: ExportFigure): string =>
    `${figure.state}, ${figure.changed.toLocaleString('en')} changed, worker ${figure.peakMegabytes.toFixed(0)} MB, Redis ${figure.redisMegabytes.toFixed(1)} MB at the most`;
  console.log(
    `export of daily production: ${wells} wells, ${from} to ${to}, pages of ${pageLimit}, ${concurrency} requests at one time`,
  );
  console.log(line('bare loop (GET and JSON.parse)', bare, `${bare.rows.toLocaleString('en')} rows`));
  console.log(line('wellsync export, empty warehouse', first, more(first)));
  console.log(line('wellsync export, the same again', again, more(again)));
}
