/**
 * Reads one window of one well: requests pages by core/paging/page-end.ts and counts their records, until all have
 * certainly come.
 */
import { NotFoundError, PermanentError, TransientError, type WellsyncError } from '../core/base/errors.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { limitsFor, maxPagesFor, readPages } from '../core/paging/page-end.ts';
import type { PageAnswer, PageAsk, PageLimit, PagingFailure } from '../core/paging/page.ts';
import { productionCalendar } from '../core/time/production-day.ts';
import { limitFor, misfitsOf } from '../core/paging/service-profile.ts';
import { askedWindow, type Window } from '../core/time/window.ts';
import { refusalOf, replyTo, type PageReply } from './page-reply.ts';
import type { ProductionDataService } from './production-data-service.ts';
import { RecordCounter } from './record-counter.ts';
import type { RecordPage } from './record-page.ts';
import type { RequestOptions } from './request-layer.ts';

type PageQuery = Parameters<ProductionDataService['fetchDailyProductionPage']>[0];
export interface PageOptions extends RequestOptions {
  /** Most records of one page; a page with more is refused as `too-many-records`. */
  readonly mostRecords?: number;
}

type PageFetch = (query: PageQuery, options: PageOptions) => Promise<RecordPage>;

/**
 * Implements readDailyProduction with fetchDailyProductionPage. Remembers which limit the service grants for the life
 * of the reader, so that a limit is refused once and not for every well.
 */
export function createDailyProductionReader(
  fetchPage: PageFetch,
  secrets: Secrets,
): ProductionDataService['readDailyProduction'] {
  const grantedLimits = new Map<number, readonly PageLimit[]>();

  return async ({ uwi, window, timeZone, pageLimit, pageLimitGranted, profile, daysBefore, onRows }, options = {}) => {
    const counter = new RecordCounter(window, productionCalendar(timeZone), secrets);
    const answers = new AnswerCount();
    const requested = askedWindow(window, daysBefore);
    const wanted = limitFor(profile, pageLimit);
    const limits = grantedLimits.get(wanted) ?? limitsFor(wanted);
    const grantedLimit = pageLimitGranted === true ? pageLimit : undefined;
    const pages = readPages({ window, limits, maxPages: maxPagesFor(requested), profile, grantedLimit });
    let refusal: PermanentError | undefined;
    let step = pages.next();
    while (step.done !== true) {
      const query = queryFor(uwi, requested, step.value);
      const reply = await replyTo(fetchPage(query, { ...options, onAnswer: answers.count }));
      if (reply instanceof PermanentError) refusal = reply;
      step = pages.next(answerOf(reply, counter, requested, step.value));
      await onRows?.(counter.rowCount);
    }
    const end = step.value;
    if (end.kind === 'fail') throw failureOf(end.failure, uwi, refusal);
    grantedLimits.set(wanted, end.limits);
    const paging = { ...end.found, limitRefused: end.limits[0] !== limits[0] };
    const misfits = profile === undefined ? [] : misfitsOf(profile, paging);
    const notices = [...answers.notices(), ...limitNotice(wanted, end.limits[0]), ...misfitNotice(misfits)];
    return {
      ...counter.reading(answers.total, notices),
      paging,
      ...(misfits.length > 0 ? { profileMisfit: true } : {}),
      ...(answers.hadNoContent && counter.rowCount === 0 ? { isWithoutContent: true } : {}),
    };
  };
}

function queryFor(uwi: string, requested: Window, { page, limit, window = requested }: PageAsk): PageQuery {
  return { uwi, startMs: window.fromMs, endMs: window.toMs, page, ...(limit === undefined ? {} : { limit }) };
}

function answerOf(
  reply: PageReply,
  counter: RecordCounter,
  requested: Window,
  { again, window = requested }: PageAsk,
): PageAnswer {
  if (reply instanceof PermanentError) return { kind: refusalOf(reply) ?? 'refused' };
  return { kind: 'page', ...counter.add(reply, window, again) };
}

/** The error for a failed read. A refusal keeps the service's own error. */
function failureOf(failure: PagingFailure, uwi: string, refusal: PermanentError | undefined): WellsyncError {
  switch (failure) {
    case 'not-found':
      return refusal ?? new NotFoundError('not-found', `the service does not know ${uwi}`, { status: 404 });
    case 'refused':
      // A 404 of a later page is not one of the well.
      return refusal === undefined || refusal instanceof NotFoundError
        ? new PermanentError('refused', `the service refused a page of ${uwi}, or every page`)
        : refusal;
    case 'page-ignored':
      return new PermanentError(
        'page-ignored',
        `the service ignores page, and nothing shows that it sent all rows of ${uwi}`,
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
    case 'unproven-end':
      return new TransientError(
        'unproven-end',
        `the service answered 404 to a page of ${uwi} behind the first, which it is not known to do past its last page`,
        { hint: 'It is tried again. Where it stays so, the service has changed: probe it.' },
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

/** Count of the answers to one read, and its notices about undeclared statuses. */
class AnswerCount {
  total = 0;
  readonly #undeclared = new Set<number>();

  readonly count = (status: number): void => {
    this.total += 1;
    if (status === 203 || status === 204) this.#undeclared.add(status);
  };

  /** Whether an answer was 204. */
  get hadNoContent(): boolean {
    return this.#undeclared.has(204);
  }

  notices(): readonly string[] {
    return [...this.#undeclared].map(
      (status) => `answers with status ${status} were taken, where only 200 is declared`,
    );
  }
}
