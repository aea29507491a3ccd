/** Loaded only for the full suite: properties without a number of runs get more than the 100 of fast-check. */
import fc from 'fast-check';

fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: 2_000 });
