import { describe, expect, test } from 'vitest';
import { endOfToken, fewDaysLeft, isDay, isExpired } from '../../../../src/core/run/token-expiry.ts';

const at = (text: string): number => Date.parse(text);

describe('the last day of a token', () => {
  test.each([
    ['2027-01-31', true],
    ['2028-02-29', true],
    ['2027-02-29', false],
    ['2027-13-01', false],
    ['2027-1-31', false],
    ['2027-01-31T00:00:00Z', false],
    ['+02027-01-31', false],
    ['tomorrow', false],
    ['', false],
  ])('%j: a day %s', (text, isOne) => {
    expect(isDay(text)).toBe(isOne);
  });

  test.each([
    ['2027-01-31T00:00:00.000Z', false],
    ['2027-01-31T23:59:59.999Z', false],
    ['2027-02-01T00:00:00.000Z', true],
    ['2028-01-01T00:00:00.000Z', true],
  ])('at %s a token until 2027-01-31 has expired: %s', (now, hasExpired) => {
    expect(isExpired({ expires: '2027-01-31' }, at(now))).toBe(hasExpired);
    expect(isExpired({}, at(now))).toBe(false);
    expect(endOfToken({})).toBe(Infinity);
  });

  test.each([
    ['2027-01-17T12:00:00Z', undefined],
    ['2027-01-18T00:00:00Z', 14],
    ['2027-01-30T23:00:00Z', 2],
    ['2027-01-31T00:00:00Z', 1],
    ['2027-01-31T23:59:59Z', 1],
    ['2027-02-01T00:00:00Z', 0],
    ['2029-01-01T00:00:00Z', 0],
  ])('at %s it has %j days left, of those that are told', (now, days) => {
    expect(fewDaysLeft({ expires: '2027-01-31' }, at(now))).toBe(days);
    expect(fewDaysLeft({}, at(now))).toBeUndefined();
  });
});
