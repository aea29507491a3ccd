/** Number of runs of properties: that of the test, and more in the full suite. WELLSYNC_TEST_RUNS overrides both. */
import fc from 'fast-check';
import { bySuite } from './suite-size.ts';

/** Throws with the smallest counterexample, and the seed that repeats it. */
export function expectForAll<Values>(property: fc.IProperty<Values>, numRuns = bySuite(2_000, 5_000)): void {
  fc.assert(property, runsOf(bySuite(1, 8) * numRuns));
}

/** For a property over real parts: a warehouse, a service. */
export async function expectForAllAsync<Values>(property: fc.IAsyncProperty<Values>, numRuns: number): Promise<void> {
  await fc.assert(property, runsOf(bySuite(1, 3) * numRuns));
}

function runsOf(numRuns: number): { readonly numRuns: number } {
  const runs = process.env['WELLSYNC_TEST_RUNS'];
  return { numRuns: runs === undefined ? numRuns : Number(runs) };
}
