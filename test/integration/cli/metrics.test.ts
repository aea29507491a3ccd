/** The metrics that a worker serves: its own process, and what every other one has left in Redis. */
import { describe, expect, test, vi } from 'vitest';
import { cliHome, type RunningCommand } from '../../support/cli.ts';
import { privateRedisLack, startPrivateRedis } from '../../support/redis.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const lack = privateRedisLack();
const patiently = { timeout: 60_000, interval: 50 };

async function metricsOf(worker: RunningCommand): Promise<string> {
  await worker.hears('/readyz');
  const [, url] = /(http:\/\/[\d.:]+)\/readyz/.exec(worker.said()) ?? [];
  return `${url}/metrics`;
}

/** The values by series, as they are written: `name{label="value"}`. */
async function scraped(url: string): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe.skipIf(lack !== undefined)(`the metrics of a worker${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  test('G10: have the runs, rows and requests of a process that is gone, and say when Redis cannot be read', async () => {
    await using server = await startWithTenDays();
    await using redis = await startPrivateRedis({ appendonly: false });
    await using home = await cliHome(server.url, { redisUrl: redis.url });
    const { stdout } = await home.run(['export', 'daily-production', '--uwi', UWI, '--inline', '--json']);
    const report = JSON.parse(stdout) as { readonly counts: Record<string, number>; readonly version: string };
    const worker = home.start(['worker', '--port', '0']);
    const url = await metricsOf(worker);
    const found = await scraped(url);
    const of = (series: string) => found.get(series);
    expect(of('wellsync_runs_total{job="export daily-production",state="done"}')).toBe(1);
    expect(of('wellsync_rows_total{job="export daily-production",outcome="inserted"}')).toBe(10);
    expect(of('wellsync_run_seconds_bucket{job="export daily-production",le="+Inf"}')).toBe(1);
    const bounds = [...found.keys()].flatMap(
      (series) => /^wellsync_run_seconds_bucket.*le="([\d.]+)"/.exec(series)?.[1] ?? [],
    );
    expect(bounds).toEqual([...bounds].toSorted((left, right) => Number(left) - Number(right)));
    const requests = [...found].filter(([series]) => series.startsWith('wellsync_requests_total{'));
    expect(requests.every(([series]) => series.includes('endpoint="daily-production"'))).toBe(true);
    const sent = requests.reduce((sum, [, value]) => sum + value, 0);
    expect(of('wellsync_request_seconds_count{endpoint="daily-production"}')).toBe(sent);
    expect(sent).toBeGreaterThanOrEqual(report.counts['requests'] ?? NaN);
    expect(of('wellsync_queue_items{queue="runs",state="waiting"}')).toBe(0);
    expect(of('wellsync_workers{queue="export"}')).toBe(1);
    expect(of('wellsync_service_hold_seconds')).toBe(0);
    expect(of('wellsync_stale_wells')).toBe(1);
    expect(of('wellsync_watermark_lag_seconds{quantile="0.5"}')).toBeGreaterThan(0);
    expect(of('wellsync_last_success_timestamp_seconds{job="export daily-production"}')).toBeGreaterThan(1.7e9);
    expect(of(`wellsync_build_info{version="${report.version}"}`)).toBe(1);
    expect(of('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect([...found.keys()].join('\n')).not.toContain(UWI);

    await redis.kill();
    await vi.waitFor(async () => {
      const without = await scraped(url);
      expect(without.get('wellsync_shared_metrics_up')).toBe(0);
      expect(without.get('process_cpu_seconds_total')).toBeGreaterThan(0);
    }, patiently);
  });
});
