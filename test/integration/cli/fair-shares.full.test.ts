/** A small export beside a large push and a nightly export, counted at the service by second and run. */
import { expect, test } from 'vitest';
import { pipeFields } from '../../../src/core/pipes/pipe.ts';
import { sleep } from '../../../src/timers/sleep.ts';
import { cliHome } from '../../support/cli.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';

type RunName = 'night' | 'push' | 'small';

interface Arrival {
  readonly run: RunName;
  readonly atMs: number;
}

const latencyMs = 100;
/** Requests in a second, at 8 places. */
const aSecond = 80;

function runOf(method: string, url: string): RunName {
  if (method === 'POST') return 'push';
  return url.includes('SMALL') ? 'small' : 'night';
}

function wells(name: string, count: number): string {
  return ['uwi', ...Array.from({ length: count }, (_, index) => `${name}-${index}`)].join('\n');
}

function pipes(count: number): string {
  const rows = Array.from(
    { length: count },
    (_, row) => `N,P${row},2026-01-01T00:00:00Z,A${row},B${row},true,1;2,1;2,1;2,1;2`,
  );
  return [pipeFields.join(','), ...rows].join('\n');
}

/** So many of these requests, by run. */
function countsOf(arrivals: readonly Arrival[]): Readonly<Record<RunName, number>> {
  const counts = { night: 0, push: 0, small: 0 };
  for (const { run } of arrivals) counts[run] += 1;
  return counts;
}

test('a small export gets its share from its first second, while a large push and a nightly export are under way', async () => {
  const arrivals: Arrival[] = [];
  const seen = (run: RunName): number => arrivals.filter((arrival) => arrival.run === run).length;
  await using server = await startScriptedServer(async ({ method, url }) => {
    arrivals.push({ run: runOf(method, url), atMs: performance.now() });
    await sleep(latencyMs);
    return { body: [] };
  });
  await using home = await cliHome(server.baseUrl);
  for (let host = 0; host < 2; host += 1) await home.start(['worker']).hears('Working');
  const range = ['--from', '2026-01-01', '--to', '2026-01-08'];
  const nightFile = await home.write('night.csv', wells('NIGHT', 4_000));
  const smallFile = await home.write('small.csv', wells('SMALL', 150));
  const pipesFile = await home.write('pipes.csv', pipes(400_000));
  const started = [
    await home.run(['export', 'daily-production', '--wells', nightFile, ...range]),
    await home.run(['push', 'network-pipes', pipesFile]),
  ];
  expect(started.map(({ code }) => code)).toEqual([0, 0]);
  await expect.poll(() => Math.min(seen('night'), seen('push')), { timeout: 120_000 }).toBeGreaterThan(60);

  expect(await home.run(['export', 'daily-production', '--wells', smallFile, ...range])).toMatchObject({ code: 0 });
  const isEnough = (): boolean => arrivals.length > arrivals.findIndex(({ run }) => run === 'small') + 2 * aSecond;
  await expect.poll(() => seen('small') > 0 && isEnough(), { timeout: 240_000 }).toBe(true);
  const first = arrivals.findIndex(({ run }) => run === 'small');
  const firstMs = arrivals[first]?.atMs ?? 0;
  for (const second of [1, 2]) {
    const within = arrivals.filter(({ atMs }) => Math.ceil((atMs - firstMs + 1) / 1_000) === second);
    console.log(`second ${second}: ${JSON.stringify(countsOf(within))}`);
  }
  // A busy machine sends fewer in a second: the shares are of as many as a second has otherwise.
  for (const from of [first, first + aSecond]) {
    const counts = countsOf(arrivals.slice(from, from + aSecond));
    console.log(`requests ${from - first + 1} and ${aSecond - 1} more: ${JSON.stringify(counts)}`);
    expect(counts.small / aSecond).toBeGreaterThanOrEqual(0.8 / 3);
  }
});
