import { expect, test } from 'vitest';
import { causeOfReason, checkRecord } from '../../../../src/core/daily/record-check.ts';
import { dayNumber, productionCalendar } from '../../../../src/core/time/production-day.ts';

const good = {
  xid: '0f8fad5b-d9cb-469f-a165-70867728950e',
  date: '2024-02-01T00:00:00Z',
  oilRate: 1,
  gasRate: 2,
  waterRate: 3,
  tubingPressure: 4,
  casingPressure: 5,
};

function causeOf(change: Readonly<Record<string, unknown>>): string {
  const raw = { ...good, ...change };
  const text = { whole: (most: number) => JSON.stringify(raw).slice(0, most), digest: () => 'abc', member: String };
  const checked = checkRecord(raw, productionCalendar('UTC'), text, { latestDay: dayNumber('2024-03-01') ?? 0 });
  if (checked.kind !== 'quarantined') throw new Error('the record is right');
  return causeOfReason(checked.record.reason);
}

test.each([
  ['texts in the place of a number', 'oilRate', ['12 x', '', '7, not a number', 'a; b "c"', 'x'.repeat(99), [1, 'y']]],
  ['ids that are none', 'xid', ['a', 7, 'b, not a uuid']],
  ['dates that are none', 'date', ['yesterday', '2024-13-01T00:00:00Z', 20_240_201]],
  ['days to come', 'date', ['2025-01-01T00:00:00Z', '2026-02-03T00:00:00Z']],
  ['texts that are too long', 'status', ['x'.repeat(70_000), 'y'.repeat(80_000)]],
  ['names that no warehouse holds', 'a\0', [1]],
])('%s are one cause', (_what, field, values) => {
  expect(new Set(values.map((value) => causeOf({ [field]: value })))).toHaveProperty('size', 1);
});

test('a cause names its fields and faults, and tells null from another value', () => {
  expect(causeOf({ oilRate: '12 x' })).toBe('oilRate is not a number');
  expect(causeOf({ oilRate: null })).toBe('oilRate is null, not a number');
  expect(causeOf({ gasRate: 'a', xid: 'b' })).toBe('xid is not a uuid; gasRate is not a number');
  expect(causeOf({ date: '2025-01-01T00:00:00Z' })).toBe('date is dated in the future');
});
