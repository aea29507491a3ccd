/** Counters and histograms of one source, as totals by series. Pure. */
import { metrics, type CounterName, type HistogramName } from './metrics.ts';

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
  try {
    const [name, labels] = JSON.parse(series) as [string, Labels];
    return typeof name === 'string' && typeof labels === 'object' ? { name, labels, value } : undefined;
  } catch {
    return undefined;
  }
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
