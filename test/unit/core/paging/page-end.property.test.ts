import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitsFor, readPages, type PagingProfile, type TrustedEnd } from '../../../../src/core/paging/page-end.ts';
import type { PageLimit, PagingFailure } from '../../../../src/core/paging/chain-and-passes.ts';
import {
  answerOf,
  carryOut,
  modelDays,
  modelWindow,
  pageSizeOf,
  pagingModels,
  type PagingModel,
} from '../../../support/paging-model.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const maxPages = 400;
const wantedLimits = fc.integer({ min: 5, max: 24 });

function read(model: PagingModel, limits: readonly PageLimit[], profile?: PagingProfile, trustedEnd?: TrustedEnd) {
  return carryOut(readPages({ window: modelWindow, limits, maxPages, profile, trustedEnd }), (ask) =>
    answerOf(model, ask),
  );
}

function grantedOf(model: PagingModel, limits: readonly PageLimit[]): PageLimit {
  return limits.find((limit) => pageSizeOf(model, limit) !== undefined);
}

/**
 * Services whose cut nothing can reveal: only the first page can be read, and the service cuts it at fewer than five
 * rows or whatever the request.
 */
function isCutForGood(model: PagingModel, limit: PageLimit): boolean {
  const size = pageSizeOf(model, limit) ?? 0;
  const isDated = model.startBound !== 'ignored' && model.endBound !== 'ignored';
  const isDeaf = !isDated && model.anyLimit === 'ignored';
  return model.page === 'ignored' && model.days.length > size && (size < 5 || isDeaf);
}

function hasAllRows(model: PagingModel, keys: ReadonlySet<string>): boolean {
  return keys.size === model.days.length && model.days.every((day) => keys.has(String(day)));
}

/** The only allowed failures: rows that may be cut, and a well without rows whose every page is a 404. */
function mayFail(model: PagingModel, failure: PagingFailure, granted?: PageLimit): boolean {
  if (failure === 'page-ignored') return model.page === 'ignored' || isSameWhateverIsAsked(model, granted);
  return failure === 'not-found' && model.days.length === 0;
}

/**
 * Whether every answer is the same page, whatever limit and dates: the cut first page of a service without pages looks
 * the same.
 */
function isSameWhateverIsAsked({ anyLimit, startBound, endBound }: PagingModel, granted: PageLimit): boolean {
  const isLimited = anyLimit === 'honoured' && granted !== undefined;
  return !isLimited && (startBound === 'ignored' || endBound === 'ignored');
}

/** The profile that a probe would find. */
function profileOf(model: PagingModel): PagingProfile {
  return {
    pageBase: model.base,
    pagingHonoured: model.page === 'honoured',
    limitHonoured: model.anyLimit === 'honoured',
    defaultLimit: model.defaultLimit,
    maxLimit: model.anyLimit === 'honoured' ? model.maxLimit : 'unknown',
    largestPage: 'unknown',
    pastLast: model.pastEnd,
  };
}

describe('a service at rest', () => {
  it('G4: a read of any service at rest returns every row, or fails', () => {
    expectForAll(
      fc.property(pagingModels, wantedLimits, (model, wanted) => {
        const limits = limitsFor(wanted);
        const granted = grantedOf(model, limits);
        fc.pre(!isCutForGood(model, granted));
        const { end, keys } = read(model, limits);
        expect(end.kind === 'fail' ? mayFail(model, end.failure, granted) : hasAllRows(model, keys)).toBe(true);
      }),
    );
  });

  it('G4: a read by the service profile returns every row, or fails', () => {
    expectForAll(
      fc.property(pagingModels, wantedLimits, (model, wanted) => {
        const limits = limitsFor(wanted);
        const granted = grantedOf(model, limits);
        fc.pre(!isCutForGood(model, granted));
        const { end, keys } = read(model, limits, profileOf(model));
        expect(end.kind === 'fail' ? mayFail(model, end.failure, granted) : hasAllRows(model, keys)).toBe(true);
      }),
    );
  });

  it('G4: a read that ends where a matching profile is trusted takes one request and returns every row', () => {
    expectForAll(
      fc.property(pagingModels, wantedLimits, fc.integer({ min: 0, max: 3 }), (model, wanted, leastRows) => {
        const { end, keys, requests } = read(model, limitsFor(wanted), profileOf(model), { leastRows });
        if (end.kind === 'fail' || end.isVerified) return;
        expect([requests, hasAllRows(model, keys), keys.size >= leastRows]).toEqual([1, true, true]);
      }),
    );
  });

  it('G4: a read that trusts another profile has rows of the service alone, and is verified unless that profile says that it is the end', () => {
    expectForAll(
      fc.property(pagingModels, pagingModels, wantedLimits, (model, other, wanted) => {
        const said = profileOf(other);
        const { end, keys } = read(model, limitsFor(wanted), said, { leastRows: 0 });
        expect([...keys].filter((key) => !model.days.includes(Number(key)))).toEqual([]);
        if (end.kind === 'fail' || end.isVerified) return;
        expect(said).toMatchObject({ pagingHonoured: true, limitHonoured: true });
        expect(keys.size).toBeLessThan(Math.min(wanted, other.maxLimit));
      }),
    );
  });

  it('G4: a read by the profile of another service returns every row, or fails', () => {
    expectForAll(
      fc.property(pagingModels, pagingModels, wantedLimits, (model, other, wanted) => {
        const limits = limitsFor(wanted);
        const granted = grantedOf(model, limits);
        // Pages of two rows, and pages that the service itself overlaps, may look as the wrong profile expects.
        fc.pre(!isCutForGood(model, granted) && (pageSizeOf(model, granted) ?? 0) >= 3 && !model.overlap);
        const { end, keys } = read(model, limits, profileOf(other));
        const mayEnd = (failure: PagingFailure): boolean =>
          failure === 'unproven-end' || mayFail(model, failure, granted);
        expect(end.kind === 'fail' ? mayEnd(end.failure) : hasAllRows(model, keys)).toBe(true);
      }),
    );
  });

  it('a read takes at most two requests more than there are pages, one with the profile', () => {
    expectForAll(
      fc.property(pagingModels, fc.integer({ min: 12, max: 24 }), (any, wanted) => {
        const model = { ...any, ...plain, maxLimit: Math.max(12, any.maxLimit) };
        const limits = limitsFor(wanted);
        const pages = Math.max(1, Math.ceil(model.days.length / Math.min(wanted, model.maxLimit)));
        const overlaps = Math.ceil(pages ** 2 / 12);
        // Two more show that the service answers 404 past its last page.
        const proof = model.pastEnd === 'not-found' ? 2 : 0;
        expect(read(model, limits).requests).toBeLessThanOrEqual(pages + overlaps + 2 + proof);
        const withProfile = read(model, limits, profileOf(model));
        expect(withProfile.requests).toBeLessThanOrEqual(pages + overlaps + (model.days.length < 3 ? 2 : 1));
        expect(withProfile.end).toMatchObject(mayFail(model, 'not-found') ? {} : { kind: 'end' });
      }),
    );
  });

  it('a read takes three times the pages when the limit is ignored', () => {
    expectForAll(
      fc.property(pagingModels, wantedLimits, (any, wanted) => {
        const model = { ...any, ...plain, anyLimit: 'ignored', overlap: any.overlap } as const;
        const pages = Math.ceil(model.days.length / model.defaultLimit);
        expect(read(model, limitsFor(wanted)).requests).toBeLessThanOrEqual(3 * (pages + 2) + 14);
      }),
    );
  });

  it('a read takes about 4 log2(days) requests for each full answer when the page is ignored', () => {
    expectForAll(
      fc.property(pagingModels, wantedLimits, (any, wanted) => {
        const model = { ...any, page: 'ignored', maxLimit: Math.max(5, any.maxLimit) } as const;
        const limits = limitsFor(wanted);
        const fullAnswers = Math.ceil(model.days.length / (pageSizeOf(model, grantedOf(model, limits)) ?? 1));
        const halvings = 4 * Math.ceil(Math.log2(modelDays)) * fullAnswers;
        expect(read(model, limits).requests).toBeLessThanOrEqual(16 + halvings);
      }),
    );
  });

  it('the next read starts with the limit that worked', () => {
    expectForAll(
      fc.property(pagingModels, wantedLimits, (model, wanted) => {
        const first = read(model, limitsFor(wanted));
        if (first.end.kind === 'fail') return;
        expect(read(model, first.end.limits).keys).toEqual(first.keys);
        expect(pageSizeOf(model, first.end.limits[0])).toBeDefined();
      }),
    );
  });
});

/** A service that honours page and limit. */
const plain = { page: 'honoured', anyLimit: 'honoured', overLimit: 'clamp', overlap: false } as const;
