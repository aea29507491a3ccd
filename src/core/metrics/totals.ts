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

/** Totals that only grow, and which of them have changed since they were taken. */
export class Totals {
  readonly #values = new Map<string, number>();
  #changed = new Set<string>();

  add(name: CounterName, labels: Labels, amount = 1): void {
    this.#grow(seriesOf(name, labels), amount);
  }

  /** Adds an observation to the buckets, the sum and the count of a histogram. */
  observe(name: HistogramName, labels: Labels, value: number): void {
    for (const bound of metrics[name].buckets) {
      this.#grow(seriesOf(`${name}_bucket`, { ...labels, le: String(bound) }), value <= bound ? 1 : 0);
    }
    this.#grow(seriesOf(`${name}_bucket`, { ...labels, le: '+Inf' }), 1);
    this.#grow(seriesOf(`${name}_sum`, labels), value);
    this.#grow(seriesOf(`${name}_count`, labels), 1);
  }

  /** The totals that have changed since the last call. */
  takeChanged(): ReadonlyMap<string, number> {
    const changed = new Map([...this.#changed].map((series) => [series, this.#values.get(series) ?? 0]));
    this.#changed = new Set();
    return changed;
  }

  /** Lets the next {@link takeChanged} give these again: they were not stored. */
  giveBack(series: Iterable<string>): void {
    for (const each of series) this.#changed.add(each);
  }

  #grow(series: string, amount: number): void {
    this.#values.set(series, (this.#values.get(series) ?? 0) + amount);
    this.#changed.add(series);
  }
}
