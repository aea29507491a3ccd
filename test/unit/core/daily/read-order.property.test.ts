/** The order of reads: parts of a window, and the outcome of their unit. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import {
  mostRereads,
  orderedBy,
  orderedParts,
  outcomeOfParts,
  unfinishedUnit,
} from '../../../../src/core/daily/read-order.ts';
import { balanceOfCounts } from '../../../../src/core/run/balance.ts';
import type { UnitOutcome } from '../../../../src/core/run/run.ts';
import { rowsOf } from '../../../support/daily-rows.ts';
import { expectForAll } from '../../../support/property-runs.ts';
import { at, dayOf, reading, row, unreadable } from '../../../support/warehouse-batches.ts';

const days = 12;
const someDays = fc
  .tuple(fc.integer({ min: 0, max: days }), fc.integer({ min: 1, max: days }))
  .map(([from, length]) => ({ fromMs: at(dayOf(from)), toMs: at(dayOf(from + length)), isBegunLater: true }));
const somePresence = fc.array(fc.boolean(), { minLength: days, maxLength: days });

const batchOf = (present: readonly boolean[], isVerified = true) =>
  reading(
    present.flatMap((isThere, index) => (isThere ? [row(index + 1, dayOf(index + 1))] : [])),
    { to: dayOf(days + 1), isVerified, quarantined: [unreadable(), unreadable({ day: dayOf(3), raw: '3' })] },
  );

const outcomeOf = (unit: number, rows: number): UnitOutcome => ({
  unit,
  state: 'done',
  counts: { inserted: rows, windows: 1, targetsWithRows: 1, rowsAfter: rows },
});

describe('the order of reads', () => {
  test('the parts of a window are the window, each row is in one of them, and those in a later read say so', () => {
    expectForAll(
      fc.property(somePresence, fc.array(someDays, { maxLength: 4 }), (present, later) => {
        const batch = batchOf(present);
        const parts = orderedParts(batch, later);
        expect(parts.at(0)?.window.fromMs).toBe(batch.window.fromMs);
        expect(parts.at(-1)?.window.toMs).toBe(batch.window.toMs);
        for (const [index, { window }] of parts.slice(1).entries())
          expect(parts[index]?.window.toMs).toBe(window.fromMs);
        for (const { window, rows, isInLater } of parts) {
          for (let day = 1; day <= days; day += 1) {
            const ms = at(dayOf(day));
            if (ms < window.fromMs || ms >= window.toMs) continue;
            expect(isInLater).toBe(later.some(({ fromMs, toMs }) => ms >= fromMs && ms < toMs));
          }
          for (const { instantMs } of rowsOf(rows))
            expect(instantMs >= window.fromMs && instantMs < window.toMs).toBe(true);
        }
        expect(parts.flatMap(({ rows }) => rowsOf(rows))).toEqual(rowsOf(batch.rows));
        for (const record of batch.quarantined) {
          expect(parts.some(({ quarantined }) => quarantined.includes(record))).toBe(true);
        }
      }),
    );
  });

  test('G2: each row of a read is merged or repeated, over any number of reads of its parts', () => {
    const somePass = fc.tuple(somePresence, fc.array(someDays, { minLength: 1, maxLength: 3 }));
    expectForAll(
      fc.property(fc.array(somePass, { minLength: 1, maxLength: mostRereads + 1 }), (passes) => {
        let before: ReturnType<typeof unfinishedUnit> | undefined;
        let read = 0;
        for (const [present, later] of passes) {
          const batch = { ...batchOf(present), before };
          const parts = orderedParts(batch, later);
          const merged = parts
            .filter(({ isInLater }) => !isInLater)
            .map(({ unit, rows }) => outcomeOf(unit, rows.length));
          const left = parts.filter(({ isInLater }) => isInLater);
          read += batch.counts.read;
          const outcome = outcomeOfParts(batch, merged, left);
          expect(outcome.counts).toMatchObject({ read, windows: 1 });
          expect(balanceOfCounts(dailyProduction, outcome.counts)).toMatchObject({ balanced: true });
          if (left.length === 0) return;
          before = unfinishedUnit(batch, left, outcome);
          for (const { window } of left) {
            expect(window.fromMs >= before.window.fromMs && window.toMs <= before.window.toMs).toBe(true);
          }
        }
        expect(before?.rereads).toBe(passes.length);
      }),
    );
  });

  test('a verified read orders its window, an unverified one what it brought', () => {
    const present = Array.from({ length: days }, (_, index) => index === 3 || index === 5);
    const whole = batchOf(present);
    expect(orderedBy(whole)).toEqual(whole.window);
    expect(orderedBy(batchOf(present, false))).toEqual({ fromMs: at(dayOf(4)), toMs: at(dayOf(6)) + 1 });
    expect(orderedBy(batchOf([], false))).toBeUndefined();
  });
});
