/** Ticks of crons, over changes of the clocks, and against the parser's own in a zone without any. */
import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCron } from '../../../../config/schedules.ts';
import { dueTick, type Ticks, ticksOf } from '../../../../src/core/time/schedule-ticks.ts';
import { productionCalendar } from '../../../../src/core/time/production-day.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function ticks(cron: string, timeZone: string): Ticks {
  const fields = readCron(cron);
  if ('fault' in fields) throw new Error(fields.fault);
  return ticksOf(fields, productionCalendar(timeZone));
}

/** The ticks in [from, to), found one after another. */
function between(cron: string, timeZone: string, from: string, to: string): readonly string[] {
  const of = ticks(cron, timeZone);
  const found: string[] = [];
  for (let at = of.next(Date.parse(from) - 1); at !== undefined && at < Date.parse(to); at = of.next(at)) {
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

describe('a cron over a change of the clocks', () => {
  const spring = ['2027-03-27T12:00Z', '2027-03-29T12:00Z'] as const;
  const autumn = ['2027-10-30T12:00Z', '2027-11-01T12:00Z'] as const;

  test('daily at 02:30, which one day skips and another has twice, is due once each day', () => {
    expect(between('30 2 * * *', 'Europe/Oslo', ...spring)).toEqual(['2027-03-28T01:30', '2027-03-29T00:30']);
    expect(between('30 2 * * *', 'Europe/Oslo', ...autumn)).toEqual(['2027-10-31T00:30', '2027-11-01T01:30']);
  });

  test('twice in the hour that is skipped is due twice', () => {
    expect(between('*/30 2 * * *', 'Europe/Oslo', ...spring)).toEqual([
      '2027-03-28T01:00',
      '2027-03-28T01:30',
      '2027-03-29T00:00',
      '2027-03-29T00:30',
    ]);
  });

  test('at a time that is skipped and at the one that it becomes is due once', () => {
    expect(between('0 2,3 * * *', 'Europe/Oslo', '2027-03-28T00:00Z', '2027-03-28T12:00Z')).toEqual([
      '2027-03-28T01:00',
    ]);
  });

  test.each([
    ['Europe/Oslo', '2027-03-28', '2027-10-31'],
    ['America/New_York', '2027-03-14', '2027-11-07'],
    ['Australia/Sydney', '2027-10-03', '2027-04-04'],
    ['America/Santiago', '2027-09-05', '2027-04-03'],
    ['Asia/Beirut', '2027-03-28', '2027-10-30'],
  ])('every hour in %s is due 23 times on %s and 25 times on %s', (timeZone, short, long) => {
    const calendar = productionCalendar(timeZone);
    const dayOf = (day: string, plusDays = 0): string =>
      new Date(calendar.instantOfLocal(Date.parse(`${day}T00:00:00Z`) + plusDays * dayMs)).toISOString();
    expect(between('0 * * * *', timeZone, dayOf(short), dayOf(short, 1))).toHaveLength(23);
    expect(between('0 * * * *', timeZone, dayOf(long), dayOf(long, 1))).toHaveLength(25);
  });

  test.each(['America/Santiago', 'Africa/Cairo', 'Asia/Beirut', 'America/Havana', 'Europe/Oslo', 'UTC'])(
    'daily at 00:15 in %s is due on every day of two years, once, whichever day changes at midnight',
    (timeZone) => {
      const calendar = productionCalendar(timeZone);
      const found = between('15 0 * * *', timeZone, '2026-06-01T12:00Z', '2028-06-01T12:00Z');
      const days = found.map((tick) => calendar.dayOf(Date.parse(`${tick}Z`)));
      expect(new Set(days).size).toBe(days.length);
      expect(days).toHaveLength(731);
    },
  );

  const zones = ['Europe/Oslo', 'America/New_York', 'America/Santiago', 'Africa/Cairo', 'Australia/Lord_Howe', 'UTC'];
  const instants = fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2030-01-01') });

  test('is due at the same instants whoever asks when: no restart loses a tick or adds one', () => {
    const crons = ['30 2 * * *', '*/30 2 * * *', '15 0 * * *', '0 * * * *', '*/20 * * * *', '0 0,1,2,3 * * 0'];
    expectForAll(
      fc.property(
        fc.constantFrom(...crons),
        fc.constantFrom(...zones),
        instants,
        fc.nat(2 * dayMs),
        (cron, timeZone, from, ahead) => {
          const of = ticks(cron, timeZone);
          const next = of.next(from);
          if (next === undefined) throw new Error('no tick');
          expect(next).toBeGreaterThan(from);
          // Asked again on the way, it is the same one, and it is the last one when it has come.
          const later = from + (ahead % (next - from));
          expect(of.next(later)).toBe(next);
          expect(of.latest(from, next)).toBe(next);
          expect(of.latest(from, next - 1)).toBeUndefined();
        },
      ),
      15,
    );
  });

  test('by named hours is due as often on each day as it names times, whatever the clocks do', () => {
    expectForAll(
      fc.property(
        fc.uniqueArray(fc.nat(23), { minLength: 1, maxLength: 3 }),
        fc.nat(59),
        fc.constantFrom(...zones),
        fc.integer({ min: 20_454, max: 21_915 }),
        (hours, minute, timeZone, day) => {
          const calendar = productionCalendar(timeZone);
          const found = between(
            `${minute} ${hours.join(',')} * * *`,
            timeZone,
            new Date(calendar.instantOfLocal(day * dayMs)).toISOString(),
            new Date(calendar.instantOfLocal((day + 1) * dayMs)).toISOString(),
          );
          // Two that are an hour apart may become one, where the first of them is skipped.
          expect(found.length).toBeLessThanOrEqual(hours.length);
          expect(found.length).toBeGreaterThanOrEqual(Math.max(1, hours.length - 1));
        },
      ),
      15,
    );
  });

  test('is due in UTC when the parser says so', () => {
    const value = (max: number, min = 0) => fc.integer({ min, max });
    const field = (max: number, min = 0): fc.Arbitrary<string> =>
      fc.oneof(
        fc.constant('*'),
        fc.uniqueArray(value(max, min), { minLength: 1, maxLength: 3 }).map((each) => each.join(',')),
        fc.tuple(value(max, min), value(max, min)).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
        value(Math.min(max, 20), 1).map((step) => `*/${step}`),
      );
    const crons = fc.tuple(field(59), field(23), field(28, 1), field(12, 1), field(6)).map((each) => each.join(' '));
    expectForAll(
      fc.property(crons, instants, (cron, from) => {
        const expected = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(from) })
          .next()
          .getTime();
        expect(ticks(cron, 'UTC').next(from)).toBe(expected);
      }),
      15,
    );
  });
});

describe('a cron', () => {
  test.each([
    '',
    ' ',
    '* * * *',
    '* * * * * *',
    '@daily',
    'L * * * *',
    '0 0 L * *',
    '0 0 * * 1#2',
    'H 2 * * *',
    '0 0 ? * *',
    '0 0 31 2 *',
    '60 * * * *',
    '0 0 * foo *',
  ])('of the text %j is refused', (text) =>
    expect(readCron(text)).toMatchObject({ fault: expect.stringMatching(/^(?:must|is no cron)/) }),
  );

  test('of a 29 February is due in the next leap year', () => {
    expect(between('0 12 29 2 *', 'UTC', '2097-01-01T00:00Z', '2105-01-01T00:00Z')).toEqual(['2104-02-29T12:00']);
  });
});

describe('a tick that nobody took', () => {
  const of = ticks('0 2 * * *', 'UTC');
  const at = (text: string): number => Date.parse(`2027-05-${text}:00Z`);

  test('is run late where the schedule catches up, and only the last of several', () => {
    const late = { sinceMs: at('01T02:00'), nowMs: at('05T01:00') };
    expect(dueTick(of, { ...late, catchUp: 'latest' })).toEqual({ dueMs: at('04T02:00'), isMissed: false });
    expect(dueTick(of, { ...late, catchUp: 'none' })).toEqual({ dueMs: at('04T02:00'), isMissed: true });
  });

  test('in time is no missed one, and none is due twice', () => {
    const now = { nowMs: at('05T02:03'), catchUp: 'none' } as const;
    expect(dueTick(of, { ...now, sinceMs: at('04T02:00') })).toEqual({ dueMs: at('05T02:00'), isMissed: false });
    expect(dueTick(of, { ...now, sinceMs: at('05T02:00') })).toBeUndefined();
  });
});
