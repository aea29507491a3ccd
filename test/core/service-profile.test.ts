import { describe, expect, it } from 'vitest';
import {
  decodeProfile,
  encodeProfile,
  limitFor,
  misfitsOf,
  type ServiceProfile,
} from '../../src/core/service-profile.ts';

const profile: ServiceProfile = {
  baseUrl: 'https://pds.example.com/v1',
  probedAtMs: 1_700_000_000_000,
  uwi: '15/9-F-1 C',
  pageBase: 1,
  belowFirst: 'refused',
  pastLast: 'empty',
  pagingHonoured: true,
  limitHonoured: true,
  defaultLimit: 100,
  maxLimit: 1_000,
  overMaxLimit: 'clamped',
  startBound: 'inclusive',
  endBound: 'unknown',
  order: 'ascending',
  orderStable: true,
  evidence: [{ finding: 'first page', value: '1', evidence: 'page 1 begins with the first row; page 0: refused' }],
};

/** Frozen: warehouses hold it. Another form takes another version. */
const kept =
  '{"version":1,"baseUrl":"https://pds.example.com/v1","probedAtMs":1700000000000,"uwi":"15/9-F-1 C","pageBase":1,' +
  '"belowFirst":"refused","pastLast":"empty","pagingHonoured":true,"limitHonoured":true,"defaultLimit":100,' +
  '"maxLimit":1000,"overMaxLimit":"clamped","startBound":"inclusive","endBound":"unknown","order":"ascending",' +
  '"orderStable":true,"evidence":[{"finding":"first page","value":"1",' +
  '"evidence":"page 1 begins with the first row; page 0: refused"}]}';

describe('the kept form of a profile', () => {
  it('is these very bytes', () => expect(encodeProfile(profile)).toBe(kept));

  it('is read from these very bytes', () => expect(decodeProfile(kept)).toEqual(profile));

  it.each([
    ['another version', kept.replace('"version":1', '"version":2')],
    ['a member less', kept.replace('"pageBase":1,', '')],
    ['a value that none has', kept.replace('"pageBase":1', '"pageBase":2')],
    ['evidence of another shape', kept.replace('"value":"1"', '"value":1')],
    ['no JSON', kept.slice(1)],
    ['no profile', '[]'],
  ])('is no profile with %s', (_name, text) => expect(decodeProfile(text)).toBeUndefined());
});

describe('the limit to ask for', () => {
  it('is no more than the service is known to grant', () => {
    expect(limitFor(profile, 5_000)).toBe(1_000);
    expect(limitFor(profile, 500)).toBe(500);
  });

  it('is what is wanted where the largest is not known', () => {
    expect(limitFor({ ...profile, maxLimit: 'unknown', overMaxLimit: 'unknown' }, 5_000)).toBe(5_000);
    expect(limitFor({ ...profile, maxLimit: 10_000, overMaxLimit: 'unknown' }, 50_000)).toBe(50_000);
    expect(limitFor(undefined, 5_000)).toBe(5_000);
  });
});

describe('a misfit', () => {
  const misfits = (found: Partial<Parameters<typeof misfitsOf>[1]>) =>
    misfitsOf(profile, { limitRefused: false, ...found });

  it('is another base, a parameter that is heeded no longer, or a limit that is refused', () => {
    expect(misfits({ pageBase: 0 })).toEqual(['its first page is 0, not 1']);
    expect(misfits({ pagingHonoured: false })).toEqual(['it does not heed page as it did']);
    expect(misfits({ limitHonoured: false })).toEqual(['it does not heed limit as it did']);
    expect(misfits({ limitRefused: true })).toEqual(['it refuses a limit that it granted']);
    expect(misfits({ grantedLimit: 400 })).toEqual(['it grants a limit of 400, not 1000']);
  });

  it('is not what a read did not find out, nor what the profile does not know', () => {
    expect(misfits({ pageBase: 1, pagingHonoured: true })).toEqual([]);
    expect(misfitsOf({ ...profile, pageBase: 'unknown' }, { pageBase: 0, limitRefused: false })).toEqual([]);
    const unsure = { ...profile, overMaxLimit: 'unknown' } as const;
    expect(misfitsOf(unsure, { grantedLimit: 400, limitRefused: true })).toEqual([]);
  });
});
