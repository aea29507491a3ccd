/** The days that a plan takes for sound, by its port: those with a row and without a quarantined record. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeDays } from '../../../../src/core/daily/coverage.ts';
import type { CleanDays } from '../../../../src/core/daily/due-window.ts';
import { dayNumber } from '../../../../src/core/time/production-day.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { bySuite } from '../../../support/suite-size.ts';
import { dayOf, load, reading, row, unreadable } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const daysRead = 40;

/** What a well has of a day: the number of its rows, and how a record is in quarantine. */
interface Day {
  readonly rows: number;
  readonly broken: string | undefined;
}

const dayArbitrary: fc.Arbitrary<Day> = fc.record({
  rows: fc.oneof({ arbitrary: fc.constantFrom(0, 1), weight: 12 }, { arbitrary: fc.constantFrom(2, 3), weight: 1 }),
  broken: fc.oneof(
    { arbitrary: fc.constant(undefined), weight: 20 },
    { arbitrary: fc.constantFrom('with its day', 'by its xid'), weight: 1 },
  ),
});

/** Wells beside each other whose keys are given out together; some of them are asked for. */
const wellsArbitrary = fc.array(
  fc.record({
    days: fc.array(dayArbitrary, { minLength: daysRead, maxLength: daysRead }),
    isUsual: fc.boolean(),
    isAsked: fc.boolean(),
  }),
  { minLength: 1, maxLength: 24 },
);

/** A well as usual: at most a row a day, and nothing in quarantine. */
function usual(days: readonly Day[]): readonly Day[] {
  return days.map(({ rows }) => ({ rows: Math.min(1, rows), broken: undefined }));
}

function xidOf(day: number, place: number): number {
  return day * 10 + place;
}

function windowOf(unit: number, uwi: string, days: readonly Day[]) {
  const rows = days.flatMap(({ rows: count }, index) =>
    Array.from({ length: count }, (_, place) => row(xidOf(index + 1, place), dayOf(index + 1))),
  );
  const quarantined = days.flatMap(({ broken }, index) => {
    if (broken === undefined) return [];
    return broken === 'with its day'
      ? [unreadable({ xid: xidOf(index + 1, 9), day: dayOf(index + 1) })]
      : [unreadable({ xid: xidOf(index + 1, 0) })];
  });
  return reading(rows, { unit, uwi, to: dayOf(daysRead + 1), quarantined });
}

/** Those of the days from `from` to `to`, numbered from 1, both included. */
function soundOf(days: readonly Day[], from: number, to: number): readonly CleanDays[] {
  const sound = days.flatMap(({ rows, broken }, index) => {
    const day = dayNumber(dayOf(index + 1));
    return rows > 0 && broken === undefined && index + 1 >= from && index + 1 <= to ? [{ day, rows }] : [];
  });
  const stretches = mergeDays(sound.map(({ day }) => ({ fromDay: day, toDay: day + 1 })));
  return stretches.map(({ fromDay, toDay }) => {
    const within = sound.filter(({ day }) => day >= fromDay && day < toDay);
    return { fromDay, toDay, rows: within.reduce((sum, { rows }) => sum + rows, 0) };
  });
}

export function describeSoundDays(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('the sound days of wells', () => {
    it('are the days with a row and without a quarantined record, as stretches with their rows', async () => {
      const { warehouse } = test();
      let fields = 0;
      const bounds = fc.tuple(fc.integer({ min: 1, max: daysRead }), fc.integer({ min: 1, max: daysRead }));
      const property = fc.asyncProperty(wellsArbitrary, bounds, async (drawn, [one, other]) => {
        fields += 1;
        const wells = drawn.map(({ days, isUsual, isAsked }, unit) => ({
          uwi: `well ${fields}-${unit}`,
          days: isUsual ? usual(days) : days,
          isAsked,
        }));
        await load(
          warehouse,
          wells.map(({ uwi, days }, unit) => windowOf(unit, uwi, days)),
        );
        const asked = wells.filter(({ isAsked }) => isAsked);
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        const days = { fromDay: dayNumber(dayOf(from)), toDay: dayNumber(dayOf(to)) + 1 };
        const sound = await warehouse.dailyProduction.cleanDays(
          asked.map(({ uwi }) => uwi),
          days,
        );
        const expected = asked.map(({ uwi, days: all }) => [uwi, soundOf(all, from, to)] as const);
        expect(expected.map(([uwi]) => [uwi, sound.get(uwi) ?? []])).toEqual(expected);
        expect([...sound.keys()].filter((uwi) => !asked.some((well) => well.uwi === uwi))).toEqual([]);
      });
      await expectForAllAsync(property, bySuite(3, 12));
    });

    it('are none of a well that was never read', async () => {
      const { warehouse } = test();
      expect(await warehouse.dailyProduction.cleanDays(['nobody'], { fromDay: 0, toDay: 10 })).toEqual(new Map());
    });
  });
}
