/**
 * Reads one window of one well: requests pages by core/paging/page-end.ts and counts their records, until all have
 * certainly come.
 */
import { NotFoundError, PermanentError, TransientError, type WellsyncError } from '../core/base/errors.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { latestDayAt } from '../core/daily/record-check.ts';
import { limitsFor, maxPagesFor, mostPagesOf, readPages } from '../core/paging/page-end.ts';
import type { PageAnswer, PageAsk, PageLimit, PagingFailure } from '../core/paging/chain-and-passes.ts';
import { productionCalendar } from '../core/time/production-day.ts';
import { limitFor, misfitsOf } from '../core/paging/service-profile.ts';
import { askedWindow, daysIn, halvesOf, type Window } from '../core/time/window.ts';
import { boundText, counted } from '../core/base/text.ts';
import { refusalOf, replyTo } from './build-profile.ts';
import type { DailyProductionRequest, ProductionDataService } from './production-data-service.ts';
import { RecordCounter, type PageKeys } from './record-counter.ts';
import type { ReceivedPage, RequestOptions } from './request-layer.ts';

type PageQuery = Parameters<ProductionDataService['fetchDailyProductionPage']>[0];
interface PageOptions extends RequestOptions {
  /** Most records of one page; a page with more is refused as `too-many-records`. */
  readonly mostRecords?: number | undefined;
}

/** Fetches a page. Its value is what `take` makes of it. */
export type PageFetch = <T>(query: PageQuery, take: (page: ReceivedPage) => T, options?: PageOptions) => Promise<T>;

/**
 * Implements readDailyProduction with fetchDailyProductionPage. Remembers which limit the service grants for the life
 * of the reader, so that a limit is refused once and not for every well.
 */
export function createDailyProductionReader(
  fetchPage: PageFetch,
  secrets: Secrets,
): ProductionDataService['readDailyProduction'] {
  const grantedLimits = new Map<number, readonly PageLimit[]>();

  return async (request, options = {}) => {
    const { uwi, window, timeZone, pageLimit, profile } = request;
    const calendar = productionCalendar(timeZone);
    const latestDay = latestDayAt(request.nowMs ?? Infinity, calendar);
    const counter = new RecordCounter(window, calendar, secrets, {
      blocks: request.blocks,
      latestDay,
      nullable: request.nullable,
    });
    const answers = new AnswerCount();
    const wanted = limitFor(profile, pageLimit);
    const limits = grantedLimits.get(wanted) ?? limitsFor(wanted);
    const ends = await readInParts({ window, uwi, onTooLarge: answers.countTooLarge }, async (part, isPart) => {
      const { end, refusal } = await readPart({ ...request, part, isPart, limits, counter }, async (query, take) =>
        replyTo(fetchPage(query, take, { ...options, onAnswer: answers.count, mostRecords: request.maxRows })),
      );
      if (end.kind === 'fail') throw failureOf(end.failure, uwi, refusal);
      grantedLimits.set(wanted, end.limits);
      return end;
    });
    const pagings = ends.map((end) => ({ ...end.found, limitRefused: end.limits[0] !== limits[0] }));
    const misfits = new Set(profile === undefined ? [] : pagings.flatMap((paging) => misfitsOf(profile, paging)));
    const granted = ends.at(-1)?.limits[0];
    const notices = [...answers.notices(), ...limitNotice(wanted, granted), ...misfitNotice([...misfits])];
    return {
      ...counter.reading(answers.total, notices),
      isVerified: ends.every(({ isVerified }) => isVerified),
      paging: { ...pagings.at(-1), limitRefused: pagings.some(({ limitRefused }) => limitRefused) },
      ...(misfits.size > 0 ? { profileMisfit: true } : {}),
      ...(answers.hadNoContent && counter.rowCount === 0 ? { isWithoutContent: true } : {}),
    };
  };
}

interface PartRequest extends DailyProductionRequest {
  /** The window of the request, or a part of it. */
  readonly part: Window;
  readonly isPart: boolean;
  readonly limits: readonly PageLimit[];
  readonly counter: RecordCounter;
}

type PartFetch = (query: PageQuery, take: (page: ReceivedPage) => PageKeys) => Promise<PageKeys | PermanentError>;

/** Reads the pages of one window to their end. */
async function readPart(request: PartRequest, fetchPage: PartFetch) {
  const { uwi, window, part, isPart, limits, counter, profile, maxRows = Infinity, onRows } = request;
  const { pageLimit, pageLimitGranted } = request;
  const requested = askedWindow(part, part.fromMs === window.fromMs ? request.daysBefore : undefined);
  const grantedLimit = pageLimitGranted === true ? pageLimit : undefined;
  // A window whose answer is too large is no quick one.
  const trustedEnd = isPart ? undefined : request.trustedEnd;
  const pages = readPages({
    window: part,
    limits,
    maxPages: maxPagesFor(requested),
    profile,
    trustedEnd,
    grantedLimit,
  });
  let refusal: PermanentError | undefined;
  let answered = 0;
  let step = pages.next();
  while (step.done !== true) {
    // The parts of a window overlap, and what came before them comes again.
    const ask = isPart ? { ...step.value, again: Infinity } : step.value;
    const { again, window: asked = requested } = ask;
    const reply = await fetchPage(queryFor(uwi, requested, ask), (page) => keysOf(page, counter, asked, again));
    if (reply instanceof PermanentError) refusal = reply;
    step = pages.next(answerOf(reply));
    if (counter.heldRows > maxRows) throw tooManyRows(uwi, maxRows);
    answered += 1;
    if (answered > mostPagesOf(counter.dayCount)) throw tooManyPages(uwi, answered, counter);
    await onRows?.(counter.rowCount, counter.heldRows);
  }
  return { end: step.value, refusal };
}

interface WindowOfWell {
  readonly window: Window;
  readonly uwi: string;
  readonly onTooLarge: (error: PermanentError) => void;
}

/**
 * Reads a window with `read`; where an answer is too large, its halves instead, each in the same way (G8). Throws
 * PermanentError for a day that is too large.
 */
async function readInParts<End>(
  { window, uwi, onTooLarge }: WindowOfWell,
  read: (part: Window, isPart: boolean) => Promise<End>,
): Promise<readonly End[]> {
  const ends: End[] = [];
  const left = [window];
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    try {
      ends.push(await read(part, part !== window));
    } catch (error) {
      if (!(error instanceof PermanentError) || !isTooLarge(error)) throw error;
      onTooLarge(error);
      if (daysIn(part) === 1) throw tooLargeDay(error, uwi, part);
      left.push(...halvesOf(part).toReversed());
    }
  }
  return ends;
}

/** An answer that a narrower window may shorten. */
function isTooLarge({ code }: PermanentError): boolean {
  return code === 'body-too-large' || code === 'too-many-records';
}

function tooLargeDay(cause: PermanentError, uwi: string, { fromMs }: Window): PermanentError {
  return new PermanentError(cause.code, `${cause.message}, even for one day of ${uwi} (${boundText(fromMs)})`, {
    cause,
    hint: 'The service sends more for a day than fits: lower service.pageLimit, or raise worker.memoryMb.',
  });
}

function tooManyRows(uwi: string, maxRows: number): PermanentError {
  return new PermanentError(
    'too-many-rows',
    `the service sent more than ${counted(maxRows, 'record')} of ${uwi}, or texts as long`,
    {
      hint: 'Do the records keep their xid from one request to the next? If so, read the well in parts, by shorter ranges of days, or raise worker.memoryMb.',
    },
  );
}

function tooManyPages(uwi: string, pages: number, { rowCount, dayCount }: RecordCounter): PermanentError {
  return new PermanentError(
    'pages-without-end',
    `the service sent ${counted(pages, 'page')} of ${uwi} with ${counted(rowCount, 'record')} that are dated on ${counted(dayCount, 'day')}, and does not end`,
    { hint: keepsItsXids },
  );
}

const keepsItsXids =
  'Do the records keep their xid from one request to the next? Where they do not, the service has to be corrected: wellsync tells records by it.';

function queryFor(uwi: string, requested: Window, { page, limit, window = requested }: PageAsk): PageQuery {
  return { uwi, startMs: window.fromMs, endMs: window.toMs, page, ...(limit === undefined ? {} : { limit }) };
}

/** Counts the records of a page, which is parsed only where it is not plain. */
function keysOf(page: ReceivedPage, counter: RecordCounter, asked: Window, again: number): PageKeys {
  const { bytes, mostRecords } = page;
  const keys = bytes === undefined ? undefined : counter.addPlainPage(bytes, mostRecords, asked, again);
  return keys ?? counter.add(page.parsed(), asked, again);
}

function answerOf(reply: PageKeys | PermanentError): PageAnswer {
  if (reply instanceof PermanentError) return { kind: refusalOf(reply) ?? 'refused' };
  return { kind: 'page', ...reply };
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
        { hint: keepsItsXids },
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

  /** A body that was not read to its end was an answer too. */
  readonly countTooLarge = ({ code }: PermanentError): void => {
    if (code === 'body-too-large') this.total += 1;
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
