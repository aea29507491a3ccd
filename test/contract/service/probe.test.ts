import { describe, expect, it } from 'vitest';
import { mostProbeRequests } from '../../../src/core/paging/probe.ts';
import type { ServiceProfile } from '../../../src/core/paging/service-profile.ts';
import { probeService } from '../../../src/service/build-profile.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer, type TestingServerSetup } from '../../../src/testing-server/testing-server.ts';
import { rejectionOf, serviceAt } from '../../support/service-under-test.ts';
import { januaryRows, UWI } from '../../support/testing-server-requests.ts';

/** The profile of a testing server with rows for that many days. */
async function probed(setup: TestingServerSetup, days = 40): Promise<ServiceProfile> {
  const data = givenDaily(januaryRows(days));
  await using server = await startTestingServer({ data, defaultLimit: 10, maxLimit: 20, ...setup });
  await using client = serviceAt(server.url);
  const profile = await probeService(client.service, { uwi: UWI, timeZone: 'UTC' }, { now: () => 7 });
  expect(server.state.requests().total).toBeLessThanOrEqual(mostProbeRequests);
  return profile;
}

const wellBehaved = {
  uwi: UWI,
  probedAtMs: 7,
  pageBase: 1,
  belowFirst: 'refused',
  pastLast: 'empty',
  pagingHonoured: true,
  limitHonoured: true,
  defaultLimit: 10,
  maxLimit: 20,
  overMaxLimit: 'clamped',
  startBound: 'inclusive',
  endBound: 'inclusive',
  order: 'ascending',
  orderStable: true,
};

describe('a probe', () => {
  it('a probe finds a well-behaved service, with the evidence of each finding', async () => {
    const profile = await probed({});
    expect(profile).toMatchObject(wellBehaved);
    expect(profile.evidence.map(({ finding, value, evidence }) => `${finding}: ${value} (${evidence})`)).toEqual([
      'first page: 1 (page 1 begins with the first row; page 0: refused)',
      'below the first page: refused (page 0: refused)',
      'past the last page: empty (page 1000000: empty)',
      'page is honoured: yes (page 0: refused)',
      'limit is honoured: yes (2 rows came where 2 were requested, and more without a limit)',
      'rows without a limit: 10 (10 rows came without a limit, and there are more)',
      'largest limit: 20 (20 rows came where 10000 were requested, and there are more)',
      'most rows on a page: 20 (20 rows came where 10000 were requested)',
      'a larger limit is: clamped (20 rows came where 10000 were requested, and there are more)',
      'startDate is: inclusive (the row dated exactly at the start of the range came)',
      'endDate is: inclusive (the row dated exactly at the end of the range came)',
      'order by date: ascending (no date is before the one above it among 20 rows)',
      'order stays the same: yes (10 rows came twice, in the same order)',
    ]);
  });

  it.each<readonly [TestingServerSetup, Partial<ServiceProfile>]>([
    [{ pageBase: 0 }, { pageBase: 0, belowFirst: 'refused' }],
    [
      { pageBase: 0, belowBase: 'first-page', pastEnd: 'last-page' },
      { pageBase: 0, belowFirst: 'first-page', pastLast: 'last-page' },
    ],
    [
      { belowBase: 'not-found', pastEnd: 'not-found' },
      { belowFirst: 'not-found', pastLast: 'not-found' },
    ],
    [{ belowBase: 'empty' }, { belowFirst: 'empty' }],
    [
      { belowBase: 'first-page', pastEnd: 'last-page' },
      { belowFirst: 'first-page', pastLast: 'last-page' },
    ],
    [{ overLimit: 'bad-request' }, { maxLimit: 20, overMaxLimit: 'refused', defaultLimit: 10 }],
    [{ maxLimit: 1_000 }, { maxLimit: 'unknown', overMaxLimit: 'unknown', defaultLimit: 10 }],
    [
      { startBound: 'exclusive', order: 'descending' },
      { startBound: 'exclusive', order: 'descending' },
    ],
    [
      { endBound: 'exclusive', order: 'shuffled' },
      { endBound: 'exclusive', order: 'none' },
    ],
    [
      { startBound: 'ignored', endBound: 'ignored' },
      { startBound: 'ignored', endBound: 'ignored' },
    ],
    [{ dateOffset: '+02:00' }, {}],
  ])('a probe finds a service with %j', async (setup, expected) => {
    expect(await probed(setup)).toMatchObject({ ...wellBehaved, ...expected });
  });

  it('a probe finds that the limit is ignored', async () => {
    expect(await probed({ limit: 'ignored', pageBase: 0 })).toMatchObject({
      ...wellBehaved,
      pageBase: 0,
      limitHonoured: false,
      maxLimit: 'unknown',
      overMaxLimit: 'unknown',
    });
  });

  it('a probe finds that the page is ignored, alone and together with the limit', async () => {
    const nothing = { pageBase: 'unknown', belowFirst: 'unknown', pastLast: 'unknown' };
    expect(await probed({ paging: 'ignored' })).toMatchObject({ ...nothing, pagingHonoured: false });
    const dump = await probed({ paging: 'ignored', limit: 'ignored' });
    expect(dump).toMatchObject({ ...nothing, pagingHonoured: 'unknown', limitHonoured: false, order: 'ascending' });
  });

  it('a probe of a well with two days leaves most findings unknown', async () => {
    const profile = await probed({ belowBase: 'first-page' }, 2);
    const { pageBase, limitHonoured, maxLimit, startBound, order } = profile;
    expect([pageBase, limitHonoured, maxLimit, startBound, order]).toEqual(Array(5).fill('unknown'));
    expect(profile.evidence[0]?.evidence).toBe('the well sends only 2 rows: too few to tell its pages apart');
  });

  it('a probe of a well without data, or of an unknown one, is an error', async () => {
    await using server = await startTestingServer({ data: givenDaily([], ['empty']) });
    await using client = serviceAt(server.url);
    const probeOf = (uwi: string) => rejectionOf(probeService(client.service, { uwi, timeZone: 'UTC' }));
    expect(await probeOf('empty')).toMatchObject({ name: 'PermanentError', code: 'no-data' });
    expect(await probeOf('nowhere')).toMatchObject({ name: 'NotFoundError' });
  });
});
