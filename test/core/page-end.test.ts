import { describe, expect, it } from 'vitest';
import { limitsFor, maxPagesFor, readPages, type PagingProfile } from '../../src/core/page-end.ts';
import type { PageAnswer, PageLimit } from '../../src/core/paging.ts';
import { DAY_MS } from '../../src/core/window.ts';

const window = { fromMs: 0, toMs: 30 * DAY_MS };
const empty: PageAnswer = { kind: 'page', keys: [] };
const notFound: PageAnswer = { kind: 'not-found' };
const refused: PageAnswer = { kind: 'refused' };
const profile: PagingProfile = { pageBase: 1, pagingHonoured: true, limitHonoured: true, defaultLimit: 100 };

/** A page of rows, each named by a letter. */
function page(rows: string): PageAnswer {
  return { kind: 'page', keys: rows.split('') };
}

/** What is asked for when the service answers like this, as `page:limit`, and how it ends. */
function follow(
  answers: readonly PageAnswer[],
  {
    limits = [10, undefined],
    ...options
  }: { limits?: readonly PageLimit[]; profile?: PagingProfile; grantedLimit?: number } = {},
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

describe('a page that begins with the last row of the one before', () => {
  it('is asked for after the first, and is the end when it brings no other row', () => {
    const { asked, end } = follow([refused, page('abcdefghij'), page('j')]);
    expect(asked).toEqual(['0:10', '1:10', '2:9']);
    expect(end).toMatchObject({ ...ended, found: { pageBase: 1, pagingHonoured: true, limitHonoured: true } });
  });

  it('leads on, each with a limit that makes it overlap', () => {
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

  it('G4: is asked for again from further back when rows that went have drawn it away', () => {
    const { asked } = follow([page('abcdefghij'), page('jklmnopqr'), page('tuvwxyz'), page('klmnopqrst')]);
    expect(asked).toEqual(['0:10', '1:9', '2:8', '1:10']);
  });
});

describe('the first page', () => {
  it.each([
    ['400', refused],
    ['404', notFound],
    ['an empty page', empty],
  ])('is page 1 where page 0 is %s', (_name, zero) => {
    expect(follow([zero, page('abcd'), page('d')]).end).toMatchObject({ ...ended, found: { pageBase: 1 } });
    expect(follow([zero, empty]).end).toMatchObject(ended);
  });

  it('is page 1 where that has its rows over again', () => {
    const { asked, end } = follow([page('abcd'), page('abc'), page('d')]);
    expect(asked).toEqual(['0:10', '1:3', '2:3']);
    expect(end).toMatchObject({ ...ended, found: { pageBase: 1 } });
  });

  it('of two rows or one is followed by the page after it', () => {
    expect(follow([page('ab'), notFound]).end).toMatchObject(ended);
    expect(follow([page('a'), page('a'), page('a')]).end).toMatchObject(ended);
    expect(follow([refused, page('ab'), page('c')]).end).toBe('asks on');
  });

  it('of a well that is not known is 404, and so is the next', () => {
    expect(follow([notFound, notFound]).end).toBe('not-found');
    expect(follow([refused, notFound]).end).toBe('not-found');
  });
});

it('falls back on smaller limits, at last on none, and then gives up', () => {
  const { asked, end } = follow([refused, refused, refused, refused, refused, refused], { limits: limitsFor(1_000) });
  expect(asked).toEqual(['0:1000', '1:1000', '0:100', '1:100', '0:none', '1:none']);
  expect(end).toBe('refused');
});

it('G4: a refusal after rows have come is a failure, not the end', () => {
  expect(follow([page('abcd'), refused, page('abcd'), refused]).end).toBe('refused');
});

describe('a service that sends another number of rows than was asked for', () => {
  const [first, second] = [page('abcdef'), page('ghi')];

  it('has all its pages read twice alike', () => {
    const pass = [refused, first, second, empty];
    const { asked, end } = follow([refused, first, page('ghi'), ...pass, ...pass]);
    expect(asked.slice(0, 5)).toEqual(['0:10', '1:10', '2:5', '0:10', '1:10']);
    expect(end).toMatchObject({ ...ended, found: { limitHonoured: false } });
  });

  it('G4: has them read again when the second pass differs, and is unstable when they never agree', () => {
    const pass = (last: string) => [refused, first, page(last), empty];
    const answers = [refused, first, second, ...['g', 'gh', 'ghi', 'ghij'].flatMap(pass)];
    expect(follow(answers).end).toBe('unstable');
    expect(follow(answers.slice(0, -1)).end).toBe('asks on');
  });

  it('has one page read again when nothing came after it', () => {
    expect(follow([refused, first, empty, refused, first, empty]).end).toMatchObject(ended);
  });
});

describe('a service that pays no heed to the page', () => {
  const whole = page('abcdefghij');

  it('is read by halves of the window until none can be cut', () => {
    const { asked, end } = follow([whole, page('abcdefghi'), page('abcdefghi'), page('abcdef'), page('ghij')]);
    expect(asked).toEqual(['0:10', '1:9', '2:9', '1:10', '1:10']);
    expect(end).toMatchObject({ ...ended, found: { pagingHonoured: false } });
  });

  describe('nor to one of the dates', () => {
    const beyond: PageAnswer = { kind: 'page', keys: 'abcdefghij'.split(''), isBeyond: true };
    const undated = [whole, page('abcdefghi'), page('abcdefghi'), beyond, page('abc'), whole, whole, whole, whole];

    it('G4: is not read, for its answers may be cut at any number of rows', () => {
      expect(follow([...undated, page('abcdefghi')])).toMatchObject({ end: 'page-ignored' });
      expect(follow([...undated, page('abcdefghi')], { limits: [50] })).toMatchObject({ end: 'page-ignored' });
      expect(follow([...undated.slice(0, 8), page('klm')]).end).toBe('asks on');
    });

    it('G4: is not read where other rows came with another window, whatever it makes of the limit', () => {
      expect(follow([...undated.slice(0, 3), beyond, page('klm')]).end).toBe('page-ignored');
    });

    it('sends all that it has where it pays none to the limit either', () => {
      const twice = [whole, whole, whole, whole, whole, whole];
      expect(follow([...twice, beyond, page('abc'), ...twice.slice(1)]).end).toMatchObject(ended);
    });

    it('is taken at the word of whoever knows that the limit is granted', () => {
      expect(follow(undated.slice(0, 3), { limits: [50], grantedLimit: 50 }).end).toMatchObject(ended);
      expect(follow(undated.slice(0, 3), { limits: [10], grantedLimit: 10 }).end).toBe('asks on');
    });
  });
});

describe('with a profile that fits', () => {
  it('a read begins at the first page and takes one request more than there are pages', () => {
    const { asked, end } = follow([page('abcd'), page('d')], { profile });
    expect(asked).toEqual(['1:10', '2:3']);
    expect(end).toMatchObject({ ...ended, byProfile: true });
    expect(follow([empty, notFound], { profile }).asked).toEqual(['1:10', '0:10']);
  });
});

describe('with a profile that fits no longer', () => {
  it.each<readonly [string, readonly PageAnswer[]]>([
    ['the first page answers as if it lay below', [notFound]],
    ['the first page is refused', [refused]],
    ['the first page is empty and another has rows', [empty, page('abcd')]],
    ['the next page begins elsewhere', [page('fghijklmno'), page('mnopqrst')]],
    ['the next page has more rows than were asked for', [page('abcd'), page('efgh')]],
  ])('G4: the read begins again by the careful rule: %s', (_name, answers) => {
    const { asked, end } = follow([...answers, page('abcd'), page('d')], { profile });
    expect(asked.slice(-2)).toEqual(['0:10', '1:3']);
    expect(end).toMatchObject({ ...ended, byProfile: false, found: { pageBase: 0 } });
  });
});

it('G4: new rows on every page for ever are a failure', () => {
  const letters = Array.from({ length: 30 }, (_, index) => page(String.fromCodePoint(97 + index)));
  expect(follow(letters.slice(0, 22)).end).toBe('without-end');
  expect(maxPagesFor({ fromMs: 0, toMs: 2 * DAY_MS })).toBe(1_008);
});
