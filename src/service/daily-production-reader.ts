/** Drives the reading of one well's window: pages by core/page-end.ts, records into the tally, until the end is sure. */
import { NotFoundError, PermanentError } from '../core/errors.ts';
import {
  limitsFor,
  maxPagesFor,
  nextStep,
  startPaging,
  type PageAnswer,
  type PageLimit,
  type PagingFailure,
} from '../core/page-end.ts';
import { productionCalendar } from '../core/production-day.ts';
import { askedWindow, daysIn } from '../core/window.ts';
import type { ProductionDataService } from './production-data-service.ts';
import { ReadingTally } from './reading-tally.ts';
import type { RequestOptions } from './request-layer.ts';

type PageQuery = Parameters<ProductionDataService['fetchDailyProductionPage']>[0];
type PageFetch = (query: PageQuery, options: RequestOptions) => Promise<readonly unknown[]>;

/**
 * The port's readDailyProduction over its fetchDailyProductionPage. Which limit the service grants is remembered for as
 * long as the reader lives, so that a limit is refused once and not for every well.
 */
export function createDailyProductionReader(fetchPage: PageFetch): ProductionDataService['readDailyProduction'] {
  const grantedLimits = new Map<number, readonly PageLimit[]>();

  return async ({ uwi, window, timeZone, pageLimit }, options = {}) => {
    const asked = askedWindow(window);
    const tally = new ReadingTally(window, productionCalendar(timeZone));
    const answers = new AnswerCount();
    let refusal: PermanentError | undefined;
    const wantedLimits = grantedLimits.get(pageLimit) ?? limitsFor(pageLimit);
    let step = startPaging({ limits: wantedLimits, maxPages: maxPagesFor(daysIn(asked)) });
    while (step.kind === 'ask') {
      const { page, limit } = step;
      const query = { uwi, startMs: asked.fromMs, endMs: asked.toMs, page, ...(limit === undefined ? {} : { limit }) };
      const reply = await replyTo(fetchPage(query, { ...options, onAnswer: answers.count }));
      if (reply instanceof PermanentError) refusal = reply;
      step = nextStep(step.state, answerOf(reply, tally));
    }
    if (step.kind === 'fail') throw failureOf(step.failure, uwi, refusal);
    grantedLimits.set(pageLimit, step.limits);
    return tally.reading(answers.total, [...answers.notices(), ...limitNotice(pageLimit, step.limits[0])]);
  };
}

/** A page, or the refusal that may be an answer about pages: every other error is the read's own end. */
async function replyTo(page: Promise<readonly unknown[]>): Promise<readonly unknown[] | PermanentError> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof PermanentError && refusalOf(error) !== undefined) return error;
    throw error;
  }
}

/** 422 is what many frameworks answer to a parameter out of its range, where others answer 400. */
function refusalOf(error: PermanentError): Exclude<PageAnswer['kind'], 'page'> | undefined {
  if (error instanceof NotFoundError) return 'not-found';
  return error.status === 400 || error.status === 422 ? 'refused' : undefined;
}

function answerOf(reply: readonly unknown[] | PermanentError, tally: ReadingTally): PageAnswer {
  if (reply instanceof PermanentError) return { kind: refusalOf(reply) ?? 'refused' };
  return { kind: 'page', rowCount: reply.length, ...tally.add(reply) };
}

/** Where the service refused by itself, its own words stand. */
function failureOf(failure: PagingFailure, uwi: string, refusal: PermanentError | undefined): PermanentError {
  switch (failure) {
    case 'not-found':
    case 'refused':
      return refusal ?? new PermanentError('refused', `the service refused every page of ${uwi}`);
    case 'page-ignored':
      return new PermanentError('page-ignored', `the service answers every page of ${uwi} with the first rows alone`, {
        hint: 'It pays no heed to page: set service.pageLimit above the number of rows that a well has.',
      });
    case 'without-end':
      return new PermanentError(
        'pages-without-end',
        `the service sends new records of ${uwi} on every page, without end`,
        {
          hint: 'Do the records keep their xid from one request to the next?',
        },
      );
  }
}

function limitNotice(wanted: number, granted: PageLimit): readonly string[] {
  if (granted === wanted) return [];
  const instead = granted === undefined ? 'none was sent' : `${granted} was sent`;
  return [`the service refuses a limit of ${wanted} rows to a page: ${instead}`];
}

/** The answers to one read, and what is to be said of them. */
class AnswerCount {
  total = 0;
  readonly #undeclared = new Set<number>();

  readonly count = (status: number): void => {
    this.total += 1;
    if (status > 200 && status < 300) this.#undeclared.add(status);
  };

  notices(): readonly string[] {
    return [...this.#undeclared].map(
      (status) => `answers with status ${status} were taken, where only 200 is declared`,
    );
  }
}
