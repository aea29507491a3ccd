import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { metrics, sampleOf, Totals } from '../../../src/core/run/metrics.ts';
import type { RunReport } from '../../../src/core/run/run.ts';
import type { MetricStore } from '../../../src/queue/port.ts';
import { countRunEnd } from '../../../src/runs/finish-run.ts';
import { queueForms } from '../../support/queue-forms.ts';

describe.each(queueForms)('the metrics of all processes in $name', (form) => {
  const open: Array<{ close(): void }> = [];
  afterEach(() => open.splice(0).forEach((each) => each.close()));
  const newStore = (): MetricStore => {
    const stores = form.stores(`test-${randomUUID()}`);
    open.push(stores);
    return stores.metrics;
  };

  it('count each increment once, however often, late and in whatever order its totals are reported', async () => {
    const report = fc.record({ source: fc.constantFrom('a', 'b', 'c'), total: fc.integer({ min: 0, max: 1_000 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(report, { minLength: 1, maxLength: 12 }), async (reports) => {
        const store = newStore();
        await Promise.all(reports.map(({ source, total }) => store.raise(source, new Map([['series', total]]))));
        const highest = new Map<string, number>();
        for (const { source, total } of reports) highest.set(source, Math.max(total, highest.get(source) ?? 0));
        const sum = [...highest.values()].reduce((whole, each) => whole + each, 0);
        expect((await store.read()).sums.get('series')).toBe(sum);
      }),
      { numRuns: 30 },
    );
  });

  it('know a series from its first report on, and the last value of a gauge', async () => {
    const store = newStore();
    await store.raise('a', new Map([['none yet', 0]]));
    await store.set(new Map([['level', 7]]));
    await store.set(new Map([['level', 3]]));
    const { sums, gauges } = await store.read();
    expect([...sums]).toEqual([['none yet', 0]]);
    expect([...gauges]).toEqual([['level', 3]]);
  });

  it('G1: the end of a run counts once, by whomever it is found, and a retry adds what it brought', async () => {
    const store = newStore();
    const job = { counts: [{ name: 'read', inSum: 'whole' }, { name: 'stale' }] } as const;
    const reportOf = (state: RunReport['state'], read: number): RunReport => ({
      runId: 'run-1',
      job: 'export wells',
      state,
      units: { total: 2, done: 1, held: 0, failed: 1, cancelled: 0 },
      counts: { read, stale: 9 },
      balance: { balanced: true, statement: '' },
      failures: [],
      notices: [],
      startedAtMs: 0,
      finishedAtMs: 4_000,
    });
    const failed = () => countRunEnd(reportOf('failed', 10), 0, job, store);
    await Promise.all([failed(), failed()]);
    await countRunEnd(reportOf('done', 14), 1, job, store);
    await failed();
    const { sums, gauges } = await store.read();
    const found = [...sums, ...gauges].flatMap(([series, value]) => sampleOf(series, value) ?? []);
    const plain = found.filter(({ name }) => !name.startsWith('wellsync_run_seconds_bucket'));
    expect(plain).toHaveLength(6);
    expect(plain).toEqual(
      expect.arrayContaining([
        { name: 'wellsync_runs_total', labels: { job: 'export wells', state: 'failed' }, value: 1 },
        { name: 'wellsync_runs_total', labels: { job: 'export wells', state: 'done' }, value: 1 },
        { name: 'wellsync_rows_total', labels: { job: 'export wells', outcome: 'read' }, value: 14 },
        { name: 'wellsync_run_seconds_count', labels: { job: 'export wells' }, value: 2 },
        { name: 'wellsync_run_seconds_sum', labels: { job: 'export wells' }, value: 8 },
        { name: 'wellsync_last_success_timestamp_seconds', labels: { job: 'export wells' }, value: 4 },
      ]),
    );
  });
});

describe('the totals of a process', () => {
  it('what a process could not report goes with its next report', async () => {
    const totals = new Totals();
    totals.add('wellsync_requests_total', { endpoint: 'well', outcome: '200' });
    const lost = totals.takeChanged();
    totals.giveBack(lost.keys());
    totals.add('wellsync_requests_total', { endpoint: 'well', outcome: '200' });
    expect([...totals.takeChanged().values()]).toEqual([2]);
    expect([...totals.takeChanged()]).toEqual([]);
  });

  it('buckets of a histogram hold all that is below their bound', () => {
    const totals = new Totals();
    for (const seconds of [0.02, 0.3, 90]) totals.observe('wellsync_request_seconds', { endpoint: 'well' }, seconds);
    const samples = [...totals.takeChanged()].flatMap(([series, value]) => sampleOf(series, value) ?? []);
    const of = (name: string, le?: string) =>
      samples.find((sample) => sample.name === `wellsync_request_seconds_${name}` && sample.labels['le'] === le)?.value;
    expect([of('bucket', '0.01'), of('bucket', '0.5'), of('bucket', '60'), of('bucket', '+Inf')]).toEqual([0, 2, 2, 3]);
    expect([of('count'), of('sum')]).toEqual([3, 90.32]);
    expect(samples).toHaveLength(metrics.wellsync_request_seconds.buckets.length + 3);
  });
});
