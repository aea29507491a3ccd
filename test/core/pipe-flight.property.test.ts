/** For any interleaving of answers the service ends with the last row of every pipe, and the checkpoint never passes what is open. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SettledPrefix } from '../../src/core/pipe-checkpoint.ts';
import { PipeFlight } from '../../src/core/pipe-flight.ts';
import { SliceCutter, type PipeLoad, type PipeSlice, type RejectedLoad } from '../../src/core/pipe-slices.ts';

interface Row extends PipeLoad {
  readonly version: number;
}
type Slice = PipeSlice<Row, RejectedLoad>;

function slicesOf(pipes: readonly number[], maxItems: number): readonly Slice[] {
  const cutter = new SliceCutter<Row, RejectedLoad>(() => ({ maxItems, maxBytes: 10_000 }));
  const rows = pipes.map((pipe, version): Row => ({
    key: `pipe ${pipe}`,
    bytes: 1,
    rowCount: 1,
    end: { byte: version + 1, line: version + 2, form: 'wide' },
    version,
  }));
  return [...rows.map((row) => cutter.add(row)), cutter.flush()].filter((slice) => slice !== undefined);
}

/** Sends slices as they may go; `pick` decides whose request is stored, and whose answer comes, next. */
function pushAll(
  slices: readonly Slice[],
  pick: () => number,
): { service: ReadonlyMap<string, number>; mostTogether: number } {
  const flight = new PipeFlight();
  const service = new Map<string, number>();
  const inFlight = new Set<number>();
  let mostTogether = 0;
  slices.forEach((slice, index) => {
    if (flight.add(index, slice.itemsByKey)) inFlight.add(index);
  });
  while (inFlight.size > 0) {
    mostTogether = Math.max(mostTogether, inFlight.size);
    const open = [...inFlight];
    const index = open[pick() % open.length] ?? 0;
    // Every slice in flight may be stored again at any time, by a retry after an unknown outcome.
    for (const stored of [open[pick() % open.length] ?? index, index]) {
      for (const { key, version } of slices[stored]?.items ?? []) service.set(key, version);
    }
    inFlight.delete(index);
    for (const next of flight.settle(index)) inFlight.add(next);
  }
  expect(flight.size).toBe(0);
  return { service, mostTogether };
}

const pipes = fc.array(fc.nat(12), { maxLength: 80 });

describe('slices in flight', () => {
  test('G5: for any interleaving of outcomes the last row of a pipe is what the service ends with', () => {
    fc.assert(
      fc.property(pipes, fc.integer({ min: 1, max: 6 }), fc.infiniteStream(fc.nat(1_000)), (rows, maxItems, stream) => {
        const { service } = pushAll(slicesOf(rows, maxItems), () => stream.next().value as number);
        expect(service).toEqual(new Map(rows.map((pipe, version) => [`pipe ${pipe}`, version])));
      }),
    );
  });

  test('slices of different pipes all go at once', () => {
    const rows = Array.from({ length: 40 }, (_, pipe) => pipe);
    expect(pushAll(slicesOf(rows, 4), () => 0).mostTogether).toBe(10);
  });

  test('a slice that settles twice lets nobody go twice', () => {
    const flight = new PipeFlight();
    expect([flight.add(0, new Set(['a'])), flight.add(1, new Set(['a', 'b'])), flight.add(2, new Set(['b']))]).toEqual([
      true,
      false,
      false,
    ]);
    expect(flight.settle(0)).toEqual([1]);
    expect(flight.settle(0)).toEqual([]);
    expect(flight.settle(1)).toEqual([2]);
  });
});

describe('the checkpoint', () => {
  const order = fc.integer({ min: 1, max: 40 }).chain((size) =>
    fc.shuffledSubarray(
      Array.from({ length: size }, (_, index) => index),
      { minLength: size, maxLength: size },
    ),
  );

  test('G7: it is the end of the settled prefix, for every order of outcomes', () => {
    fc.assert(
      fc.property(order, (resolutions) => {
        const prefix = new SettledPrefix<{ readonly slice: number }>();
        const slices = resolutions.map(() => prefix.track());
        const resolved = new Set<number>();
        const passed: number[] = [];
        for (const slice of resolutions) {
          passed.push(...prefix.resolve(slice, { slice }).map((outcome) => outcome.slice));
          resolved.add(slice);
          let settled = 0;
          while (resolved.has(settled)) settled += 1;
          expect(passed).toEqual(slices.slice(0, settled));
          expect(prefix.size).toBe(resolutions.length - settled);
        }
      }),
    );
  });

  test('every order of five slices', () => {
    for (const resolutions of permutations([0, 1, 2, 3, 4])) {
      const prefix = new SettledPrefix<{ readonly slice: number }>();
      for (let count = 0; count < 5; count += 1) prefix.track();
      const passed = resolutions.flatMap((slice) => prefix.resolve(slice, { slice }));
      expect(passed.map(({ slice }) => slice)).toEqual([0, 1, 2, 3, 4]);
    }
  });

  test('G1: a second outcome of a slice is ignored', () => {
    const prefix = new SettledPrefix<{ readonly said: string }>();
    const [first, second] = [{ said: 'first' }, { said: 'second' }];
    prefix.track();
    prefix.track();
    expect(prefix.resolve(1, first)).toEqual([]);
    expect(prefix.resolve(1, second)).toEqual([]);
    expect(prefix.resolve(0, first)).toEqual([first, first]);
    expect(prefix.resolve(0, second)).toEqual([]);
    expect(prefix.resolve(2, first)).toEqual([]);
  });
});

function permutations(values: readonly number[]): readonly (readonly number[])[] {
  if (values.length === 0) return [[]];
  return values.flatMap((value) =>
    permutations(values.filter((other) => other !== value)).map((rest) => [value, ...rest]),
  );
}
