import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arrayBytes, type PipeLoad as Load, type RejectedLoad } from '../../../../src/core/pipes/chunks-in-order.ts';
import { LookAhead, maxOpenEntries, type PipeChunk, SettledPrefix } from '../../../../src/core/pipes/look-ahead.ts';
import { createRandom } from '../../../../src/testing-server/data/rows.ts';
import { modelPush, type ModelRow, type ModelSettings, pipeOf, versionOf } from '../../../support/model-push.ts';

const row = fc.record({
  pipe: fc.nat(7),
  version: fc.nat(3),
  kind: fc.constantFrom<ModelRow['kind']>('item', 'item', 'item', 'item', 'rejected'),
});
/** In any order, and sorted by pipe or by version as exports of networks are. */
const rows = fc
  .tuple(fc.array(row, { maxLength: 70 }), fc.constantFrom('mixed', 'by pipe', 'by version'))
  .map(([list, order]) => {
    if (order === 'mixed') return list;
    return list.toSorted((a, b) => (order === 'by pipe' ? a.pipe - b.pipe : a.version - b.version));
  });
const settings = fc.record({
  maxItems: fc.integer({ min: 1, max: 6 }),
  maxBytes: fc.integer({ min: 4, max: 40 }),
  concurrency: fc.integer({ min: 1, max: 4 }),
  kills: fc.nat(3),
});
const chance = fc.string({ minLength: 1 });

function drawFrom(seed: string): (below: number) => number {
  const random = createRandom(seed);
  return (below) => Math.floor(random() * below);
}

function lastOf(list: readonly ModelRow[], keyOf: (row: ModelRow) => string): ReadonlyMap<string, number> {
  return new Map(list.flatMap((one, index) => (one.kind === 'rejected' ? [] : [[keyOf(one), index] as const])));
}

const defaults = { maxItems: 500, maxBytes: 1e9, concurrency: 8, kills: 0 };

const requestsOf = (list: readonly ModelRow[], identity: ModelSettings['identity'], seed = 'a'): number =>
  modelPush(list, { ...defaults, identity }, drawFrom(seed)).requests;

describe('rows of a pipe with several dates', () => {
  test('G5: a service that keys pipes by their ids ends with the last row of each, and one that keys them by date too with the last row of each date, through kills and retries', () => {
    fc.assert(
      fc.property(rows, settings, chance, (list, how, seed) => {
        const end = modelPush(list, { ...how, identity: 'unknown' }, drawFrom(seed));
        expect(end.byPipe).toEqual(lastOf(list, pipeOf));
        expect(end.byVersion).toEqual(lastOf(list, versionOf));
      }),
      { numRuns: 500 },
    );
  });

  test('G5: no two rows of a pipe are in one request, or in two at a time', () => {
    fc.assert(
      fc.property(rows, settings, chance, (list, how, seed) => {
        expect(modelPush(list, { ...how, identity: 'unknown' }, drawFrom(seed)).faults).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('G5: with-date puts in order what has the same date alone, and the service ends with the last row of each date', () => {
    fc.assert(
      fc.property(rows, settings, chance, (list, how, seed) => {
        const end = modelPush(list, { ...how, identity: 'with-date' }, drawFrom(seed));
        expect(end.byVersion).toEqual(lastOf(list, versionOf));
        expect(end.faults).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('G2, G7: the checkpoint passes no row without an outcome, and each row counts once', () => {
    const mixed = fc.array(
      fc.oneof(
        row,
        row.map((one) => ({ ...one, kind: 'refused' as const })),
      ),
      { maxLength: 70 },
    );
    const identity = fc.constantFrom('unknown' as const, 'with-date' as const);
    fc.assert(
      fc.property(mixed, settings, identity, chance, (list, how, which, seed) => {
        const { counts, faults } = modelPush(list, { ...how, identity: which }, drawFrom(seed));
        expect(faults).toEqual([]);
        const count = (name: string): number => counts[name] ?? 0;
        expect(count('rows')).toBe(list.length);
        expect(count('rejectedByUs')).toBe(list.filter(({ kind }) => kind === 'rejected').length);
        expect(count('accepted') + count('superseded') + count('rejectedByUs') + count('rejectedByService')).toBe(
          list.length,
        );
        // A row of a date that stands there once is never superseded.
        const sent = list.filter(({ kind }) => kind !== 'rejected').map(versionOf);
        expect(count('superseded')).toBeLessThanOrEqual(sent.length - new Set(sent).size);
      }),
      { numRuns: 500 },
    );
  });

  test('G8: no more rows are read ahead than the bound says', () => {
    fc.assert(
      fc.property(rows, settings, chance, (list, how, seed) => {
        const { mostOpen } = modelPush(list, { ...how, identity: 'unknown' }, drawFrom(seed));
        expect(mostOpen).toBeLessThanOrEqual(maxOpenEntries(how.maxItems, how.concurrency));
      }),
    );
  });

  /** Rows of different pipes, but for the second: it has the pipe of the first. */
  const repeatedAtOnce = (count: number): readonly Load[] =>
    Array.from({ length: count }, (_, index) => ({
      key: `pipe ${index === 1 ? 0 : index}`,
      version: `version ${index}`,
      bytes: 1,
      rowCount: 1,
      firstLine: index + 2,
      end: { byte: index + 1, line: index + 3, form: 'wide' },
    }));

  test.each([1, 4, 8])(
    'G7: a row that was put off holds the checkpoint back for two rounds of %i requests',
    (concurrency) => {
      const limits = () => ({ maxItems: 10, maxBytes: 1e9 });
      const ahead = new LookAhead<Load, RejectedLoad>({ limits, identity: 'unknown', concurrency });
      const rest = [...repeatedAtOnce(10_000)];
      const underWay: PipeChunk<Load>[] = [];
      let [answers, passed] = [0, 0];
      while (passed < 2) {
        while (ahead.hasRoom && rest.length > 0) ahead.add(rest.shift() as Load);
        for (let next = ahead.next('reading'); next !== undefined; next = ahead.next('reading')) underWay.push(next);
        const chunk = underWay.shift() as PipeChunk<Load>;
        ahead.settle(chunk, { accepted: chunk.items, refused: [], failed: [], requests: 1 }, ({ item }) => item);
        answers += 1;
        passed += ahead.pass()?.counts['rows'] ?? 0;
      }
      expect(answers).toBeLessThanOrEqual(2 * concurrency + 2);
    },
  );

  test('G7: the first chunk goes alone until an item of it has its outcome', () => {
    const limits = () => ({ maxItems: 2, maxBytes: 1e9 });
    const ahead = new LookAhead<Load, RejectedLoad>({ limits, identity: 'with-date', concurrency: 3 });
    for (const item of repeatedAtOnce(8)) ahead.add(item);
    const first = ahead.next('reading') as PipeChunk<Load>;
    expect(ahead.next('reading')).toBeUndefined();
    ahead.settlePart(first, { accepted: first.items.slice(0, 1), refused: [] }, ({ item }) => item);
    const others = [ahead.next('reading'), ahead.next('reading'), ahead.next('reading')];
    expect(others.map((chunk) => chunk?.items.length)).toEqual([2, 2, undefined]);
  });

  test('G7: the checkpoint passes the parts of a chunk that is bisected, and the chunk with its last row', () => {
    const limits = () => ({ maxItems: 6, maxBytes: 1e9 });
    const one = { identity: 'with-date', concurrency: 1 } as const;
    const ahead = new LookAhead<Load, RejectedLoad>({ limits, ...one });
    for (const item of repeatedAtOnce(6)) ahead.add(item);
    const chunk = ahead.next('reading') as PipeChunk<Load>;
    const [first, second, third, fourth, fifth, sixth] = chunk.items as [Load, Load, Load, Load, Load, Load];
    const rejectsOf = ({ item }: { readonly item: Load }): RejectedLoad => item;
    const settlePart = (accepted: readonly Load[], refused: readonly Load[]) => {
      ahead.settlePart(chunk, { accepted, refused: refused.map((item) => ({ item, reason: 'no' })) }, rejectsOf);
      return ahead.pass();
    };
    expect(settlePart([first, second], [])).toMatchObject({ counts: { rows: 2, accepted: 2, chunks: 0 }, chunks: [] });
    expect(settlePart([fourth], [])).toBeUndefined();
    expect(settlePart([], [third])).toMatchObject({
      counts: { rows: 2, accepted: 1, rejectedByService: 1 },
      rejected: [third],
    });
    expect(settlePart([fifth, sixth], [])).toMatchObject({ counts: { rows: 1 } });
    const refused = [{ item: third, reason: 'no' }];
    ahead.settle(
      chunk,
      { accepted: [first, second, fourth, fifth, sixth], refused, failed: [], requests: 5 },
      rejectsOf,
    );
    expect(ahead.pass()).toMatchObject({
      counts: { rows: 1, accepted: 1, rejectedByService: 0, chunks: 1, requests: 5 },
      chunks: [{ firstLine: 2, lastLine: 7, items: 6, status: 'accepted-in-part', attempts: 5 }],
    });
    expect([ahead.bufferedBytes, ahead.isSettled]).toEqual([0, true]);
  });

  const sorted = (pipes: number, versions: number): readonly ModelRow[] =>
    Array.from({ length: pipes * versions }, (_, index) => ({
      pipe: Math.floor(index / versions),
      version: index % versions,
      kind: 'item' as const,
    }));

  test.each(['a', 'b', 'c', 'd', 'e'])(
    '2,000 pipes of five dates, sorted by pipe, take at most 40 requests (%s)',
    (seed) => {
      const list = sorted(2_000, 5);
      expect(requestsOf(list, 'unknown', seed)).toBeLessThanOrEqual(40);
      expect(requestsOf(list, 'with-date', seed)).toBe(20);
    },
  );

  test('thirty dates of a single pipe take a request each, one where dates may share it', () => {
    expect(requestsOf(sorted(1, 30), 'unknown')).toBe(30);
    expect(requestsOf(sorted(1, 30), 'with-date')).toBe(1);
  });

  test('different pipes fill their chunks', () => {
    expect(requestsOf(sorted(1_200, 1), 'unknown')).toBe(3);
  });
});

describe('the body of a request', () => {
  test('the bytes of a chunk are those of its request body', () => {
    const bodies = ['{"a":1}', '{"b":"é"}', '{}'];
    const itemBytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
    expect(arrayBytes(itemBytes, bodies.length)).toBe(Buffer.byteLength(`[${bodies.join(',')}]`));
    expect(arrayBytes(0, 0)).toBe(2);
  });
});

interface Entry {
  readonly number: number;
  outcome: string | undefined;
}

describe('the checkpoint', () => {
  const order = fc.integer({ min: 1, max: 40 }).chain((size) =>
    fc.shuffledSubarray(
      Array.from({ length: size }, (_, index) => index),
      { minLength: size, maxLength: size },
    ),
  );

  test('G7: the checkpoint is the end of the settled prefix, for every order of outcomes', () => {
    fc.assert(
      fc.property(order, fc.integer({ min: 1, max: 4 }), (resolutions, every) => {
        const prefix = new SettledPrefix<Entry>();
        const entries = resolutions.map((_, number): Entry => ({ number, outcome: undefined }));
        for (const entry of entries) prefix.track(entry);
        const passed: number[] = [];
        resolutions.forEach((number, index) => {
          const entry = entries[number];
          if (entry !== undefined) entry.outcome = 'accepted';
          if (index % every > 0 && index < resolutions.length - 1) return;
          passed.push(...prefix.pass().map((one) => one.number));
          const settled = entries.findIndex(({ outcome }) => outcome === undefined);
          const count = settled === -1 ? entries.length : settled;
          expect(passed).toEqual(entries.slice(0, count).map((one) => one.number));
          expect(prefix.size).toBe(entries.length - count);
        });
        expect(prefix.pass()).toEqual([]);
      }),
    );
  });
});
