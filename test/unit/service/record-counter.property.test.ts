import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/core/base/secrets.ts';
import { checkRecord, type CheckedRecord } from '../../../src/core/daily/record-check.ts';
import { productionCalendar } from '../../../src/core/time/production-day.ts';
import { isInside } from '../../../src/core/time/window.ts';
import { RecordCounter } from '../../../src/service/record-counter.ts';
import { recordPage, type RecordPage } from '../../../src/service/record-page.ts';
import { rowsOf } from '../../support/daily-rows.ts';
import { usedBlocks } from '../../support/used-blocks.ts';
import { xidOf } from '../../support/warehouse-batches.ts';

const utc = productionCalendar('UTC');
/** The day after the window. */
const latestDay = Date.parse('2024-01-06T00:00:00Z') / 86_400_000;
const window = { fromMs: Date.parse('2024-01-03T00:00:00Z'), toMs: Date.parse('2024-01-06T00:00:00Z') };

/** A record of one of few xids, dated inside the window or outside, right or broken, with an extra field or without. */
const someRecord = fc
  .record({
    xid: fc.oneof(
      { weight: 6, arbitrary: fc.nat(4).map(xidOf) },
      { weight: 1, arbitrary: fc.constantFrom(null, 'odd') },
    ),
    date: fc.constantFrom(
      '2024-01-02',
      '2024-01-03',
      '2024-01-04',
      '2024-01-05',
      '2024-01-06',
      '2024-02-30',
      '2062-01-04',
    ),
    rates: fc.constantFrom(
      { oilRate: 1, gasRate: 2, waterRate: 3, tubingPressure: 4, casingPressure: 5 },
      {
        oilRate: -0,
        gasRate: 2.5,
        waterRate: 3,
        tubingPressure: 4,
        casingPressure: 5,
        choke: 7,
        downtimeCode: 'SHUT_IN',
      },
      { gasRate: 2 },
      { oilRate: null },
    ),
    extra: fc.constantFrom({}, {}, {}, { note: 'x' }, { api14: 1, note: [1] }),
    isUpper: fc.boolean(),
  })
  .map(({ xid, date, rates, extra, isUpper }) => ({
    xid: isUpper ? (xid?.toUpperCase() ?? null) : xid,
    date: `${date}T00:00:00Z`,
    ...rates,
    ...extra,
  }));

function pageOf(records: readonly unknown[]): RecordPage {
  const page = recordPage(JSON.stringify(records));
  if (typeof page === 'string') throw new Error(`the page is ${page}`);
  return page;
}

/** The rule without columns: one place for each key, and the last arrival wins. */
function lastOfEach(records: readonly unknown[]): ReadonlyMap<string, CheckedRecord | 'outside'> {
  const places = new Map<string, CheckedRecord | 'outside'>();
  for (const raw of records) {
    const checked = checkRecord(raw, utc, pageOf([raw]).textOf(0), { latestDay });
    const key = checked.kind === 'row' ? checked.row.xid : (checked.record.xid ?? checked.record.raw);
    const { instantMs } = checked.kind === 'row' ? checked.row : checked;
    places.set(key, instantMs === undefined || isInside(window, instantMs) ? checked : 'outside');
  }
  return places;
}

describe('the counter of a read', () => {
  it('G2: keeps the last arrival of each record in its one place, whatever came before it', () => {
    const property = fc.property(fc.array(fc.array(someRecord, { maxLength: 12 }), { maxLength: 4 }), (pages) => {
      const counter = new RecordCounter(window, utc, new Secrets(), { blocks: usedBlocks(), latestDay });
      for (const records of pages) {
        expect(counter.add(pageOf(records), window, 0).keys).toHaveLength(records.length);
      }
      const { rows, quarantined, counts, notices } = counter.reading(1, []);
      const places = [
        ...lastOfEach(pages.flat().map((record) => JSON.parse(JSON.stringify(record)) as unknown)).values(),
      ];
      const expected = places.flatMap((place) => (place !== 'outside' && place.kind === 'row' ? [place] : []));
      const shown = expected.map(({ row }) => [row.xid, row.instantMs, row.measures, row.extras]);
      const byXid = (left: readonly unknown[], right: readonly unknown[]) =>
        String(left[0]).localeCompare(String(right[0]));
      const found = rowsOf(rows).map((row) => [row.xid, row.instantMs, row.measures, row.extras]);
      expect(found.toSorted(byXid)).toEqual(shown.toSorted(byXid));
      expect(quarantined).toEqual(
        places.flatMap((place) => (place !== 'outside' && place.kind === 'quarantined' ? [place.record] : [])),
      );
      const read = pages.flat().length;
      expect(counts).toMatchObject({
        read,
        repeated: read - places.length,
        outsideWindow: places.filter((place) => place === 'outside').length,
        defaulted: expected.filter(({ defaulted }) => defaulted).length,
      });
      const extraFields = new Set(expected.flatMap((row) => row.extraFields));
      expect(notices).toEqual(
        extraFields.size === 0
          ? []
          : [`extra fields kept in the column extras: ${[...extraFields].toSorted().join(', ')}`],
      );
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});
