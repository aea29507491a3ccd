/** Runs a property as often as the environment asks, with its seed: what it prints on a failure repeats it. */
import fc from 'fast-check';

/** WELLSYNC_PROPERTY_RUNS multiplies nothing: it is the number of runs; WELLSYNC_PROPERTY_SEED the seed. */
export function checked<Values>(property: fc.IProperty<Values>, numRuns = 5_000): void {
  const { WELLSYNC_PROPERTY_RUNS: runs, WELLSYNC_PROPERTY_SEED: seed } = process.env;
  fc.assert(property, {
    numRuns: runs === undefined ? numRuns : Number(runs),
    ...(seed === undefined ? {} : { seed: Number(seed) }),
  });
}
