/** G1 over histories in which records move over years, take new xids, come and go: the warehouse against a model. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import { grouped } from '../../../../src/core/base/lists.ts';
import { balanceOfCounts } from '../../../../src/core/run/balance.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { ask, dayOf, guard, planned, reading, row, xidOf } from '../../../support/warehouse-batches.ts';
import type { OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const wells = ['A', 'B'];
/** Days by their number from 1: some of three years, far apart. */
const days = [1, 2, 3, 4, 701, 702, 703, 704, 2_901, 2_902, 2_903, 2_904];
const cuts = [1, 3, 5, 701, 703, 705, 2_901, 2_903, 2_905];
const xids = 6;

interface Place {
  readonly day: number;
  readonly oilRate: number;
}

/** The records of a well by xid, at the service or in the warehouse. */
type Records = Map<number, Place>;

interface Asked {
  readonly uwi: string;
  readonly from: number;
  readonly to: number;
  readonly isVerified: boolean;
}

/** A record takes a place, whether it had one before or not, or goes. */
const someChange = fc.record({
  uwi: fc.constantFrom(...wells),
  xid: fc.integer({ min: 1, max: xids }),
  place: fc.option(fc.record({ day: fc.constantFrom(...days), oilRate: fc.nat(2) }), { freq: 4 }),
});

/** One window of a well, or two that do not overlap. */
const someWindows = fc
  .record({
    uwi: fc.constantFrom(...wells),
    bounds: fc.subarray(cuts, { minLength: 2, maxLength: 4 }),
    verified: fc.tuple(fc.boolean(), fc.boolean()),
  })
  .map(({ uwi, bounds: [from = 1, to = 3, secondFrom, secondTo], verified }): readonly Asked[] => [
    { uwi, from, to, isVerified: verified[0] },
    ...(secondFrom === undefined || secondTo === undefined
      ? []
      : [{ uwi, from: secondFrom, to: secondTo, isVerified: verified[1] }]),
  ]);

const someStep = fc.record({
  changes: fc.array(someChange, { maxLength: 8 }),
  asked: fc.uniqueArray(someWindows, { minLength: 1, maxLength: 2, selector: ([first]) => first?.uwi }),
});

function recordsIn(records: Records, { from, to }: Asked): ReadonlyArray<readonly [number, Place]> {
  return [...records].filter(([, { day }]) => day >= from && day < to);
}

/** What the windows of a well read takes its place; returns those that would lose a row without being verified. */
function replace(stored: Records, service: Records, asked: readonly Asked[]): readonly Asked[] {
  const read = new Map(asked.flatMap((window) => recordsIn(service, window)));
  const lost = (window: Asked): readonly number[] =>
    recordsIn(stored, window).flatMap(([xid]) => (read.has(xid) ? [] : [xid]));
  const refused = asked.filter((window) => !window.isVerified && lost(window).length > 0);
  if (refused.length > 0) {
    const others = asked.filter((window) => !refused.includes(window));
    return [...refused, ...replace(stored, service, others)];
  }
  for (const window of asked) for (const xid of lost(window)) stored.delete(xid);
  for (const [xid, place] of read) stored.set(xid, place);
  return [];
}

const storedRows = `SELECT uwi, CAST(xid AS VARCHAR), CAST(production_day AS VARCHAR), CAST(oil_rate AS INTEGER)
  FROM daily_production ORDER BY 1, 2`;

const countedRows = `SELECT uwi, CAST(production_day AS VARCHAR) AS day, CAST(xid AS VARCHAR), CAST(changed_at AS VARCHAR),
    changed_run_id, counts FROM daily_production ORDER BY 1, 2, 3`;
const rowsOfDays =
  'SELECT uwi, CAST(production_day AS VARCHAR), CAST(xid AS VARCHAR) FROM production_day ORDER BY 1, 2, 3';

type CountedRow = readonly [uwi: string, day: string, xid: string, changedAt: string, runId: string, counts: boolean];

/** By well and day, the xid of the record that counts, when the run has ended: as docs/production-data.md has it. */
function countingAfter(rows: readonly CountedRow[], before: ReadonlyMap<string, string>, runId: string) {
  const byDay = grouped(rows, ([uwi, day]) => `${uwi} ${day}`);
  return new Map(
    [...byDay].map(([day, records]): [string, string] => {
      const stands = records.find(([, , xid, , changedBy]) => xid === before.get(day) && changedBy !== runId);
      const latest = records.toSorted((left, right) =>
        left[3] === right[3] ? (left[2] < right[2] ? 1 : -1) : left[3] < right[3] ? 1 : -1,
      );
      return [day, (stands ?? latest[0])?.[2] ?? ''];
    }),
  );
}

/** Wells whose last day is not that of their rows. */
const wrongLastDays = `SELECT w.uwi, last_day FROM watermark w
  WHERE last_day IS DISTINCT FROM (SELECT max(production_day) FROM daily_production d WHERE d.uwi = w.uwi)`;

export function describeMovedRecords(open: OpenWarehouse): void {
  describe('any history of records that move', () => {
    it('G1, G2, G4: a well has each xid once, and its windows what was last read, however far records moved', async () => {
      const property = fc.asyncProperty(fc.array(someStep, { minLength: 2, maxLength: 7 }), async (steps) => {
        const { warehouse, dispose } = await open();
        const [service, stored] = [new Map<string, Records>(), new Map<string, Records>()];
        for (const uwi of wells) for (const side of [service, stored]) side.set(uwi, new Map());
        let counting: ReadonlyMap<string, string> = new Map();
        try {
          for (const { changes, asked } of steps) {
            for (const { uwi, xid, place } of changes) {
              if (place === null) service.get(uwi)?.delete(xid);
              else service.get(uwi)?.set(xid, place);
            }
            const windows = asked.flat().map((window, unit) => {
              const rows = recordsIn(service.get(window.uwi) ?? new Map(), window).map(([xid, { day, oilRate }]) =>
                row(xid, dayOf(day), { oilRate }),
              );
              return reading(rows, { ...window, unit, from: dayOf(window.from), to: dayOf(window.to) });
            });
            const runId = await planned(warehouse, windows);
            const shrink = { ...guard, allow: true };
            const { outcomes } = await warehouse.dailyProduction.commit({ runId, windows, shrink, committedAtMs: 0 });
            for (const { counts } of outcomes) {
              expect(balanceOfCounts(dailyProduction, counts)).toMatchObject({ balanced: true });
              expect(counts).toMatchObject({ rowsAdrift: 0 });
            }
            const refused = asked.flatMap((ofWell) => {
              const uwi = ofWell[0]?.uwi ?? '';
              return replace(stored.get(uwi) ?? new Map(), service.get(uwi) ?? new Map(), ofWell);
            });
            expect(outcomes).toHaveLength(windows.length - refused.length);
            const rows = (await ask(warehouse, countedRows)) as readonly CountedRow[];
            counting = countingAfter(rows, counting, runId);
            const counted = rows.filter(([, , , , , counts]) => counts);
            expect(new Map(counted.map(([uwi, day, xid]) => [`${uwi} ${day}`, xid]))).toEqual(counting);
            expect(await ask(warehouse, rowsOfDays)).toEqual(counted.map(([uwi, day, xid]) => [uwi, day, xid]));
          }
          const expected = wells.flatMap((uwi) =>
            [...(stored.get(uwi) ?? [])]
              .toSorted(([left], [right]) => left - right)
              .map(([xid, { day, oilRate }]) => [uwi, xidOf(xid), dayOf(day), oilRate]),
          );
          expect(await ask(warehouse, storedRows)).toEqual(expected);
          expect(await ask(warehouse, wrongLastDays)).toEqual([]);
        } finally {
          await dispose();
        }
      });
      await expectForAllAsync(property, 8);
    });
  });
}
