/** The sources of a signal for a process. */
export type SignalSource = 'system' | 'parent';

/**
 * Counts requests to stop that may be reported twice. Ctrl-C reaches every process of a terminal's group, so the parent
 * forwards to its child a signal that the child already has; a signal to the parent alone is reported once. The number
 * of requests by a signal is the larger one of the two sources.
 */
export class StopCount {
  readonly #seen = new Map<string, Record<SignalSource, number>>();

  /** Whether this is a new request. */
  add(source: SignalSource, signal: string): boolean {
    const seen = this.#seen.get(signal) ?? { system: 0, parent: 0 };
    const known = Math.max(seen.system, seen.parent);
    seen[source] += 1;
    this.#seen.set(signal, seen);
    return seen[source] > known;
  }
}
