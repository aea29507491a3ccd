import { describe, expect, it } from 'vitest';
import {
  limitsFor,
  maxPagesFor,
  nextStep,
  startPaging,
  type PageAnswer,
  type PageLimit,
  type PagingStep,
} from '../../src/core/page-end.ts';

const full: PageAnswer = { kind: 'page', rowCount: 10, newCount: 10, first: 'a' };
const again: PageAnswer = { kind: 'page', rowCount: 10, newCount: 0, first: 'a' };
const empty: PageAnswer = { kind: 'page', rowCount: 0, newCount: 0, first: undefined };
const notFound: PageAnswer = { kind: 'not-found' };
const refused: PageAnswer = { kind: 'refused' };

/** What is asked for when the service answers like this, and how it ends. */
function follow(answers: readonly PageAnswer[], limits: readonly PageLimit[] = [10, undefined]) {
  const asked: Array<readonly [number, PageLimit]> = [];
  let step: PagingStep = startPaging({ limits, maxPages: 5 });
  for (const answer of answers) {
    if (step.kind !== 'ask') throw new Error(`ended after ${asked.length} of ${answers.length} answers`);
    asked.push([step.page, step.limit]);
    step = nextStep(step.state, answer);
  }
  return { asked, end: step.kind === 'fail' ? step.failure : step.kind };
}

describe('a service that numbers pages from 0', () => {
  it('ends on an empty page or a 404 after the rows', () => {
    expect(follow([full, empty]).end).toBe('end');
    expect(follow([full, full, notFound]).end).toBe('end');
  });

  it('ends when the one short page comes for ever', () => {
    const short: PageAnswer = { ...full, rowCount: 4, newCount: 4 };
    expect(follow([short, { ...short, newCount: 0 }, { ...short, newCount: 0 }]).end).toBe('end');
  });

  it('does not take a short page for the last', () => {
    expect(follow([{ ...full, rowCount: 4, newCount: 4 }]).end).toBe('ask');
  });
});

describe('a service that numbers pages from 1', () => {
  it.each([
    ['400', refused],
    ['404', notFound],
    ['an empty page', empty],
  ])('reads on where page 0 is %s', (_name, zero) => {
    expect(follow([zero, full, empty]).asked.map(([page]) => page)).toEqual([0, 1, 2]);
    expect(follow([zero, empty]).end).toBe('end');
  });

  it('reads on where page 0 is the first page', () => {
    expect(follow([full, again, full, empty]).end).toBe('end');
  });
});

it('holds the well to be unknown when pages 0 and 1 are both 404', () => {
  expect(follow([notFound, notFound]).end).toBe('not-found');
  expect(follow([refused, notFound]).end).toBe('not-found');
});

it('falls back on smaller limits, at last on none, and then gives up', () => {
  const { asked, end } = follow([refused, refused, refused, refused, refused, refused], limitsFor(1_000));
  expect(asked).toEqual([
    [0, 1_000],
    [1, 1_000],
    [0, 100],
    [1, 100],
    [0, undefined],
    [1, undefined],
  ]);
  expect(end).toBe('refused');
});

it('G4: a refusal after rows have come is a failure, not the end', () => {
  expect(follow([full, refused]).end).toBe('refused');
  expect(follow([full, full, refused]).end).toBe('refused');
});

describe('one full page three times', () => {
  it('is doubted with one request for a single row', () => {
    const { asked, end } = follow([full, again, again]);
    expect([asked.length, end]).toEqual([3, 'ask']);
    expect(follow([full, again, again, { ...again, rowCount: 1, first: 'b' }]).asked[3]).toEqual([2, 1]);
  });

  it.each<readonly [string, PageAnswer, string]>([
    ['another row', { kind: 'page', rowCount: 1, newCount: 0, first: 'b' }, 'end'],
    ['the whole page', again, 'end'],
    ['nothing', empty, 'end'],
    ['404', notFound, 'end'],
    ['the first row', { kind: 'page', rowCount: 1, newCount: 0, first: 'a' }, 'page-ignored'],
    ['400', refused, 'refused'],
  ])('followed by %s for page 2', (_name, answer, expected) => {
    expect(follow([full, again, again, answer]).end).toBe(expected);
  });
});

it('G4: new rows on every page for ever are a failure', () => {
  expect(follow([full, full, full, full, full]).end).toBe('without-end');
  expect(maxPagesFor(2)).toBe(1_008);
});
