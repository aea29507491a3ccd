import fc from 'fast-check';
import { expect, it } from 'vitest';
import { limitsFor, nextStep, startPaging, type PageLimit, type PagingFailure } from '../../src/core/page-end.ts';
import { answerOf, pageSizeOf, pagingModels, type ModelReply, type PagingModel } from '../support/paging-model.ts';

interface Outcome {
  readonly rows: readonly string[];
  readonly failure: PagingFailure | undefined;
  readonly requests: number;
  readonly limits: readonly PageLimit[];
}

function read(
  model: Pick<PagingModel, 'rows'>,
  limits: readonly PageLimit[],
  ask: (page: number, limit: PageLimit) => ModelReply,
): Outcome {
  const seen = new Set<string>();
  let step = startPaging({ limits, maxPages: model.rows.length + 10 });
  let requests = 0;
  while (step.kind === 'ask') {
    const reply = ask(step.page, step.limit);
    requests += 1;
    if (reply.kind !== 'page') {
      step = nextStep(step.state, reply);
      continue;
    }
    const before = seen.size;
    for (const row of reply.rows) seen.add(row);
    const counts = { rowCount: reply.rows.length, newCount: seen.size - before };
    step = nextStep(step.state, { kind: 'page', ...counts, first: reply.rows[0] });
  }
  if (step.kind === 'fail') return { rows: [...seen], failure: step.failure, requests, limits: [] };
  return { rows: [...seen], failure: undefined, requests, limits: step.limits };
}

/** What the interface leaves no way to find out: the service ignores `page` and cuts its rows by itself. */
function isCutForGood(model: PagingModel, limit: PageLimit): boolean {
  const size = pageSizeOf(model, limit) ?? 0;
  return model.page === 'ignored' && model.rows.length > size && (limit === undefined || size < limit);
}

/** `page` is ignored, and what came is as much as was asked for: there may be more. */
function isCutAtLimit(model: PagingModel, limit: PageLimit): boolean {
  return (
    model.page === 'ignored' && limit !== undefined && model.rows.length >= limit && pageSizeOf(model, limit) === limit
  );
}

const wantedLimits = fc.integer({ min: 2, max: 20 });

it('G4: every page of any service is read, or the read fails', () => {
  fc.assert(
    fc.property(pagingModels, wantedLimits, (model, wanted) => {
      const limits = limitsFor(wanted);
      const granted = limits.find((limit) => pageSizeOf(model, limit) !== undefined);
      fc.pre(!isCutForGood(model, granted));
      const outcome = read(model, limits, (page, limit) => answerOf(model, page, limit));
      const all = outcome.rows.toSorted().join() === model.rows.toSorted().join();
      expect(outcome.failure === undefined ? all : mayFail(model, granted, outcome.failure)).toBe(true);
    }),
    { numRuns: 20_000 },
  );
});

/** The only failures: rows that may be cut at the limit, and a well without rows whose every page is a 404. */
function mayFail(model: PagingModel, granted: PageLimit, failure: PagingFailure): boolean {
  if (failure === 'page-ignored') return isCutAtLimit(model, granted);
  return failure === 'not-found' && model.rows.length === 0 && model.page === 'honoured';
}

it('takes at most two requests more than there are pages, one more where they repeat, and two for each refused limit', () => {
  fc.assert(
    fc.property(pagingModels, wantedLimits, (model, wanted) => {
      const limits = limitsFor(wanted);
      const refused = limits.findIndex((limit) => pageSizeOf(model, limit) !== undefined);
      const size = pageSizeOf(model, limits[refused]) ?? 0;
      const pages = model.page === 'ignored' ? 1 : Math.ceil(model.rows.length / size);
      const outcome = read(model, limits, (page, limit) => answerOf(model, page, limit));
      expect(outcome.requests).toBeLessThanOrEqual(pages + 2 + (pages === 1 ? 1 : 0) + 2 * refused);
    }),
    { numRuns: 20_000 },
  );
});

it('starts the next read with the limit that worked', () => {
  fc.assert(
    fc.property(pagingModels, wantedLimits, (model, wanted) => {
      const first = read(model, limitsFor(wanted), (page, limit) => answerOf(model, page, limit));
      fc.pre(first.failure === undefined);
      const second = read(model, first.limits, (page, limit) => answerOf(model, page, limit));
      expect(second.rows).toEqual(first.rows);
      expect(pageSizeOf(model, first.limits[0])).toBeDefined();
    }),
  );
});
