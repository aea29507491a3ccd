import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SettledPrefix } from '../../../../src/core/pipes/settled-prefix.ts';
import { PipesInFlight } from '../../../../src/core/pipes/in-flight.ts';
import {
  ChunkCutter,
  type PipeLoad,
  type PipeChunk,
  type RejectedLoad,
} from '../../../../src/core/pipes/chunk-cutter.ts';

interface Row extends PipeLoad {
  readonly version: number;
}
type Chunk = PipeChunk<Row, RejectedLoad>;

function chunksOf(pipes: readonly number[], maxItems: number): readonly Chunk[] {
  const cutter = new ChunkCutter<Row, RejectedLoad>(() => ({ maxItems, maxBytes: 10_000 }));
  const rows = pipes.map((pipe, version): Row => ({
    key: `pipe ${pipe}`,
    bytes: 1,
    rowCount: 1,
    end: { byte: version + 1, line: version + 2, form: 'wide' },
    version,
  }));
  return [...rows.map((row) => cutter.add(row)), cutter.flush()].filter((chunk) => chunk !== undefined);
}

/** Sends chunks as soon as they may be sent. `pick` chooses whose request is stored, and whose answer comes, next. */
function pushAll(
  chunks: readonly Chunk[],
  pick: () => number,
): { service: ReadonlyMap<string, number>; mostTogether: number } {
  const flight = new PipesInFlight();
  const service = new Map<string, number>();
  const inFlight = new Set<number>();
  let mostTogether = 0;
  chunks.forEach((chunk, index) => {
    if (flight.add(index, chunk.itemsByKey)) inFlight.add(index);
  });
  while (inFlight.size > 0) {
    mostTogether = Math.max(mostTogether, inFlight.size);
    const open = [...inFlight];
    const index = open[pick() % open.length] ?? 0;
    // Every chunk in flight may be stored again at any time, by a retry after an unknown outcome.
    for (const stored of [open[pick() % open.length] ?? index, index]) {
      for (const { key, version } of chunks[stored]?.items ?? []) service.set(key, version);
    }
    inFlight.delete(index);
    for (const next of flight.settle(index)) inFlight.add(next);
  }
  expect(flight.size).toBe(0);
  return { service, mostTogether };
}

const pipes = fc.array(fc.nat(12), { maxLength: 80 });

describe('chunks in flight', () => {
  test('G5: for any interleaving of outcomes the service ends with the last row of every pipe', () => {
    fc.assert(
      fc.property(pipes, fc.integer({ min: 1, max: 6 }), fc.infiniteStream(fc.nat(1_000)), (rows, maxItems, stream) => {
        const { service } = pushAll(chunksOf(rows, maxItems), () => stream.next().value as number);
        expect(service).toEqual(new Map(rows.map((pipe, version) => [`pipe ${pipe}`, version])));
      }),
    );
  });

  test('chunks of different pipes are all sent at once', () => {
    const rows = Array.from({ length: 40 }, (_, pipe) => pipe);
    expect(pushAll(chunksOf(rows, 4), () => 0).mostTogether).toBe(10);
  });

  test('a chunk that settles twice releases its waiting chunks once', () => {
    const flight = new PipesInFlight();
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

  test('G7: the checkpoint is the end of the settled prefix, for every order of outcomes', () => {
    fc.assert(
      fc.property(order, (resolutions) => {
        const prefix = new SettledPrefix<{ readonly chunk: number }>();
        const chunks = resolutions.map(() => prefix.track());
        const resolved = new Set<number>();
        const passed: number[] = [];
        for (const chunk of resolutions) {
          passed.push(...prefix.resolve(chunk, { chunk }).map((outcome) => outcome.chunk));
          resolved.add(chunk);
          let settled = 0;
          while (resolved.has(settled)) settled += 1;
          expect(passed).toEqual(chunks.slice(0, settled));
          expect(prefix.size).toBe(resolutions.length - settled);
        }
      }),
    );
  });

  test('the outcomes of five chunks come back in the order of the file, for every order of settling', () => {
    for (const resolutions of permutations([0, 1, 2, 3, 4])) {
      const prefix = new SettledPrefix<{ readonly chunk: number }>();
      for (let count = 0; count < 5; count += 1) prefix.track();
      const passed = resolutions.flatMap((chunk) => prefix.resolve(chunk, { chunk }));
      expect(passed.map(({ chunk }) => chunk)).toEqual([0, 1, 2, 3, 4]);
    }
  });

  test('G1: the checkpoint ignores a second outcome of a chunk', () => {
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
