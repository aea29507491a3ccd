/** Medians that no value can break: sums of the largest doubles exceed what a double holds. */

/** The standard deviation of a normal distribution, by its MAD. */
export const deviationOfMad = 1.4826;

/** Of the first `count` values, ascending; NaN without one. */
function medianOfSorted(sorted: Float64Array, count: number): number {
  const upper = sorted[count >> 1] ?? NaN;
  if (count === 0) return NaN;
  return count % 2 === 1 ? upper : (sorted[(count >> 1) - 1] ?? NaN) / 2 + upper / 2;
}

/**
 * The median of the distances of the first `count` values, ascending, from their median: the half of them that is nearest
 * lies in one piece around it.
 */
function deviationOfSorted(sorted: Float64Array, count: number, median: number): number {
  let above = 0;
  while (above < count && (sorted[above] ?? 0) < median) above += 1;
  let below = above - 1;
  let [last, before] = [NaN, NaN];
  for (let taken = 0; taken <= count >> 1; taken += 1) {
    const down = below >= 0 ? median - (sorted[below] ?? 0) : Infinity;
    const up = above < count ? (sorted[above] ?? 0) - median : Infinity;
    before = last;
    if (down < up) {
      last = down;
      below -= 1;
    } else {
      last = up;
      above += 1;
    }
  }
  return count % 2 === 1 ? last : before / 2 + last / 2;
}

/** A few values in order. */
export class SortedWindow {
  readonly sorted: Float64Array;
  count = 0;

  constructor(capacity: number) {
    this.sorted = new Float64Array(capacity);
  }

  add(value: number): void {
    const { sorted } = this;
    let at = this.count;
    for (; at > 0 && (sorted[at - 1] ?? 0) > value; at -= 1) sorted[at] = sorted[at - 1] ?? 0;
    sorted[at] = value;
    this.count += 1;
  }

  clear(): void {
    this.count = 0;
  }

  get median(): number {
    return medianOfSorted(this.sorted, this.count);
  }

  /** MAD: the median distance from the median. */
  deviation(median: number): number {
    return deviationOfSorted(this.sorted, this.count, median);
  }
}
