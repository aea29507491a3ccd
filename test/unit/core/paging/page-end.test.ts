import { describe, expect, it } from 'vitest';
import {
  limitsFor,
  maxPagesFor,
  readPages,
  type PagingProfile,
  type TrustedEnd,
} from '../../../../src/core/paging/page-end.ts';
import type { PageAnswer, PageLimit } from '../../../../src/core/paging/chain-and-passes.ts';
import { DAY_MS } from '../../../../src/core/time/window.ts';

const window = { fromMs: 0, toMs: 30 * DAY_MS };
const empty: PageAnswer = { kind: 'page', keys: [] };
const notFound: PageAnswer = { kind: 'not-found' };
const refused: PageAnswer = { kind: 'refused' };
const profile: PagingProfile = {
  pageBase: 1,
  pagingHonoured: true,
  limitHonoured: true,
  defaultLimit: 100,
  maxLimit: 10,
  largestPage: 10,
  pastLast: 'empty',
};

/** A page of rows, each named by a letter. */
function page(rows: string): PageAnswer {
  return { kind: 'page', keys: rows.split('') };
}

/** The requests that a read makes when it gets these answers, each as `page:limit`, and how it ends. */
function follow(
  answers: readonly PageAnswer[],
  {
    limits = [10, undefined],
    ...options
  }: { limits?: readonly PageLimit[]; profile?: PagingProfile; trustedEnd?: TrustedEnd; grantedLimit?: number } = {},
) {
  const paging = readPages({ window, limits, maxPages: 20, ...options });
  const asked: string[] = [];
  let step = paging.next();
  for (const answer of answers) {
    if (step.done === true) throw new Error(`ended after ${asked.length} of ${answers.length} answers`);
    asked.push(`${step.value.page}:${step.value.limit ?? 'none'}`);
    step = paging.next(answer);
  }
  if (step.done !== true) return { asked, end: 'asks on' };
  return { asked, end: step.value.kind === 'fail' ? step.value.failure : step.value };
}

const ended = { kind: 'end' };

describe('overlapping pages', () => {
  it('the page after the first begins with its last row, and is the end when it has no other row', () => {
    const { asked, end } = follow([refused, page('abcdefghij'), page('j')]);
    expect(asked).toEqual(['0:10', '1:10', '2:9']);
    expect(end).toMatchObject({ ...ended, found: { pageBase: 1, pagingHonoured: true, limitHonoured: true } });
  });

  it('each further page has a limit that makes it overlap the one before', () => {
    const rows = 'abcdefghijklmnopqrstuvwxy';
    const { asked, end } = follow([
      page(rows.slice(0, 10)),
      page(rows.slice(9, 18)),
      page(rows.slice(16, 24)),
      page(rows.slice(20)),
      page(rows.slice(24)),
    ]);
    expect(asked).toEqual(['0:10', '1:9', '2:8', '2:10', '3:8']);
    expect(end).toMatchObject({ ...ended, found: { pageBase: 0 } });
  });

  it('G4: a page that removed rows have moved out of reach is requested again from further back', () => {
    const { asked } = follow([page('abcdefghij'), page('jklmnopqr'), page('tuvwxyz'), page('klmnopqrst')]);
    expect(asked).toEqual(['0:10', '1:9', '2:8', '1:10']);
  });
});

describe('a 404 behind the first page', () => {
  const failed = 'unproven-end';

  it.each([
    ['empty', failed],
    ['refused', failed],
    ['last-page', failed],
    ['not-found', ended],
  ] as const)('G4: ends a read only where the profile has seen this service do so: %s', (pastLast, outcome) => {
    const known = { ...profile, pageBase: 0, limitHonoured: false, defaultLimit: 2, pastLast } as const;
    const { end } = follow(
      [page('ab'), page('cd'), notFound, page('ab'), page('cd'), notFound].slice(0, outcome === failed ? 3 : 6),
      { profile: known },
    );
    if (outcome === failed) expect(end).toBe(failed);
    else expect(end).toMatchObject(outcome);
  });

  it('G4: without a profile, a page that no well reaches and the first page decide', () => {
    expect(follow([page('ab'), notFound])).toMatchObject({ asked: ['0:10', '1:2'], end: 'asks on' });
    const { asked, end } = follow([page('ab'), notFound, notFound, page('ab')]);
    expect(asked.slice(2)).toEqual(['1000000:2', '0:2']);
    expect(end).toMatchObject(ended);
    expect(follow([page('ab'), notFound, empty]).end).toBe(failed);
    expect(follow([page('ab'), notFound, notFound, notFound]).end).toBe(failed);
  });

  it('a well is unknown when its first page is a 404, whatever an empty page below it says', () => {
    expect(follow([notFound, empty, notFound], { profile }).end).toBe('not-found');
  });
});

describe('the first page', () => {
  it.each([
    ['400', refused],
    ['404', notFound],
    ['an empty page', empty],
  ])('page 1 is the first page when page 0 is %s', (_name, zero) => {
    expect(follow([zero, page('abcd'), page('d')]).end).toMatchObject({ ...ended, found: { pageBase: 1 } });
    expect(follow([zero, empty]).end).toMatchObject(ended);
  });

  it('page 1 is the first page when pages 0 and 1 have the same rows', () => {
    const { asked, end } = follow([page('abcd'), page('abc'), page('d')]);
    expect(asked).toEqual(['0:10', '1:3', '2:3']);
    expect(end).toMatchObject({ ...ended, found: { pageBase: 1 } });
  });

  it('a first page of one or two rows is followed by the next page', () => {
    expect(follow([page('ab'), empty]).end).toMatchObject(ended);
    expect(follow([page('a'), page('a'), page('a')]).end).toMatchObject(ended);
    expect(follow([refused, page('ab'), page('c')]).end).toBe('asks on');
  });

  it('a well is unknown when page 1 is a 404 and page 0 has no rows', () => {
    expect(follow([notFound, notFound]).end).toBe('not-found');
    expect(follow([refused, notFound]).end).toBe('not-found');
  });
});

it('a read falls back on smaller limits, at last on none, and then gives up', () => {
  const { asked, end } = follow([refused, refused, refused, refused, refused, refused], { limits: limitsFor(1_000) });
  expect(asked).toEqual(['0:1000', '1:1000', '0:100', '1:100', '0:none', '1:none']);
  expect(end).toBe('refused');
});

it('G4: a page refused after rows have come fails the read', () => {
  expect(follow([page('abcd'), refused, page('abcd'), refused]).end).toBe('refused');
});

describe('a service that does not grant the limit', () => {
  const [first, second] = [page('abcdef'), page('ghi')];

  it('all pages are read until two passes are alike when the limit is not granted', () => {
    const pass = [refused, first, second, empty];
    const { asked, end } = follow([refused, first, page('ghi'), ...pass, ...pass]);
    expect(asked.slice(0, 5)).toEqual(['0:10', '1:10', '2:5', '0:10', '1:10']);
    expect(end).toMatchObject({ ...ended, found: { limitHonoured: false } });
  });

  it('G4: passes are repeated while they differ, and a read whose passes never agree fails as unstable', () => {
    const pass = (last: string) => [refused, first, page(last), empty];
    const answers = [refused, first, second, ...['g', 'gh', 'ghi', 'ghij'].flatMap(pass)];
    expect(follow(answers).end).toBe('unstable');
    expect(follow(answers.slice(0, -1)).end).toBe('asks on');
  });

  it('a single page is read again when the limit is not granted', () => {
    expect(follow([refused, first, empty, refused, first, empty]).end).toMatchObject(ended);
  });
});

describe('a service that ignores the page', () => {
  const whole = page('abcdefghij');

  it('the window is halved until no answer can be cut', () => {
    const { asked, end } = follow([whole, page('abcdefghi'), page('abcdefgh'), page('abcdef'), page('ghij')]);
    expect(asked).toEqual(['0:10', '1:9', '2:8', '0:10', '0:10']);
    expect(end).toMatchObject({ ...ended, found: { pagingHonoured: false } });
  });

  describe('and one of the dates', () => {
    const beyond: PageAnswer = { kind: 'page', keys: 'abcdefghij'.split(''), isBeyond: true };
    const undated = [whole, page('abcdefghi'), page('abcdefgh'), beyond, page('abc'), whole, whole, whole, whole];

    it('G4: a service that ignores page and dates is not read: its answers may be cut at any number of rows', () => {
      expect(follow([...undated, page('abcdefghi')])).toMatchObject({ end: 'page-ignored' });
      expect(follow([...undated, page('abcdefghi')], { limits: [50] })).toMatchObject({ end: 'page-ignored' });
      expect(follow([...undated.slice(0, 8), page('klm')]).end).toBe('asks on');
    });

    it('G4: a service that ignores page and dates is not read when another window has other rows', () => {
      expect(follow([...undated.slice(0, 3), beyond, page('klm')]).end).toBe('page-ignored');
    });

    it('a service that ignores page, dates and limit sends all its rows', () => {
      const twice = [whole, whole, whole, whole, whole, whole];
      expect(follow([...twice, beyond, page('abc'), ...twice.slice(1)]).end).toMatchObject(ended);
    });

    it('an answer shorter than a limit known to be granted is complete', () => {
      expect(follow(undated.slice(0, 3), { limits: [50], grantedLimit: 50 }).end).toMatchObject(ended);
      expect(follow(undated.slice(0, 3), { limits: [10], grantedLimit: 10 }).end).toBe('asks on');
    });
  });
});

describe('with a matching profile', () => {
  it('a read with a matching profile begins at the first page and takes one request more than there are pages', () => {
    const { asked, end } = follow([page('abcd'), page('d')], { profile });
    expect(asked).toEqual(['1:10', '2:3']);
    expect(end).toMatchObject(ended);
    expect(follow([empty, notFound], { profile }).asked).toEqual(['1:10', '0:10']);
  });
});

describe('where a profile is trusted', () => {
  const trustedEnd = { leastRows: 1 };
  const unverified = { ...ended, isVerified: false };
  const endAfter = (answer: PageAnswer, said: PagingProfile, leastRows = 1) =>
    follow([answer], { profile: said, trustedEnd: { leastRows } }).end;

  it('a first page that is not full ends the read, unverified', () => {
    const { asked, end } = follow([page('abcd')], { profile, trustedEnd });
    expect(asked).toEqual(['1:10']);
    expect(end).toMatchObject(unverified);
    expect(follow([page('a')], { profile, trustedEnd }).end).toMatchObject(unverified);
  });

  it('a page is full when it has as many rows as were requested, or as the service ever sent', () => {
    expect(endAfter(page('abcdefghij'), { ...profile, maxLimit: 50 })).toBe('asks on');
    expect(endAfter(page('abcdef'), { ...profile, maxLimit: 6 })).toBe('asks on');
    const seen = { ...profile, maxLimit: 'unknown', largestPage: 6 } as const;
    expect(endAfter(page('abcdef'), seen)).toBe('asks on');
    expect(follow([page('abcde')], { profile: seen, trustedEnd }).end).toMatchObject(unverified);
    expect(endAfter(page('a'), { ...profile, maxLimit: 'unknown', largestPage: 'unknown' })).toBe('asks on');
  });

  it('G4: an empty page ends the read where no row is expected, and else shows nothing', () => {
    expect(follow([empty], { profile, trustedEnd: { leastRows: 0 } }).end).toMatchObject(unverified);
    expect(endAfter(empty, profile)).toBe('asks on');
  });

  it.each<Partial<PagingProfile>>([
    { pageBase: 'unknown' },
    { pagingHonoured: false },
    { pagingHonoured: 'unknown' },
    { limitHonoured: false },
    { limitHonoured: 'unknown' },
  ])('G4: a profile with %j does not end a read', (said) =>
    expect(endAfter(page('abcd'), { ...profile, ...said })).toBe('asks on'),
  );

  it('G4: a refused page, or a 404, does not end a read', () => {
    expect(endAfter(refused, profile, 0)).toBe('asks on');
    expect(endAfter(notFound, profile, 0)).toBe('asks on');
  });
});

describe('with an outdated profile', () => {
  it.each<readonly [string, readonly PageAnswer[]]>([
    ['the first page is a 404', [notFound]],
    ['the first page is refused', [refused]],
    ['the first page is empty and another has rows', [empty, page('abcd')]],
    ['the next page begins elsewhere', [page('fghijklmno'), page('mnopqrst')]],
    ['the next page has more rows than requested', [page('abcd'), page('efgh')]],
  ])('G4: a read with an outdated profile begins again by the careful rule: %s', (_name, answers) => {
    const { asked, end } = follow([...answers, page('abcd'), page('d')], { profile });
    expect(asked.slice(-2)).toEqual(['0:10', '1:3']);
    expect(end).toMatchObject({ ...ended, found: { pageBase: 0 } });
  });
});

it('G4: a service with new rows on every page fails the read', () => {
  const letters = Array.from({ length: 30 }, (_, index) => page(String.fromCodePoint(97 + index)));
  expect(follow(letters.slice(0, 22)).end).toBe('without-end');
  expect(maxPagesFor({ fromMs: 0, toMs: 2 * DAY_MS })).toBe(1_008);
});
