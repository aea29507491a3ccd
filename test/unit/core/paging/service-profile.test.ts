import { describe, expect, it } from 'vitest';
import { knownPageRows, limitFor, misfitsOf, withLargerPage } from '../../../../src/core/paging/service-profile.ts';
import { profile } from '../../../support/example-profile.ts';

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

describe('the rows that a page is known to hold', () => {
  const seen = { ...profile, maxLimit: 'unknown', overMaxLimit: 'unknown', largestPage: 6 } as const;

  it('are the largest limit, or else the most rows that one page had', () => {
    expect(knownPageRows(profile)).toBe(1_000);
    expect(knownPageRows(seen)).toBe(6);
    expect(knownPageRows({ ...seen, largestPage: 'unknown' })).toBe(0);
  });

  it('grow with a page at least twice as large, where the largest limit is not known', () => {
    expect(withLargerPage(seen, { pageRows: 12 })).toEqual({ ...seen, largestPage: 12 });
    expect(withLargerPage({ ...seen, largestPage: 'unknown' }, { pageRows: 3 })).toMatchObject({ largestPage: 3 });
    for (const found of [{ pageRows: 11 }, {}]) expect(withLargerPage(seen, found)).toBeUndefined();
    expect(withLargerPage({ ...seen, limitHonoured: 'unknown' }, { pageRows: 99 })).toBeUndefined();
    expect(withLargerPage(profile, { pageRows: 5_000 })).toBeUndefined();
  });
});

describe('a misfit', () => {
  const misfits = (found: Partial<Parameters<typeof misfitsOf>[1]>) =>
    misfitsOf(profile, { limitRefused: false, ...found });

  it('is another base, a parameter that is honoured no longer, or a limit that is refused', () => {
    expect(misfits({ pageBase: 0 })).toEqual(['its first page is 0, not 1']);
    expect(misfits({ pagingHonoured: false })).toEqual(['it no longer honours page']);
    expect(misfits({ limitHonoured: false })).toEqual(['it no longer honours limit']);
    expect(misfits({ limitRefused: true })).toEqual(['it refuses a limit that it granted']);
    expect(misfits({ grantedLimit: 400 })).toEqual(['it grants a limit of 400, not 1000']);
    const seen = { ...profile, maxLimit: 'unknown', largestPage: 700, overMaxLimit: 'unknown' } as const;
    expect(misfitsOf(seen, { grantedLimit: 400, limitRefused: false })).toEqual(['it grants a limit of 400, not 700']);
  });

  it('is not what a read did not find out, nor what the profile does not know', () => {
    expect(misfits({ pageBase: 1, pagingHonoured: true })).toEqual([]);
    expect(misfitsOf({ ...profile, pageBase: 'unknown' }, { pageBase: 0, limitRefused: false })).toEqual([]);
    const unsure = { ...profile, maxLimit: 'unknown', largestPage: 'unknown', overMaxLimit: 'unknown' } as const;
    expect(misfitsOf(unsure, { grantedLimit: 400, limitRefused: true })).toEqual([]);
  });
});
