import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/core/base/errors.ts';
import { instantOfDateTime, instantOfDay, productionCalendar } from '../../../../src/core/time/production-day.ts';

/** Zones with DST at night, at midnight and of half an hour; with a skipped day; with past offsets in seconds. */
const zones = [
  'UTC',
  'Europe/Oslo',
  'America/Chicago',
  'America/Sao_Paulo',
  'America/Havana',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Monrovia',
  'Asia/Kathmandu',
];
const zone = fc.constantFrom(...zones);
const instant = fc.integer({ min: Date.UTC(1890, 0, 1), max: Date.UTC(2040, 0, 1) });

const formats = new Map(
  zones.map((timeZone) => [timeZone, new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })]),
);

/** The local date by another formatter. */
function dayByIntl(instantMs: number, timeZone: string): string | undefined {
  return formats.get(timeZone)?.format(instantMs);
}

describe('the day of an instant', () => {
  it('the day of an instant is the date on the clocks of the zone', () => {
    fc.assert(
      fc.property(zone, instant, (timeZone, instantMs) => {
        expect(productionCalendar(timeZone).dayOf(instantMs)).toBe(dayByIntl(instantMs, timeZone));
      }),
      { numRuns: 2_000 },
    );
  });

  it('the day of an instant is right in every minute around a change of the offset', () => {
    const changes = [
      '2024-03-31T01:00:00Z',
      '2024-10-27T01:00:00Z',
      '2018-11-04T03:00:00Z',
      '2011-12-30T10:00:00Z',
      '1972-01-07T00:44:30Z',
    ];
    for (const timeZone of zones) {
      for (const change of changes) {
        for (let minute = -1_500; minute < 1_500; minute += 7) {
          const instantMs = Date.parse(change) + minute * 60_000 - 1;
          expect(productionCalendar(timeZone).dayOf(instantMs)).toBe(dayByIntl(instantMs, timeZone));
        }
      }
    }
  });

  it('an instant outside the years 1 to 9999 has no day', () => {
    expect(productionCalendar('UTC').dayOf(Date.parse('0000-12-31T00:00:00Z'))).toBeUndefined();
    expect(productionCalendar('Europe/Oslo').dayOf(Date.parse('9999-12-31T23:30:00Z'))).toBeUndefined();
    expect(productionCalendar('Europe/Oslo').dayOf(Date.parse('0099-06-01T12:00:00Z'))).toBe('0099-06-01');
  });
});

describe('the first instant of a day', () => {
  it('the first instant of a day is on that day, and the millisecond before is not', () => {
    fc.assert(
      fc.property(zone, instant, (timeZone, instantMs) => {
        const { dayOf } = productionCalendar(timeZone);
        const day = dayOf(instantMs) ?? '';
        const first = instantOfDay(day, timeZone) ?? Number.NaN;
        expect(first).toBeLessThanOrEqual(instantMs);
        expect(dayOf(first)).toBe(day);
        expect((dayOf(first - 1) ?? '') < day).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['2024-02-01', 'UTC', '2024-02-01T00:00:00.000Z'],
    ['2024-02-01', 'Europe/Oslo', '2024-01-31T23:00:00.000Z'],
    ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
    ['2024-11-03', 'America/Havana', '2024-11-03T04:00:00.000Z'],
    ['2011-12-31', 'Pacific/Apia', '2011-12-30T10:00:00.000Z'],
  ])('the first instant of %s in %s is %s', (day, timeZone, expected) => {
    expect(new Date(instantOfDay(day, timeZone) ?? Number.NaN).toISOString()).toBe(expected);
  });

  it.each(['2024-02-30', '2023-02-29', '2024-13-01', '2024-2-1', '0000-01-01', 'yesterday', '2024-02-01T00:00:00Z'])(
    '%s is not a day',
    (day) => expect(instantOfDay(day, 'UTC')).toBeUndefined(),
  );

  it('an unknown time zone is refused', () => {
    expect(() => instantOfDay('2024-02-01', 'Mars/Olympus')).toThrow(UsageError);
  });
});

describe('the instant of a date-time', () => {
  it.each([
    ['2024-02-01T06:00:00Z', '2024-02-01T06:00:00.000Z'],
    ['2024-02-01T06:00:00.1239+02:00', '2024-02-01T04:00:00.123Z'],
    ['2024-02-01T06:00:00-03:30', '2024-02-01T09:30:00.000Z'],
    ['2022-09-27T16:28:37+0000', '2022-09-27T16:28:37.000Z'],
    ['2022-09-27T16:28:37+00', '2022-09-27T16:28:37.000Z'],
    ['2022-09-27T16:28:37-0330', '2022-09-27T19:58:37.000Z'],
    ['2024-07-01T06:00', '2024-07-01T04:00:00.000Z'],
    ['2024-03-31T02:30:00', '2024-03-31T01:30:00.000Z'],
    ['2024-10-27T02:30:00', '2024-10-27T00:30:00.000Z'],
  ])('%s read in Europe/Oslo is %s', (text, expected) => {
    const instantMs = instantOfDateTime(text, productionCalendar('Europe/Oslo'));
    expect(new Date(instantMs ?? Number.NaN).toISOString()).toBe(expected);
  });

  it('an instant round-trips through its ISO text in every zone', () => {
    fc.assert(
      fc.property(zone, instant, (timeZone, instantMs) => {
        expect(instantOfDateTime(new Date(instantMs).toISOString(), productionCalendar(timeZone))).toBe(instantMs);
      }),
    );
  });

  it.each([
    '2024-02-01',
    '2024-02-01T06:00Z',
    '2024-02-01T24:00:00Z',
    '2024-02-01T06:60:00Z',
    '2024-02-01T06:00:00+24:00',
    '2024-02-01T06:00:00+2400',
    '2024-02-01T06:00:00+000',
    ' 2024-02-01T06:00:00Z',
  ])('"%s" is not a date-time', (text) => expect(instantOfDateTime(text, productionCalendar('UTC'))).toBeUndefined());
});
