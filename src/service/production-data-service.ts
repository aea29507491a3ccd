/** The port to the Production Data Service (docs/interface.md section 4). */
import type { Logger } from 'pino';
import type { TransientError } from '../core/base/errors.ts';
import type { KnownList, RecordOf } from '../core/definitions/record-list.ts';
import type { WellBody } from '../core/definitions/well-body.ts';
import type { RowBlocks } from '../core/daily/row-columns.ts';
import type { WindowReading } from '../core/daily/reading.ts';
import type { NullableFields } from '../core/daily/row.ts';
import type { TrustedEnd } from '../core/paging/page-end.ts';
import type { ServiceProfile } from '../core/paging/service-profile.ts';
import type { Window } from '../core/time/window.ts';
import type { RecordPage } from './record-page.ts';

export interface ProbeRequest {
  /** A well with data; five rows or more show most properties. */
  readonly uwi: string;
  /** IANA zone of dates without an offset. */
  readonly timeZone: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Called right before each attempt is sent. */
  readonly onAttempt?: () => void;
  /** Called after each failed attempt that is retried: its error may tell whether a deletion took effect. */
  readonly onRetry?: (error: TransientError) => void;
}

export interface DailyProductionRequest {
  readonly uwi: string;
  readonly window: Window;
  readonly timeZone: string;
  /** The time of the read: a record of a day after tomorrow is quarantined, wherever it comes. None if omitted. */
  readonly nowMs?: number | undefined;
  /** Required fields in which null is an unknown value, and no fault (`export.nullable`); none if omitted. */
  readonly nullable?: NullableFields | undefined;
  /** Days before the window that are requested as well, at least 1; their rows are outside. A day less a minute if omitted. */
  readonly daysBefore?: number | undefined;
  /** Rows to request per page; the service may grant fewer. */
  readonly pageLimit: number;
  /** The operator's statement that the service sends `pageLimit` rows when it has them. */
  readonly pageLimitGranted?: boolean | undefined;
  readonly profile?: ServiceProfile | undefined;
  /** Leave to end the read, unverified, where the profile says so; undefined for a verified read. */
  readonly trustedEnd?: TrustedEnd | undefined;
  /**
   * Most records that the read may hold, long texts counted as further records; more fail it as `too-many-rows`.
   * Unbounded if omitted.
   */
  readonly maxRows?: number | undefined;
  /** Where the rows take their room; they may be released to them. By default each window has room of its own. */
  readonly blocks?: RowBlocks | undefined;
  /**
   * Called after each page with the number of rows so far, and with the rows that take as much memory as they and their
   * texts. The next page is requested when it resolves.
   */
  readonly onRows?: ((rows: number, heldRows: number) => Promise<void>) | undefined;
}

/**
 * The service, over HTTP. Every call retries transient errors within its deadline (request-layer.ts; docs/design.md
 * section 5), never before the server's Retry-After, and ends at once when its signal aborts (AbortedError).
 *
 * Throws TransientError or RateLimitedError when the attempts or the deadline are spent, NotFoundError on 404,
 * PermanentError on 400, 409, 413, 422 and every other undeclared 3xx/4xx, AccessError on 403 and on 401 after the
 * token was renewed once.
 */
export interface ProductionDataService {
  /** Base address without user info, fit for messages. */
  readonly baseUrl: string;

  /**
   * The same client for the requests of a run: runs share the limits towards the service fairly. What it tells of them goes
   * to the log of their work.
   */
  forRun(runId: string, log?: Logger): ProductionDataService;

  /**
   * One page of docs/interface.md section 4.1, its records unchecked. Times are sent as ISO date-times in UTC. An
   * undefined parameter is not sent.
   */
  fetchDailyProductionPage(
    query: {
      readonly uwi: string;
      readonly startMs?: number;
      readonly endMs?: number;
      readonly page?: number;
      readonly limit?: number;
    },
    options?: CallOptions,
  ): Promise<RecordPage>;

  /**
   * Reads every page of one window to its end (core/paging/page-end.ts) and checks each record. The requested range is
   * wider on both sides (core's askedWindow); rows are kept by their own date, half-open.
   *
   * With a matching profile, a read takes one request more than there are pages, and where `trustedEnd` allows it a
   * single one for a window that fits a page (`isVerified` false). A profile that does not match a verified read is
   * noticed: the result is still right, and marked (`profileMisfit`). Where an answer is too large, the window is read in
   * halves, down to a day (G8). Throws TransientError `unstable-read` when records moved between the pages in every
   * pass (G4), PermanentError `body-too-large` or `too-many-records` for a day that is too large, `too-many-rows` for
   * more than `maxRows`.
   */
  readDailyProduction(request: DailyProductionRequest, options?: CallOptions): Promise<WindowReading>;

  /**
   * Probes what the interface does not show (docs/design.md section 3) by docs/interface.md section 4.1, with at most
   * 12 requests, retries apart. A property that the well cannot show is `unknown`, with the reason as its evidence.
   * Throws PermanentError `no-data` for a well without rows.
   */
  probe(request: ProbeRequest, options?: CallOptions): Promise<ServiceProfile>;

  /** Every record of a target, in one answer: docs/interface.md section 4.2 for time series. */
  fetchRecords<List extends KnownList>(
    list: List,
    target: string,
    options?: CallOptions,
  ): Promise<ReadonlyArray<RecordOf<List>>>;
  /**
   * docs/interface.md section 4.3. The integer has no documented meaning: stored unchanged, never used as a count. Null
   * when the service answered another 2xx than the declared 200, without a body (204).
   */
  deleteTimeSeries(sourceEquipmentId: string, sourceId: string, options?: CallOptions): Promise<number | null>;
  /** docs/interface.md section 4.4. Returns as `deleteTimeSeries` does. */
  deleteMicroStrings(sourceWellId: string, options?: CallOptions): Promise<number | null>;
  /** docs/interface.md section 4.5. Returns as `deleteTimeSeries` does. */
  deleteWellbores(sourceWellId: string, options?: CallOptions): Promise<number | null>;
  /** docs/interface.md section 4.6. */
  fetchWell(sourceId: string, options?: CallOptions): Promise<WellBody>;
  /**
   * docs/interface.md section 4.7. `body` is a JSON array as text, so that numbers are sent as their source wrote them.
   * The response body is undocumented and ignored, except for a proxy's web page in its place.
   */
  upsertNetworkPipes(body: string, options?: CallOptions): Promise<void>;

  /** Waits for running calls and closes the connections. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Permission to send requests. The limits towards the service hold across all workers together (G9), so the queue
 * enforces them; every attempt of every call passes through here.
 */
export interface RequestLimiter {
  /**
   * Resolves when one request of a run may be sent; those without one count as a run together. The returned function
   * frees its place among the concurrent ones. Rejects with AbortedError, with ServiceHoldError while the service wants
   * all to wait for too long, and with TransientError `service-down` while it is down for too long.
   */
  enter(signal: AbortSignal, runId?: string): Promise<() => void>;
  /**
   * Stops all workers from sending for `delayMs` milliseconds, as a Retry-After demands, within a bound. Throws
   * ServiceHoldError for more than that.
   */
  pauseAll(delayMs: number): Promise<void>;
  /** The service answered a request, and asked for no wait. */
  recordAnswer(): void;
  /**
   * A request failed in a way that may pass. Returns whether the service is down for all workers: then the request waits
   * and is sent again, and its failure says nothing of it.
   */
  recordFailure(failed: {
    /** Differs for different requests, and is the same when one is repeated. */
    readonly name: string;
    /** What it met, fit for messages. */
    readonly fault: string;
    /** Whether the service was not even reached. */
    readonly hasNoConnection: boolean;
  }): Promise<boolean>;
}
