/**
 * Runs of a model: so many in `npm test`, and more in the full suite. WELLSYNC_TEST_RUNS overrides their number, and
 * WELLSYNC_TEST_SEED their seed: so one model may run for hours. It ends with the first run that fails; with the `path` of
 * that in WELLSYNC_TEST_PATH the run comes again, and is made shorter for as long as that takes.
 */
import fc from 'fast-check';
import { bySuite } from './suite-size.ts';

const wanted = process.env['WELLSYNC_TEST_RUNS'];

export const modelTimeoutMs = wanted === undefined ? bySuite(300_000, 900_000) : 24 * 3_600_000;

export interface ModelSize {
  readonly usual: number;
  readonly full: number;
}

/** A model runs on both queues; without Redis, whose losses and locks it has none of, half as often, rounded up. */
export const queues = [
  { queue: 'redis', runs: (size: ModelSize): ModelSize => size },
  { queue: 'embedded', runs: ({ usual, full }: ModelSize) => ({ usual: Math.ceil(usual / 2), full: full / 2 }) },
] as const;

export async function expectForAllModels<Values>(
  property: fc.IAsyncProperty<Values>,
  { usual, full }: ModelSize,
): Promise<void> {
  const path = process.env['WELLSYNC_TEST_PATH'];
  const numRuns = wanted === undefined ? bySuite(usual, full) : Number(wanted);
  const runs = path === undefined ? { numRuns, endOnFailure: true } : { numRuns: 1, path };
  await fc.assert(property, { ...runs, includeErrorInReport: true });
}
