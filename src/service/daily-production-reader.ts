/** Drives the reading of one well's window: pages by core/page-end.ts, records into the tally, until all of them are sure to have come. */
import { PermanentError, TransientError, type WellsyncError } from '../core/errors.ts';
import { limitsFor, maxPagesFor, readPages, type PagesEnd } from '../core/page-end.ts';
import type { PageAnswer, PageAsk, PageLimit, PagingFailure } from '../core/paging.ts';
import { productionCalendar } from '../core/production-day.ts';
import { limitFor, misfitsOf, type ServiceProfile } from '../core/service-profile.ts';
import { askedWindow, type Window } from '../core/window.ts';
import { refusalOf, replyTo, type PageReply } from './page-reply.ts';
import type { ProductionDataService } from './production-data-service.ts';
import { ReadingTally } from './reading-tally.ts';
import type { RecordPage } from './record-page.ts';
import type { RequestOptions } from './request-layer.ts';

type PageQuery = Parameters<ProductionDataService['fetchDailyProductionPage']>[0];
type PageFetch = (query: PageQuery, options: RequestOptions) => Promise<RecordPage>;

/**
 * The port's readDailyProduction over its fetchDailyProductionPage. Which limit the service grants is remembered for as
 * long as the reader lives, so that a limit is refused once and not for every well.
 */
export function createDailyProductionReader(fetchPage: PageFetch): ProductionDataService['readDailyProduction'] {
  const grantedLimits = new Map<number, readonly PageLimit[]>();

  return async ({ uwi, window, timeZone, pageLimit, pageLimitGranted, profile, mayGoOn }, options = {}) => {
    const tally = new ReadingTally(window, productionCalendar(timeZone));
    const answers = new AnswerCount();
    const asked = askedWindow(window);
    const wanted = limitFor(profile, pageLimit);
    const limits = grantedLimits.get(wanted) ?? limitsFor(wanted);
    const grantedLimit = pageLimitGranted === true ? pageLimit : undefined;
    const pages = readPages({ window, limits, maxPages: maxPagesFor(asked), profile, grantedLimit });
    let refusal: PermanentError | undefined;
    let step = pages.next();
    while (step.done !== true) {
      const query = queryFor(uwi, asked, step.value);
      const reply = await replyTo(fetchPage(query, { ...options, onAnswer: answers.count }));
      if (reply instanceof PermanentError) refusal = reply;
      step = pages.next(answerOf(reply, tally, asked, step.value));
      await mayGoOn?.(tally.rowCount);
    }
    const end = step.value;
    if (end.kind === 'fail') throw failureOf(end.failure, uwi, refusal);
    grantedLimits.set(wanted, end.limits);
    const misfits = profile === undefined ? [] : misfitsIn(profile, end, limits);
    const notices = [...answers.notices(), ...limitNotice(wanted, end.limits[0]), ...misfitNotice(misfits)];
    return { ...tally.reading(answers.total, notices), ...(misfits.length > 0 ? { profileMisfit: true } : {}) };
  };
}

function queryFor(uwi: string, asked: Window, { page, limit, window = asked }: PageAsk): PageQuery {
  return { uwi, startMs: window.fromMs, endMs: window.toMs, page, ...(limit === undefined ? {} : { limit }) };
}

function answerOf(
  reply: PageReply,
  tally: ReadingTally,
  asked: Window,
  { again, window = asked }: PageAsk,
): PageAnswer {
  if (reply instanceof PermanentError) return { kind: refusalOf(reply) ?? 'refused' };
  return { kind: 'page', ...tally.add(reply, window, again) };
}

type Ended = Extract<PagesEnd, { kind: 'end' }>;

function misfitsIn(profile: ServiceProfile, end: Ended, limits: readonly PageLimit[]): readonly string[] {
  return misfitsOf(profile, { ...end.found, limitRefused: end.limits[0] !== limits[0] });
}

/** Where the service refused by itself, its own words stand. */
function failureOf(failure: PagingFailure, uwi: string, refusal: PermanentError | undefined): WellsyncError {
  switch (failure) {
    case 'not-found':
    case 'refused':
      return refusal ?? new PermanentError('refused', `the service refused every page of ${uwi}`);
    case 'page-ignored':
      return new PermanentError(
        'page-ignored',
        `the service pays no heed to page, and nothing shows that it sent all rows of ${uwi}`,
        {
          hint: 'Set service.pageLimit above the number of rows that a well has and, where the service is known to grant it, service.pageLimitGranted: true.',
        },
      );
    case 'without-end':
      return new PermanentError(
        'pages-without-end',
        `the service sends new records of ${uwi} on every page, without end`,
        {
          hint: 'Do the records keep their xid from one request to the next?',
        },
      );
    case 'unstable':
      return new TransientError('unstable-read', `the records of ${uwi} moved between the pages while they were read`, {
        hint: 'It is tried again. Where it stays so, the service does not keep its records in one order.',
      });
  }
}

function limitNotice(wanted: number, granted: PageLimit): readonly string[] {
  if (granted === wanted || (granted ?? 0) > wanted) return [];
  const instead = granted === undefined ? 'none was sent' : `${granted} was sent`;
  return [`the service refuses a limit of ${wanted} rows to a page: ${instead}`];
}

function misfitNotice(misfits: readonly string[]): readonly string[] {
  return misfits.length === 0 ? [] : [`the service no longer fits its profile: ${misfits.join('; ')}`];
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
