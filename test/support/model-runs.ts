/**
 * Runs of a model: so many in `npm test`, and more in the full suite. WELLSYNC_TEST_RUNS overrides their number, and
 * WELLSYNC_TEST_SEED their seed: so one model may run for hours. With the `path` of a failure in WELLSYNC_TEST_PATH, that
 * run comes again alone.
 */
import fc from 'fast-check';
import { bySuite } from './suite-size.ts';

const wanted = process.env['WELLSYNC_TEST_RUNS'];

/** For the test around {@link expectForAllModels}, which also shrinks what it finds. */
export const modelTimeoutMs = wanted === undefined ? bySuite(300_000, 900_000) : 24 * 3_600_000;

export async function expectForAllModels<Values>(
  property: fc.IAsyncProperty<Values>,
  { usual, full }: { readonly usual: number; readonly full: number },
): Promise<void> {
  const path = process.env['WELLSYNC_TEST_PATH'];
  if (path !== undefined) return fc.assert(property, { numRuns: 1, path, endOnFailure: true });
  await fc.assert(property, { numRuns: wanted === undefined ? bySuite(usual, full) : Number(wanted) });
}
