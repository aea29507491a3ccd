/** Milliseconds between two looks at leases that are all taken: 25 to 250, each up to a quarter shorter or longer. */
const delayMs = { first: 25, longest: 250, jitter: 0.25 } as const;

/** `look` counts from 0; `random` is in [0, 1). */
export function lookDelayMs(look: number, random: number): number {
  const meanMs = Math.min(delayMs.longest, delayMs.first * 2 ** look);
  return meanMs * (1 - delayMs.jitter + 2 * delayMs.jitter * random);
}
