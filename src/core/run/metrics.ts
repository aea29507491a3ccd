/** Counters and histograms of one source, as totals by series. Pure. */
import { parsedJson } from '../base/text.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  /** With the ending of its part for a histogram: `wellsync_run_seconds_bucket`. */
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** The name of a series in a store: its name and labels as JSON. */
export function seriesOf(name: string, labels: Labels): string {
  return JSON.stringify([name, labels]);
}

/** Undefined for text that {@link seriesOf} did not make. */
export function sampleOf(series: string, value: number): Sample | undefined {
  const parsed = parsedJson(series);
  if (!Array.isArray(parsed)) return undefined;
  const [name, labels] = parsed as [string, Labels];
  return typeof name === 'string' && typeof labels === 'object' ? { name, labels, value } : undefined;
}

/** The total of one series. */
interface Total {
  readonly series: string;
  value: number;
}

interface HistogramTotals {
  readonly buckets: ReadonlyArray<{ readonly bound: number; readonly total: Total }>;
  readonly sum: Total;
  readonly count: Total;
}

/**
 * Totals that only grow, and which of them have changed since they were taken. The series of a histogram are named once:
 * an observation, which every request makes, has fifteen.
 */
export class Totals {
  readonly #totals = new Map<string, Total>();
  readonly #histograms = new Map<string, HistogramTotals>();
  #changed = new Set<Total>();

  add(name: CounterName, labels: Labels, amount = 1): void {
    this.#grow(this.#totalOf(seriesOf(name, labels)), amount);
  }

  /** Adds an observation to the buckets, the sum and the count of a histogram. */
  observe(name: HistogramName, labels: Labels, value: number): void {
    const { buckets, sum, count } = this.#histogramOf(name, labels);
    for (const { bound, total } of buckets) this.#grow(total, value <= bound ? 1 : 0);
    this.#grow(sum, value);
    this.#grow(count, 1);
  }

  /** The totals that have changed since the last call. */
  takeChanged(): ReadonlyMap<string, number> {
    const changed = new Map([...this.#changed].map(({ series, value }) => [series, value]));
    this.#changed = new Set();
    return changed;
  }

  /** Lets the next {@link takeChanged} give these again: they were not stored. */
  giveBack(series: Iterable<string>): void {
    for (const each of series) this.#changed.add(this.#totalOf(each));
  }

  #grow(total: Total, amount: number): void {
    total.value += amount;
    this.#changed.add(total);
  }

  #totalOf(series: string): Total {
    return entryOf(this.#totals, series, () => ({ series, value: 0 }));
  }

  #histogramOf(name: HistogramName, labels: Labels): HistogramTotals {
    return entryOf(this.#histograms, seriesOf(name, labels), () => ({
      buckets: [...metrics[name].buckets, Infinity].map((bound) => {
        const le = bound === Infinity ? '+Inf' : String(bound);
        return { bound, total: this.#totalOf(seriesOf(`${name}_bucket`, { ...labels, le })) };
      }),
      sum: this.#totalOf(seriesOf(`${name}_sum`, labels)),
      count: this.#totalOf(seriesOf(`${name}_count`, labels)),
    }));
  }
}

function entryOf<T>(entries: Map<string, T>, key: string, make: () => T): T {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const made = make();
  entries.set(key, made);
  return made;
}

/**
 * The metrics of wellsync, by name (docs/design.md section 11). A test holds rules and dashboard of deploy/ to them.
 */
interface Plain {
  readonly type: 'counter' | 'gauge';
  readonly help: string;
}

interface Histogram {
  readonly type: 'histogram';
  readonly help: string;
  /** Upper bounds of its buckets, in its unit, ascending. */
  readonly buckets: readonly number[];
}

export const metrics = {
  wellsync_runs_total: { type: 'counter', help: 'Runs that ended, by job and state; a retry ends again.' },
  wellsync_run_seconds: {
    type: 'histogram',
    help: 'Seconds from the start of a run to its end, by job.',
    buckets: [10, 30, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800],
  },
  wellsync_rows_total: { type: 'counter', help: 'What the records of ended runs came to, by job and outcome.' },
  wellsync_requests_total: { type: 'counter', help: 'Requests to the service, by endpoint and outcome.' },
  wellsync_request_seconds: {
    type: 'histogram',
    help: 'Seconds from the sending of a request to the last byte of its answer, by endpoint.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
  wellsync_queue_items: { type: 'gauge', help: 'Items of each queue, by state.' },
  wellsync_workers: { type: 'gauge', help: 'Connected workers over all hosts, by queue.' },
  wellsync_watermark_lag_seconds: {
    type: 'gauge',
    help: 'Seconds since the watermark of wells: half, nine tenths and 99 hundredths of them lag no more.',
  },
  wellsync_open_alerts: { type: 'gauge', help: 'Alerts that are open.' },
  wellsync_stale_wells: { type: 'gauge', help: 'Wells without a new day for freshness.warnAfterDays.' },
  wellsync_service_hold_seconds: {
    type: 'gauge',
    help: 'Seconds until the service takes requests again; 0 if it does.',
  },
  wellsync_last_success_timestamp_seconds: { type: 'gauge', help: 'When a run of a job last ended as done.' },
  wellsync_shared_metrics_up: { type: 'gauge', help: 'Whether the metrics of all processes could be read.' },
  wellsync_build_info: { type: 'gauge', help: 'Always 1, with the version of this process.' },
} as const satisfies Readonly<Record<string, Plain | Histogram>>;

export type MetricName = keyof typeof metrics;

type NameOf<Type> = { [Name in MetricName]: (typeof metrics)[Name]['type'] extends Type ? Name : never }[MetricName];
export type CounterName = NameOf<'counter'>;
type HistogramName = NameOf<'histogram'>;
