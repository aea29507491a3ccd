/** A worker of the usual memory reads hostile answers beside good ones; the kernel measures what its processes took. */
import { existsSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { measureFields } from '../../src/core/daily/row.ts';
import { queueKinds } from '../../src/core/run/warehouse-queue.ts';
import { DAY_MS } from '../../src/core/time/window.ts';
import { cliHome } from '../support/cli.ts';
import { pour } from '../support/hostile-modes.ts';
import { answer, goodRecord, goodRows, startHostileServer, type HostileMode } from '../support/hostile-server.ts';
import { peakMegabytes } from '../support/process-tree.ts';

const hasProc = existsSync('/proc/self/status');
const memoryMb = 512;

/** One page with this text between two good records. */
const around = (text: string): HostileMode => {
  const page = Buffer.from(`[${JSON.stringify(goodRecord(0))},${text},${JSON.stringify(goodRecord(2))}]`);
  return (socket, index) => answer(socket, index === 0 ? page : '[]');
};
const always = (text: string): HostileMode => {
  const page = Buffer.from(text);
  return (socket) => answer(socket, page);
};
const record = JSON.stringify(goodRecord(1)).slice(0, -1);
const levels = 1_000_000;
const fields = (count: number): string => Array.from({ length: count }, (_, index) => `"f${index}":${index}`).join(',');
const bomb = gzipSync(Buffer.alloc(60_000_000, '[[[{},1,"x",'));
const longText = `${record},"note":"${'x'.repeat(10_000_000)}"}`;

/** 3,000 records a day, about 1,200 bytes each: 36 MB for the ten days that are asked for. */
const honestDay = (dayMs: number): string =>
  Array.from({ length: 3_000 }, (_, index) => {
    const measures = measureFields.filter(({ kind }) => kind === 'double').map(({ name }) => [name, index + 1 / 3]);
    const number = dayMs / DAY_MS + index * 100_000;
    const xid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    const date = new Date(dayMs).toISOString();
    return JSON.stringify({
      ...goodRecord(1),
      xid,
      date,
      downtimeCode: 'x'.repeat(20),
      ...Object.fromEntries(measures),
    });
  }).join(',');
const firstDayMs = Date.parse('2024-01-01');
const honestDays = Array.from({ length: 10 }, (_, day) => firstDayMs + day * DAY_MS).map((dayMs) => ({
  date: new Date(dayMs).toISOString(),
  text: honestDay(dayMs),
}));
/** Whatever limit is asked for, all records of the range, on page 1. */
const honest: HostileMode = (socket, page, { startDate, endDate }) => {
  const asked = honestDays.filter(({ date }) => date >= startDate && date <= endDate);
  answer(socket, page !== 1 ? '[]' : `[${asked.map(({ text }) => text).join(',')}]`);
};

let fresh = 0;
const endlessRows: HostileMode = (socket) => {
  fresh += 1_000;
  const rows = Array.from({ length: 1_000 }, (_, index) => ({
    ...goodRecord(index % 9),
    xid: `00000000-0000-4000-9000-${String(fresh + index).padStart(12, '0')}`,
  }));
  answer(socket, JSON.stringify(rows));
};
/** Records without a readable xid, each with a text of its own. */
const endlessBad: HostileMode = (socket) => {
  fresh += 1_000;
  const rows = Array.from({ length: 200 }, (_, index) => ({ xid: fresh + index, note: 'y'.repeat(60_000) }));
  answer(socket, JSON.stringify(rows));
};

const gzip = { 'content-encoding': 'gzip' };
const modes: Readonly<Record<string, HostileMode>> = {
  endless: (socket) => pour(socket, 200),
  bomb: (socket) => answer(socket, bomb, 200, gzip),
  deep: around(`${record},"f":${'['.repeat(levels)}${']'.repeat(levels)}}`),
  deepobjects: around(`${record},"f":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`),
  wide10k: around(`${record},${fields(10_000)}}`),
  wide1m: around(`${record},${fields(1_000_000)}}`),
  longtext: around(`${longText},${longText.replace('000000001', '000000003')}`),
  empty: always(`[${'{},'.repeat(2_000_000)}{}]`),
  numbers: always(`[${'1,'.repeat(1_000_000)}1]`),
  honest,
  rows: endlessRows,
  bad: endlessBad,
};
const eight = (mode: string): readonly string[] => Array.from({ length: 8 }, (_, index) => `${mode}~${index}`);
const wells = ['endless', 'bomb']
  .flatMap(eight)
  .concat(Object.keys(modes).slice(2))
  .flatMap((well, index) => [well, `good ${index}`]);

const ends: Readonly<Record<string, object>> = {
  endless: { state: 'failed', code: 'body-too-large', rows: 0 },
  bomb: { state: 'failed', code: 'body-too-large', rows: 0 },
  deep: { state: 'done', rows: 2, quarantined: 1 },
  deepobjects: { state: 'done', rows: 2, quarantined: 1 },
  wide10k: { state: 'done', rows: 2, quarantined: 1 },
  wide1m: { state: 'done', rows: 2, quarantined: 1 },
  longtext: { state: 'done', rows: 2, quarantined: 2 },
  empty: { state: 'failed', code: 'too-many-records', rows: 0 },
  numbers: { state: 'failed', code: 'too-many-records', rows: 0 },
  honest: { state: 'done', rows: 30_000, quarantined: 0 },
  rows: { state: 'failed', code: 'too-many-rows', rows: 0 },
  bad: { state: 'failed', code: 'too-many-rows', rows: 0 },
  good: { state: 'done', rows: goodRows, quarantined: 0 },
};

const outcomes = `
  SELECT target, state, fault->>'$.code' AS code,
    (SELECT count(*) FROM daily_production d WHERE d.uwi = target) AS rows,
    (SELECT count(*) FROM quarantine q WHERE q.uwi = target) AS quarantined
  FROM run_unit`;

test.for(queueKinds)(
  'G8: a worker stays below its memory whatever a service answers, and the wells beside it are stored (queue: %s)',
  { timeout: 600_000 },
  async (queue, { skip }) => {
    skip(!hasProc, 'this system has no /proc to measure by');
    await using server = await startHostileServer(modes);
    const config = 'service: { retry: { attempts: 1 }, timeoutMs: 120000 }\nqueue: { attempts: 1 }\n';
    await using home = await cliHome(server.baseUrl, { config, queue });
    const file = await home.write('wells.csv', ['uwi', ...wells].join('\n'));
    const worker = home.start(['worker'], { env: { WELLSYNC_WORKER_MEMORY_MB: String(memoryMb) } });
    await worker.hears('Ctrl-C stops');
    const range = ['--from', '2024-01-01', '--to', '2024-01-11'];
    const exporting = home.run(['export', 'daily-production', '--wells', file, ...range, '--wait', '--json']);
    const isOver = await Promise.race([exporting.then(() => true), worker.ended.then(() => false)]);
    expect(isOver, worker.said()).toBe(true);
    const { code } = await exporting;
    const peakMb = peakMegabytes(worker.pid);
    console.log(`${peakMb.toFixed(0)} MB at the most`);
    worker.signal('SIGTERM');
    expect((await worker.ended).code).toBe(0);
    expect(code).toBe(1);
    const { stdout } = await home.run(['query', outcomes, '--json']);
    for (const { target, ...end } of JSON.parse(stdout) as readonly ({ readonly target: string } & object)[]) {
      expect({ target, ...end }).toMatchObject({ target, ...ends[target.replace(/[~ ]\d+$/, '')] });
    }
    expect(worker.said()).not.toContain('fault of wellsync');
    expect(peakMb).toBeLessThan(memoryMb);
  },
);
