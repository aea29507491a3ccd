import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writePlainRecord } from '../../../../src/core/daily/plain-record.ts';
import { checkRecord, type RecordText, UnreadRecord } from '../../../../src/core/daily/record-check.ts';
import { RowColumnsBuilder } from '../../../../src/core/daily/row-columns.ts';
import { measureFields } from '../../../../src/core/daily/row.ts';
import { dayText, productionCalendar } from '../../../../src/core/time/production-day.ts';
import { rowsOf } from '../../../support/daily-rows.ts';
import { someRecordText } from '../../../support/raw-records.ts';
import { usedBlocks } from '../../../support/used-blocks.ts';

const someZone = fc.constantFrom('UTC', 'Europe/Oslo', 'America/St_Johns', 'Pacific/Apia');
/** Days among those of the records. */
const someLatestDay = fc.option(fc.integer({ min: -25_000, max: 47_000 }), { freq: 1, nil: undefined });
const noText: RecordText = { whole: () => '', digest: () => '', member: () => 'null' };
const [xid, date] = ['0f8fad5b-d9cb-469f-a165-70867728950e', '2024-02-01T00:00:00Z'];
const good = { xid, date };

/** What the quick check makes of a record, written over another row at the same place. */
function byQuickCheck(raw: unknown, timeZone: string, former: unknown, latestDay?: number) {
  const calendar = productionCalendar(timeZone);
  const builder = new RowColumnsBuilder(usedBlocks());
  const place = builder.next;
  if (writePlainRecord(former, calendar, builder.block, place) !== undefined) builder.put(place);
  const instantMs = writePlainRecord(raw, calendar, builder.block, place, latestDay);
  if (instantMs === undefined) return undefined;
  builder.put(place);
  return { instantMs, defaulted: builder.defaultedCount === 1, row: rowsOf(builder.rows())[0] };
}

/** What the full check makes of it; undefined for what the quick check leaves to it. */
function byFullCheck(raw: unknown, timeZone: string, latestDay?: number) {
  const checked = checkRecord(raw, productionCalendar(timeZone), noText, latestDay);
  if (checked.kind === 'quarantined' || checked.extraFields.length > 0) return undefined;
  const { row, defaulted } = checked;
  // The columns hold no -0.
  const measures = row.measures.map((value) => (value === 0 ? 0 : value));
  return { instantMs: row.instantMs, defaulted, row: { ...row, day: dayText(row.day), measures } };
}

describe('the quick check of a record', () => {
  it('G2: accepts exactly the rows without extra fields that the full check finds, with the same values', () => {
    let accepted = 0;
    const property = fc.property(
      someRecordText,
      someRecordText,
      someZone,
      someLatestDay,
      (text, former, timeZone, latestDay) => {
        const raw: unknown = JSON.parse(text);
        const expected = byFullCheck(raw, timeZone, latestDay);
        expect(byQuickCheck(raw, timeZone, JSON.parse(former), latestDay)).toEqual(expected);
        if (expected !== undefined) accepted += 1;
      },
    );
    fc.assert(property, { numRuns: 5_000 });
    expect(accepted).toBeGreaterThan(200);
  });

  it('G8: leaves a text that is too long, and a record that is too large, to the full check', () => {
    const withText = (chars: number) => ({ ...good, downtimeCode: 'x'.repeat(chars) });
    for (const raw of [good, withText(65_536), withText(65_537), new UnreadRecord('too large', xid, date)]) {
      expect(byQuickCheck(raw, 'UTC', good)).toEqual(byFullCheck(raw, 'UTC'));
    }
    expect(byQuickCheck(withText(65_536), 'UTC', good)).toBeDefined();
    expect(byQuickCheck(withText(65_537), 'UTC', good)).toBeUndefined();
  });

  it('reads each field by its own name', () => {
    for (const { name, valueIn } of measureFields) expect(valueIn({ [name]: name })).toBe(name);
  });
});
