import { describe, expect, test } from 'vitest';
import type { Mutation, RecordBody } from '../evidence.ts';
import { uwis } from './assets.ts';
import { dayMs } from './day-bodies.ts';
import { drawnManner } from './manner.ts';
import { createRandom } from './random.ts';
import { type MutationKind, Truth } from './truth.ts';

const nowMs = Date.parse('2026-09-28T09:30:00Z');
const yesterday = '2026-09-27';
const kinds: readonly MutationKind[] = [
  'restated',
  'late',
  'removed',
  'emptied',
  'returned',
  'broken',
  'mended',
  'moved',
];

const truthOf = (seed: number): Truth => new Truth(createRandom(seed), () => nowMs);

const dayOf = (body: RecordBody): string => String(body['date']).slice(0, 10);

/** The records of a well as the log of changes says. */
function replayed(mutations: readonly Mutation[], uwi: string): ReadonlyMap<string, RecordBody> {
  const records = new Map<string, RecordBody>();
  for (const { xid, body, ...mutation } of mutations) {
    if (mutation.uwi !== uwi) continue;
    if (body === null) records.delete(xid);
    else records.set(xid, body);
  }
  return records;
}

describe('the truth at the beginning', () => {
  test('is the same for the same seed, and another for another', () => {
    expect(truthOf(4).all()).toEqual(truthOf(4).all());
    expect(truthOf(5).all()).not.toEqual(truthOf(4).all());
    expect(drawnManner(createRandom(4))).toEqual(drawnManner(createRandom(4)));
  });

  test('has about 110 days of 24 wells, up to yesterday or the day before, and no future', () => {
    const wells = Object.values(truthOf(4).all());
    expect(wells).toHaveLength(24);
    for (const records of wells) {
      expect(records.length).toBeGreaterThan(90);
      expect(records.length).toBeLessThan(118);
      expect([yesterday, '2026-09-26']).toContain(dayOf(records.at(-1) ?? {}));
    }
  });

  test('has midnights in one of the forms of the service', () => {
    const forms = new Set(
      [1, 2, 3, 4].flatMap((seed) =>
        Object.values(truthOf(seed).all())
          .flat()
          .map(({ date }) => String(date).slice(10)),
      ),
    );
    expect([...forms].toSorted()).toEqual(['T00:00:00+0000', 'T00:00:00Z']);
  });

  test('has four wells that produced nothing of late, others that did, nulls and unknown fields', () => {
    const wells = Object.values(truthOf(4).all());
    const sums = wells.map((records) =>
      records.slice(-60).reduce((sum, { oilRate, waterRate }) => sum + Number(oilRate) + Number(waterRate), 0),
    );
    expect(sums.filter((sum) => sum === 0).length).toBeGreaterThanOrEqual(4);
    expect(sums.filter((sum) => sum > 0).length).toBeGreaterThan(10);
    const all = wells.flat();
    expect(all.some(({ choke }) => choke === null)).toBe(true);
    expect(all.some((body) => 'remark' in body)).toBe(true);
    expect(all.some(({ downtimeHours }) => Number(downtimeHours) > 0)).toBe(true);
  });
});

describe('changes', () => {
  test.each([11, 12, 13])(
    'keep xids unique, one record a day, no day after yesterday, and are all in the log (%i)',
    (seed) => {
      const truth = truthOf(seed);
      for (let count = 0; count < 800; count += 1) truth.mutate();
      for (const uwi of uwis) {
        const records = truth.recordsOf(uwi);
        expect(new Set(records.map(({ xid }) => xid)).size).toBe(records.length);
        const days = truth.rowsOf(uwi).flatMap(({ instantMs }) => (instantMs === undefined ? [] : [instantMs]));
        expect(new Set(days).size).toBe(days.length);
        expect(days.every((day) => day % dayMs === 0 && day < nowMs - (nowMs % dayMs))).toBe(true);
        expect(days).toEqual(days.toSorted((left, right) => left - right));
        const said = replayed(truth.mutations, uwi);
        expect(Object.fromEntries(records.map((body) => [body['xid'], body]))).toEqual(Object.fromEntries(said));
      }
      const seen = new Set(truth.mutations.map(({ what }) => what));
      expect([...seen].toSorted()).toEqual([
        'broken',
        'initial',
        'late',
        'mended',
        'moved',
        'removed',
        'restated',
        'returned',
      ]);
      expect(truth.mutations.every(({ atMs }) => atMs === nowMs)).toBe(true);
    },
  );

  test('are the same for the same seed', () => {
    const [one, other] = [truthOf(3), truthOf(3)];
    for (let count = 0; count < 100; count += 1) expect(one.mutate()).toEqual(other.mutate());
  });

  test.each(kinds)('%s changes the requested well alone', (kind) => {
    const truth = truthOf(21);
    const uwi = 'NO 16/2-D-11 H';
    // So that there is something to return, to fix and to fill.
    for (const first of ['emptied', 'broken'] as const) truth.mutate(first, uwi);
    const before = truth.all();
    const changes = truth.mutate(kind, uwi);
    const after = truth.all();
    expect(changes.length).toBeGreaterThan(0);
    expect(new Set(changes.map(({ what }) => what))).toEqual(new Set([kind === 'emptied' ? 'removed' : kind]));
    expect(after[uwi]).not.toEqual(before[uwi]);
    expect({ ...after, [uwi]: [] }).toEqual({ ...before, [uwi]: [] });
  });

  test('a restated record has another rate or pressure on the same day', () => {
    const truth = truthOf(21);
    for (let count = 0; count < 60; count += 1) {
      const before = truth.all();
      const [{ uwi, xid, body }] = truth.mutate('restated') as [Mutation];
      const old = before[uwi]?.find((each) => each['xid'] === xid);
      expect(body?.['date']).toBe(old?.['date']);
      expect(body).not.toEqual(old);
    }
  });

  test('a broken record keeps its xid; mended, it has its day again', () => {
    const truth = truthOf(8);
    const uwi = '井-7';
    const days = new Map(truth.recordsOf(uwi).map((body) => [body['xid'], body['date']]));
    for (let count = 0; count < 60; count += 1) truth.mutate('broken', uwi);
    expect(truth.rowsOf(uwi).some(({ instantMs }) => instantMs === undefined)).toBe(true);
    expect(truth.recordsOf(uwi)).toHaveLength(days.size);
    while (truth.mutate('mended', uwi).length > 0);
    expect(new Map(truth.recordsOf(uwi).map((body) => [body['xid'], body['date']]))).toEqual(days);
  });

  test('an emptied month loses more rows than 3 and 20 %; a removal loses at most 3', () => {
    const truth = truthOf(8);
    const before = truth.recordsOf('0007');
    const gone = truth.mutate('emptied', '0007').map(({ xid }) => xid);
    const lost = before.filter(({ xid }) => gone.includes(String(xid)));
    const [month] = new Set(lost.map((body) => dayOf(body).slice(0, 7)));
    const inMonth = before.filter((body) => dayOf(body).startsWith(month ?? 'none'));
    expect(new Set(lost.map((body) => dayOf(body).slice(0, 7))).size).toBe(1);
    expect(lost.length).toBeGreaterThan(Math.min(3, inMonth.length - 1));
    expect(lost.length).toBeGreaterThan(inMonth.length * 0.2);
    for (let count = 0; count < 50; count += 1) expect(truth.mutate('removed').length).toBeLessThanOrEqual(3);
  });

  test('a doubled day has two records, one of them late', () => {
    const truth = truthOf(8);
    const [{ what, body }] = truth.mutate('doubled', '0007') as [Mutation];
    expect(what).toBe('late');
    expect(truth.recordsOf('0007').filter(({ date }) => date === body?.['date'])).toHaveLength(2);
  });

  test('a kind of which the well has no case changes nothing', () => {
    const truth = truthOf(8);
    expect(truth.mutate('mended', '0007')).toEqual([]);
    expect(truth.mutate('returned', '0007')).toEqual([]);
  });
});
