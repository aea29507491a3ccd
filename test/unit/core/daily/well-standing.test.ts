import { describe, expect, test } from 'vitest';
import { dayStretches, type KnownDays } from '../../../../src/core/daily/coverage.ts';
import { type Standing, standingsOf, type WellFacts } from '../../../../src/core/daily/well-standing.ts';
import { dayNumber } from '../../../../src/core/time/production-day.ts';

const today = dayNumber('2026-11-27');
const first = dayNumber('2026-01-01');
const atMs = Date.parse('2026-11-27T13:29:00Z');
const nothing: KnownDays = { read: [], present: [], quarantined: [], held: [], restated: [], askedTo: undefined };
const whole = { fromDay: first, toDay: today };

/** Read to yesterday, with a row of every day. */
function facts(changes: Partial<WellFacts> = {}, known: Partial<KnownDays> = {}): WellFacts {
  return {
    stretches: dayStretches({ ...nothing, read: [whole], present: [whole], ...known }, today),
    unknownSinceMs: undefined,
    holds: [],
    quarantined: [],
    quarantinedRecords: 0,
    quarantinedDays: known.quarantined ?? [],
    accepted: [],
    acceptedRecords: 0,
    lastRead: { runId: 'R', atMs, state: 'done', fault: undefined },
    askedAtMs: atMs,
    failure: undefined,
    errors: [],
    readOnlyFrom: undefined,
    isPlugged: false,
    warnAfterDays: 3,
    wasRead: true,
    ...changes,
  };
}

function text({ sentence }: Standing): string {
  return sentence
    .map((part) => {
      if (typeof part === 'string') return part;
      return 'atMs' in part ? new Date(part.atMs).toISOString().slice(0, 16) : part.runId;
    })
    .join('');
}

const texts = (given: WellFacts): readonly string[] => standingsOf(given).map(text);
const kinds = (given: WellFacts): readonly string[] => standingsOf(given).map(({ kind }) => kind);
const silentSince = (day: string): Partial<KnownDays> => ({ present: [{ fromDay: first, toDay: dayNumber(day) }] });
const hold = {
  rows: 50,
  firstDay: dayNumber('2026-10-01'),
  lastDay: dayNumber('2026-11-19'),
  sinceMs: atMs,
  runId: 'H',
};
const failedRead = { runId: 'F', atMs, state: 'failed', fault: 'the service shows a sign-in page.' } as const;
const records = (...days: (string | null)[]) => ({
  quarantined: days.map((day) => ({ day, reason: 'tubingPressure is null', runId: 'R' })),
  quarantinedRecords: days.length,
});

describe('what is to be known of a well', () => {
  test('read to yesterday, nothing is missing', () => {
    expect(texts(facts())).toEqual(['Read to 2026-11-26, nothing is missing.']);
  });

  test('silent, with when it was asked last, and days to ask again', () => {
    const [silent] = standingsOf(facts({}, silentSince('2026-10-28')));
    expect(silent).toMatchObject({
      kind: 'silent',
      severity: 'warning',
      days: { fromDay: dayNumber('2026-10-28'), toDay: today },
    });
    expect(text(silent as Standing)).toBe(
      'Silent since 2026-10-28, 30 days, asked last 2026-11-27T13:29: the service has nothing.',
    );
  });

  test('silence shorter than the configuration warns of is no warning', () => {
    expect(standingsOf(facts({}, silentSince('2026-11-25')))).toMatchObject([{ kind: 'silent', severity: 'info' }]);
    expect(standingsOf(facts({}, silentSince('2026-11-24')))).toMatchObject([{ kind: 'silent', severity: 'warning' }]);
  });

  test('silent, of which a part was not read', () => {
    const known = { ...silentSince('2026-11-20'), read: [{ fromDay: first, toDay: dayNumber('2026-11-24') }] };
    expect(texts(facts({}, known))).toEqual([
      'Silent since 2026-11-20, 7 days, asked last 2026-11-27T13:29: 3 days of them not read yet.',
    ]);
  });

  test('not read since a day is not silent', () => {
    const known = { ...silentSince('2026-11-20'), read: [{ fromDay: first, toDay: dayNumber('2026-11-20') }] };
    expect(texts(facts({}, known))).toEqual(['Not read since 2026-11-20: 7 days, asked last 2026-11-27T13:29.']);
  });

  test('a plugged well is not silent', () => {
    expect(texts(facts({ isPlugged: true }, silentSince('2026-10-28')))).toEqual([
      'Plugged: no day is due after 2026-10-27.',
    ]);
  });

  test('held rows, by the run that holds them', () => {
    const [held] = standingsOf(
      facts({ holds: [hold] }, { held: [{ fromDay: hold.firstDay, toDay: hold.lastDay + 1 }] }),
    );
    expect(held).toMatchObject({ kind: 'held', severity: 'warning', runId: 'H' });
    expect(text(held as Standing)).toBe(
      'Held: 50 rows of 2026-10-01 to 2026-11-19 would go, since the service no longer has them; the first of them by run H, since 2026-11-27T13:29.',
    );
  });

  test('holds of one run are one, of two runs two', () => {
    const holds = [hold, { ...hold, rows: 2 }, { ...hold, runId: 'I' }];
    expect(standingsOf(facts({ holds })).map(({ runId }) => runId)).toEqual(['H', 'I']);
    expect(texts(facts({ holds }))[0]).toContain('Held: 52 rows');
  });

  test('quarantined days with their reasons, the commonest first', () => {
    const days = { fromDay: dayNumber('2026-11-24'), toDay: today };
    const given = facts(records('2026-11-24', '2026-11-25', '2026-11-26'), {
      ...silentSince('2026-11-24'),
      quarantined: [days],
    });
    expect(standingsOf(given)).toMatchObject([{ kind: 'quarantined', severity: 'warning', days }]);
    expect(texts(given)).toEqual(['3 days quarantined (2026-11-24 to 2026-11-26): tubingPressure is null.']);
    const two = { ...given, quarantined: [{ day: null, reason: 'date is no date', runId: 'R' }, ...given.quarantined] };
    expect(texts(two)[0]).toContain('tubingPressure is null and date is no date.');
  });

  test('quarantined days apart: the latest are read again, not all between them', () => {
    const apart = [dayNumber('2014-01-03'), dayNumber('2025-06-01')].map((day) => ({ fromDay: day, toDay: day + 1 }));
    const [standing] = standingsOf(facts(records('2025-06-01', '2014-01-03'), { quarantined: apart }));
    expect(standing).toMatchObject({ kind: 'quarantined', days: apart[1] });
    // No row of the first one.
    expect(text(standing as Standing)).toBe('2 days quarantined (the latest 2025-06-01): tubingPressure is null.');
  });

  test('a record without a day explains a silence only where the last read brought it', () => {
    const silent = silentSince('2026-10-28');
    expect(kinds(facts(records(null), silent))).toEqual(['quarantined', 'silent']);
    const lastRead = { runId: 'LATER', atMs, state: 'done', fault: undefined } as const;
    expect(kinds(facts({ ...records(null), lastRead }, silent))).toEqual(['silent', 'quarantined']);
  });

  test('silent, of which no verified read says so yet', () => {
    const known = {
      ...silentSince('2026-11-24'),
      read: [{ fromDay: first, toDay: dayNumber('2026-11-24') }],
      askedTo: today,
    };
    expect(texts(facts({}, known))).toEqual([
      'Silent since 2026-11-24, 3 days, asked last 2026-11-27T13:29: the service has nothing, not verified yet for 3 days.',
    ]);
  });

  test('unknown to the service', () => {
    expect(texts(facts({ unknownSinceMs: atMs }))).toEqual([
      'Unknown to the service since 2026-11-27T13:29: it answers 404. The rows stay.',
    ]);
  });

  test('the last read failed', () => {
    expect(texts(facts({ lastRead: failedRead }))).toEqual([
      'The last read failed 2026-11-27T13:29: the service shows a sign-in page.',
    ]);
  });

  test('the last answer decides the words of a well that was unknown before', () => {
    const given = facts({ unknownSinceMs: atMs, lastRead: { ...failedRead, fault: 'it answered 400' } });
    expect(texts(given)).toEqual([
      'The last read failed 2026-11-27T13:29: it answered 400.',
      'Unknown to the service since 2026-11-27T13:29: it answered 404 then. The rows stay.',
    ]);
  });

  test('silence is said by the last complete read, not by one that failed', () => {
    const lastRead = { ...failedRead, atMs: atMs + 3_600_000 };
    expect(texts(facts({ lastRead }, silentSince('2026-10-28')))[1]).toContain('asked last 2026-11-27T13:29: ');
    expect(texts(facts({ lastRead, askedAtMs: undefined }, silentSince('2026-10-28')))[1]).toBe(
      'Silent since 2026-10-28, 30 days: the service has nothing.',
    );
  });

  test('what failed stands before anything is complete, with its days, until they were read', () => {
    const days = { fromDay: dayNumber('2026-09-01'), toDay: dayNumber('2026-10-01') };
    const failure = { runId: 'F', atMs, fault: 'it answered 500', days };
    expect(standingsOf(facts({ failure }))).toMatchObject([{ kind: 'failed', severity: 'error', runId: 'F', days }]);
    expect(texts(facts({ failure }))).toEqual([
      'A read, of 2026-09-01 to 2026-09-30, failed 2026-11-27T13:29: it answered 500. No later read has covered what it was to read.',
    ]);
    expect(texts(facts({ failure, lastRead: failedRead }))).toEqual([
      'The last read, of 2026-09-01 to 2026-09-30, failed 2026-11-27T13:29: the service shows a sign-in page.',
    ]);
    expect(standingsOf(facts({ errors: ['a rate below 0.'] }))).toMatchObject([{ kind: 'error', severity: 'error' }]);
  });

  test('a well of which backfills alone were read is not complete', () => {
    const given = facts({ readOnlyFrom: dayNumber('2026-11-01') });
    expect(standingsOf(given)).toMatchObject([{ kind: 'partial', severity: 'warning' }]);
    expect(texts(given)[0]).toMatch(/^Read from 2026-11-01 on alone: no export has read its history/);
  });

  test('an accepted record needs nobody, and says by whom and why', () => {
    const by = { by: 'operate', atMs, because: 'agreed with the owners' };
    const given = facts({ acceptedRecords: 1, accepted: [{ day: '2026-11-20', ...by }] });
    expect(standingsOf(given)).toMatchObject([{ kind: 'accepted', severity: 'info' }]);
    const words = 'accepted by operate, 2026-11-27T13:29: agreed with the owners.';
    expect(texts(given)).toEqual([`1 quarantined record of 2026-11-20 was ${words}`]);
    expect(texts({ ...given, acceptedRecords: 2 })).toEqual([
      `2 quarantined records, the latest of 2026-11-20, were ${words}`,
    ]);
  });

  test('the earlier row of a quarantined day stays and counts', () => {
    const quarantined = [{ fromDay: dayNumber('2026-11-20'), toDay: dayNumber('2026-11-21') }];
    expect(texts(facts(records('2026-11-20'), { quarantined }))).toEqual([
      '1 day quarantined (2026-11-20): tubingPressure is null. The earlier row of 1 quarantined day stays and counts.',
    ]);
  });

  test('gaps before, with the latest', () => {
    const present = [
      { fromDay: first, toDay: dayNumber('2026-02-01') },
      { fromDay: dayNumber('2026-02-03'), toDay: dayNumber('2026-05-08') },
      { fromDay: dayNumber('2026-05-13'), toDay: today },
    ];
    expect(texts(facts({}, { present }))).toEqual([
      'Read to 2026-11-26. 7 earlier days have no row, in 2 gaps; the latest is 2026-05-08 to 2026-05-12.',
    ]);
  });

  test('no read has ended, and read without a day', () => {
    expect(texts(facts({ wasRead: false, lastRead: undefined }, { present: [], read: [] }))).toEqual([
      'No read of it has come to its end yet.',
    ]);
    expect(texts(facts({}, { present: [] }))).toEqual([
      'The service has never had a day of it, asked last 2026-11-27T13:29.',
    ]);
  });
});

describe('the order', () => {
  const present = [
    { fromDay: first, toDay: dayNumber('2026-05-08') },
    { fromDay: dayNumber('2026-05-13'), toDay: dayNumber('2026-10-28') },
  ];

  test('what explains that there is no data of yesterday comes first', () => {
    const given = facts(
      { unknownSinceMs: atMs, lastRead: failedRead, holds: [hold], ...records('2026-11-20') },
      { present, quarantined: [{ fromDay: dayNumber('2026-11-20'), toDay: dayNumber('2026-11-21') }] },
    );
    expect(kinds(given)).toEqual(['failed', 'unknown', 'held', 'quarantined', 'silent', 'gaps']);
  });

  test('records of older days do not explain a silence, and follow it', () => {
    const given = facts(records('2026-03-01'), {
      present,
      quarantined: [{ fromDay: dayNumber('2026-03-01'), toDay: dayNumber('2026-03-02') }],
    });
    expect(kinds(given)).toEqual(['silent', 'quarantined', 'gaps']);
  });
});
