import type { ServiceProfile } from '../../src/core/paging/service-profile.ts';

/** A service profile with a value in every field. */
export const profile: ServiceProfile = {
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
  largestPage: 1_000,
  overMaxLimit: 'clamped',
  startBound: 'inclusive',
  endBound: 'unknown',
  order: 'ascending',
  orderStable: true,
  evidence: [{ finding: 'first page', value: '1', evidence: 'page 1 begins with the first row; page 0: refused' }],
};
