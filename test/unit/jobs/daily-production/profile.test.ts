import { describe, expect, it } from 'vitest';
import { decodeProfile, encodeProfile } from '../../../../jobs/daily-production/profile.ts';
import { profile } from '../../../support/example-profile.ts';

/** Frozen: warehouses store this form. Another form requires another version. */
const kept =
  '{"version":2,"baseUrl":"https://pds.example.com/v1","probedAtMs":1700000000000,"uwi":"15/9-F-1 C","pageBase":1,' +
  '"belowFirst":"refused","pastLast":"empty","pagingHonoured":true,"limitHonoured":true,"defaultLimit":100,' +
  '"maxLimit":1000,"largestPage":1000,"overMaxLimit":"clamped","startBound":"inclusive","endBound":"unknown","order":"ascending",' +
  '"orderStable":true,"evidence":[{"finding":"first page","value":"1",' +
  '"evidence":"page 1 begins with the first row; page 0: refused"}]}';

describe('the kept form of a profile', () => {
  it('is these very bytes', () => expect(encodeProfile(profile)).toBe(kept));

  it('is read from these very bytes', () => expect(decodeProfile(kept)).toEqual(profile));

  it.each([
    ['another version', kept.replace('"version":2', '"version":1')],
    ['a member less', kept.replace('"pageBase":1,', '')],
    ['a value that none has', kept.replace('"pageBase":1', '"pageBase":2')],
    ['a limit that is no count', kept.replace('"maxLimit":1000', '"maxLimit":0')],
    ['evidence of another shape', kept.replace('"value":"1"', '"value":1')],
    ['no JSON', kept.slice(1)],
    ['no profile', '[]'],
  ])('is no profile with %s', (_name, text) => expect(decodeProfile(text)).toBeUndefined());
});
