/** Combinations outside the matrix, by chance, and rows that appear and disappear while pages are read. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PermanentError, TransientError } from '../../../src/core/base/errors.ts';
import type { WindowReading } from '../../../src/core/daily/reading.ts';
import type { ServiceProfile } from '../../../src/core/paging/service-profile.ts';
import { deriveXid } from '../../../src/testing-server/data/rows.ts';
import {
  daysOf,
  expectedDays,
  rowOn,
  startMatrix,
  uwiOf,
  wellSizes,
  type Combination,
  type Matrix,
} from '../../support/export-matrix.ts';
import { expectForAllAsync } from '../../support/property-runs.ts';
import { bySuite } from '../../support/suite-size.ts';

const numRuns = bySuite(25, 80);

let matrix: Matrix;
beforeAll(async () => {
  matrix = await startMatrix();
});
afterAll(() => matrix[Symbol.asyncDispose]());

const bound = fc.constantFrom('inclusive', 'exclusive', 'ignored');
const rarely = <Value>(usual: Value, other: Value) => fc.constantFrom(usual, usual, usual, other);
const faults = fc.record({
  unavailable: fc.constantFrom(0, 0, 0.03),
  reset: fc.constantFrom(0, 0, 0.03),
  truncatedBody: fc.constantFrom(0, 0, 0.03),
  htmlPage: fc.constantFrom(0, 0, 0.03),
});

const combinations: fc.Arbitrary<Combination> = fc
  .record({
    seed: fc.nat(),
    pageBase: fc.constantFrom(0, 1),
    belowBase: fc.constantFrom('bad-request', 'not-found', 'empty', 'first-page'),
    pastEnd: fc.constantFrom('empty', 'not-found', 'last-page'),
    maxLimit: fc.integer({ min: 5, max: 70 }),
    defaultLimit: fc.integer({ min: 5, max: 30 }),
    overLimit: fc.constantFrom('clamp', 'bad-request'),
    paging: rarely('honoured', 'ignored'),
    limit: rarely('honoured', 'ignored'),
    startBound: bound,
    endBound: bound,
    order: fc.constantFrom('ascending', 'descending', 'shuffled'),
    duplicateRate: fc.constantFrom(0, 0, 0, 0.1, 0.5, 1),
    dateOffset: fc.constantFrom(null, '+05:30', '-03:00'),
    compression: fc.constantFrom('none', 'accepted', 'always'),
    faults,
  })
  .map(
    ({ defaultLimit, ...options }) =>
      ({ ...options, defaultLimit: Math.min(defaultLimit, options.maxLimit) }) as Combination,
  );

/**
 * If the service ignores a date, all pages may look like a cut first page: other rows could exist undetected. If the
 * profile says that a page past the last is no 404, one behind the first page may be a page that did not come. Then the
 * read fails, and loses nothing.
 */
function mayFail(
  { startBound, endBound, pastEnd }: Combination,
  profile: ServiceProfile | undefined,
  error: unknown,
): boolean {
  const isDated = startBound !== 'ignored' && endBound !== 'ignored';
  if (error instanceof PermanentError) return !isDated && error.code === 'page-ignored';
  const isOfAnother = profile !== undefined && profile.pastLast !== 'not-found' && pastEnd === 'not-found';
  return isOfAnother && error instanceof TransientError && error.code === 'unproven-end';
}

it('G4: an export returns exactly the rows of the window, from any service and by any profile', async () => {
  await expectForAllAsync(
    fc.asyncProperty(
      combinations,
      combinations,
      fc.constantFrom(...wellSizes),
      fc.constantFrom(10, 15, 50, 1_000),
      async (combination, other, size, pageLimit) => {
        await matrix.become(other);
        const otherProfile = await matrix.probe();
        await matrix.become(combination);
        const profile = await matrix.probe();
        for (const given of [undefined, profile, otherProfile]) {
          const read = await matrix.read(size, pageLimit, given).catch((error: unknown) => {
            if (!mayFail(combination, given, error)) throw error;
          });
          if (read !== undefined) expect(daysOf(read.reading)).toEqual(expectedDays(size));
        }
      },
    ),
    numRuns,
  );
});

describe('rows that come and go between two requests', () => {
  const wellSize = 60;
  const uwi = uwiOf(wellSize);
  const change = fc.record({ afterRequest: fc.nat(9), day: fc.nat(wellSize - 1), comes: fc.boolean() });

  it('G4: an export returns every row that stays while others move between two requests', async () => {
    const moving = combinations.map(({ faults: _faults, duplicateRate: _rate, ...options }): Combination => ({
      ...options,
      paging: 'honoured',
    }));
    await expectForAllAsync(
      fc.asyncProperty(moving, fc.array(change, { minLength: 1, maxLength: 8 }), async (combination, changes) => {
        const gone = new Set<number>();
        let requests = 0;
        await matrix.become(combination, () => {
          for (const { day, comes } of changes.filter(({ afterRequest }) => afterRequest === requests)) {
            if (!comes) gone.add(day);
            matrix.server.state.changeDaily(JSON.stringify(comes ? newRow(day, requests) : removal(day)));
          }
          requests += 1;
        });
        const reading = await patiently(() => matrix.read(wellSize, 15));
        const days = new Set(daysOf(reading));
        expect(expectedDays(wellSize).filter((day) => !gone.has(day) && !days.has(day))).toEqual([]);
      }),
      numRuns,
    );
  });

  /** Another row on the same day. */
  function newRow(day: number, ordinal: number) {
    return rowOn(uwi, day, { xid: deriveXid(`${uwi} ${day}`, String(ordinal)) });
  }

  function removal(day: number) {
    return { uwi, remove: deriveXid(uwi, rowOn(uwi, day)['date']) };
  }
});

/** Retries as the queue would: an unstable read is not a reading. */
async function patiently(read: () => Promise<{ readonly reading: WindowReading }>): Promise<WindowReading> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await read()).reading;
    } catch (error) {
      if (!(error instanceof TransientError) || error.code !== 'unstable-read' || attempt === 3) throw error;
    }
  }
}
