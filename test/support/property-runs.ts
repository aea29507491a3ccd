/** Owns how often properties are tried: WELLSYNC_PROPERTY_RUNS and WELLSYNC_PROPERTY_SEED take the place of a test's own (many runs need --testTimeout). */
import fc from 'fast-check';

/** Throws with the smallest counterexample, and the seed that repeats it. */
export function expectForAll<Values>(property: fc.IProperty<Values>, numRuns = 5_000): void {
  fc.assert(property, runsOf(numRuns));
}

export async function expectForAllAsync<Values>(property: fc.IAsyncProperty<Values>, numRuns: number): Promise<void> {
  await fc.assert(property, runsOf(numRuns));
}

function runsOf(numRuns: number): { readonly numRuns: number; readonly seed?: number } {
  const { WELLSYNC_PROPERTY_RUNS: runs, WELLSYNC_PROPERTY_SEED: seed } = process.env;
  return {
    numRuns: runs === undefined ? numRuns : Number(runs),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
  };
}
