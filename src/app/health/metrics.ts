/**
 * The text that Prometheus reads: the metrics of all processes from Redis, and those of this process
 * (docs/design.md section 11). Any process may serve it: short-lived ones leave their part in Redis.
 */
import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client';
import { type JobDescription, outcomesOf } from '../../core/run/job-description.ts';
import {
  type CounterName,
  type Labels,
  type MetricName,
  metrics,
  type Sample,
  sampleOf,
  seriesOf,
} from '../../core/run/metrics.ts';
import type { RunQueue } from '../../queue/port.ts';
import { sleep } from '../../timers/sleep.ts';
import type { App } from '../app.ts';
import { versionOfPackage } from '../version.ts';
import { watermarkSeries } from './freshness.ts';

/** A scrape ends in time, with Redis or without. */
const redisMs = 3_000;

class Exposition {
  readonly #process = new Registry();
  readonly #version: string;
  readonly #queue: () => Promise<RunQueue>;
  readonly #jobs: readonly Pick<JobDescription, 'name' | 'counts'>[];
  readonly #now: () => number;

  constructor(options: {
    readonly version: string;
    readonly queue: () => Promise<RunQueue>;
    readonly jobs: readonly Pick<JobDescription, 'name' | 'counts'>[];
    readonly now: () => number;
  }) {
    this.#version = options.version;
    this.#queue = options.queue;
    this.#jobs = options.jobs;
    this.#now = options.now;
    collectDefaultMetrics({ register: this.#process });
  }

  /** In the text format of Prometheus. */
  async read(): Promise<{ readonly text: string; readonly contentType: string }> {
    // A counter that begins with 1 is no increase to Prometheus.
    const shared = await Promise.race([this.#shared().catch(() => undefined), sleep(redisMs, { ref: false })]);
    const samples = [
      gauge('wellsync_shared_metrics_up', {}, shared === undefined ? 0 : 1),
      gauge('wellsync_build_info', { version: this.#version }, 1),
      ...(shared ?? []),
      ...(shared === undefined ? [] : this.#zeros(shared)),
    ];
    const texts = await Promise.all([registryOf(samples).metrics(), this.#process.metrics()]);
    return { text: texts.join('\n'), contentType: this.#process.contentType };
  }

  /** The counters of runs that none has raised yet. */
  #zeros(known: readonly Sample[]): readonly Sample[] {
    const present = new Set(known.map(({ name, labels }) => seriesOf(name, labels)));
    const all = this.#jobs.flatMap(({ name: job, counts }) => [
      ...countedStates.map((state) => zero('wellsync_runs_total', { job, state })),
      ...outcomesOf(counts).map((outcome) => zero('wellsync_rows_total', { job, outcome })),
    ]);
    return all.filter(({ name, labels }) => !present.has(seriesOf(name, labels)));
  }

  async #shared(): Promise<readonly Sample[]> {
    const queue = await this.#queue();
    const [{ sums, gauges }, items, workers, hold] = await Promise.all([
      queue.metrics.read(),
      queue.itemCounts(),
      queue.workers(),
      queue.serviceHold.read(),
    ]);
    const now = this.#now();
    return [
      ...[...sums, ...gauges]
        .flatMap(([series, value]) => sampleOf(series, value) ?? [])
        .map((each) => lagOf(each, now)),
      ...items.map(({ queue: name, state, items: count }) =>
        gauge('wellsync_queue_items', { queue: name, state }, count),
      ),
      ...workers.map(({ queue: name, workers: count }) => gauge('wellsync_workers', { queue: name }, count)),
      gauge('wellsync_service_hold_seconds', {}, hold === undefined ? 0 : Math.max(0, hold.untilMs - now) / 1000),
    ];
  }
}

/**
 * The metrics that a process with this app serves: the health port of a worker, and `serve`. One for each process. `kind`
 * is that of its queue.
 */
export function expositionOf(app: Pick<App, 'queue' | 'jobs'>, kind: 'prompt' | 'lasting'): Exposition {
  const queue = async (): Promise<RunQueue> => app.queue(kind);
  return new Exposition({ version: versionOfPackage(), queue, jobs: app.jobs, now: Date.now });
}

/** Watermarks are kept as instants, so that their lag grows while nothing runs. */
function lagOf(sample: Sample, nowMs: number): Sample {
  if (sample.name !== watermarkSeries) return sample;
  return gauge('wellsync_watermark_lag_seconds', sample.labels, Math.max(0, nowMs / 1000 - sample.value));
}

const countedStates = ['done', 'failed', 'cancelled'] as const;

function zero(name: CounterName, labels: Labels): Sample {
  return { name, labels, value: 0 };
}

function gauge(name: MetricName, labels: Labels, value: number): Sample {
  return { name, labels, value };
}

/** prom-client words what it did not count itself as it does for the processes of a cluster. */
function registryOf(samples: readonly Sample[]): Registry {
  const families = Object.entries(metrics).map(([name, { type, help }]) => ({
    name,
    type,
    help,
    aggregator: 'sum',
    values: samples
      .filter((sample) => familyOf(sample.name) === name)
      .toSorted(inOrder)
      .map((sample) => ({ metricName: sample.name, labels: sample.labels, value: sample.value })),
  }));
  return AggregatorRegistry.aggregate([families.filter(({ values }) => values.length > 0)]);
}

/** By labels, and the buckets of a histogram by their bounds, as the format demands. */
function inOrder(left: Sample, right: Sample): number {
  const [one, other] = [left, right].map(({ name, labels }) => seriesOf(name, { ...labels, le: '' })) as [
    string,
    string,
  ];
  if (one !== other) return one < other ? -1 : 1;
  return boundOf(left) - boundOf(right);
}

function boundOf({ labels }: Sample): number {
  return labels['le'] === '+Inf' ? Infinity : Number(labels['le'] ?? 0);
}

/** The family of a series of a version that knows more of them is none of ours. */
function familyOf(name: string): string {
  return name in metrics ? name : name.replace(/_(?:bucket|sum|count)$/, '');
}
