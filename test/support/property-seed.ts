/**
 * The seed of all properties. A commit is tried with the same values wherever it is tried, so a test that fails shows
 * what the commit changed. WELLSYNC_TEST_SEED sets another seed, and `random` draws one for each property.
 */
import fc from 'fast-check';

const usualSeed = 20_261_122;
const wanted = process.env['WELLSYNC_TEST_SEED'] ?? String(usualSeed);

if (wanted !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) });
