/** The port to the Production Data Service: what the rest of wellsync may ask of it (INTERFACE.md section 4). */
import type { TransientError } from '../core/errors.ts';
import type { WindowReading } from '../core/reading.ts';
import type { ServiceProfile } from '../core/service-profile.ts';
import type { Window } from '../core/window.ts';
import type { RecordPage } from './record-page.ts';

/** A TimeSeriesRecord of INTERFACE.md section 2.2; `measurement` is kept as it comes. */
export interface TimeSeriesRecord {
  readonly xid: string;
  readonly equipmentXid: string;
  readonly sourceId: string;
  readonly measurement: string;
  readonly unit: string | null;
}

export interface ProbeRequest {
  /** A well with data; five rows or more tell most. */
  readonly uwi: string;
  /** For dates without an offset. */
  readonly timeZone: string;
}

/** The answer to the retrieval of a well: its shape is not shown, so the body is kept as text with its content type. */
export interface WellBody {
  readonly contentType: string | null;
  readonly body: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Told of every attempt, right before it is sent. */
  readonly onAttempt?: () => void;
  /** Told of each attempt that failed and is followed by another: what it says of the effect of a deletion, say. */
  readonly onRetry?: (error: TransientError) => void;
}

export interface DailyProductionRequest {
  readonly uwi: string;
  readonly window: Window;
  readonly timeZone: string;
  /** Rows to ask for on a page; the service may grant fewer. */
  readonly pageLimit: number;
  /** The operator's word that the service sends as many rows as pageLimit where it has them. */
  readonly pageLimitGranted?: boolean | undefined;
  readonly profile?: ServiceProfile | undefined;
  /** Told after each page how many rows have come by now; no further page is asked for before it resolves. */
  readonly mayGoOn?: ((rows: number) => Promise<void>) | undefined;
}

/**
 * The service, over HTTP. Every call retries what is transient within its deadline (the request layer; DESIGN.md
 * section 5), never before the server's Retry-After, and gives up at once when its signal aborts (AbortedError).
 *
 * Throws TransientError or RateLimitedError when the attempts or the deadline are spent, NotFoundError on 404,
 * PermanentError on 400, 409, 413, 422 and every other undeclared 3xx/4xx, AccessError on 403 and on 401 after the token was renewed once.
 */
export interface ProductionDataService {
  /** Base address without user info: it may be shown. */
  readonly baseUrl: string;

  /**
   * Section 4.1, one page. Records as they came, unchecked. Times go out as ISO date-times in UTC.
   * An undefined parameter is not sent.
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
   * Reads every page of one window to its end and checks each record (core/page-end.ts decides how). The window asked for
   * is wider by a day on both sides; rows are kept by their own date, half-open.
   *
   * With a profile that fits, a read takes one request more than there are pages; one that does not fit is noticed, the
   * reading is right all the same, and says so (`profileMisfit`). Throws TransientError `unstable-read` where records
   * moved between the pages for longer than the read had patience (G4).
   */
  readDailyProduction(request: DailyProductionRequest, options?: CallOptions): Promise<WindowReading>;

  /**
   * Finds what the interface does not show (DESIGN.md section 3) by section 4.1, with at most 12 requests, retries apart.
   * What the well cannot tell is `unknown`, with the reason among the evidence. Throws PermanentError `no-data` for a well
   * without rows.
   */
  probe(request: ProbeRequest, options?: CallOptions): Promise<ServiceProfile>;

  /** Section 4.2. */
  fetchTimeSeries(sourceEquipmentId: string, options?: CallOptions): Promise<readonly TimeSeriesRecord[]>;
  /**
   * Section 4.3. The integer has no documented meaning: stored as it is, never read as a count. Null where the service
   * answered another 2xx than the declared 200 and no body (204).
   */
  deleteTimeSeries(sourceEquipmentId: string, sourceId: string, options?: CallOptions): Promise<number | null>;
  /** Section 4.4, answered like 4.3. */
  deleteMicroStrings(sourceWellId: string, options?: CallOptions): Promise<number | null>;
  /** Section 4.5, answered like 4.3. */
  deleteWellbores(sourceWellId: string, options?: CallOptions): Promise<number | null>;
  /** Section 4.6. */
  fetchWell(sourceId: string, options?: CallOptions): Promise<WellBody>;
  /** Section 4.7. `body` is the JSON array as text, so that numbers go out as their source wrote them. The response body is not shown: it is not read, but for a proxy's page in its place. */
  upsertNetworkPipes(body: string, options?: CallOptions): Promise<void>;

  /** Waits for the calls under way and lets go of the connections. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Leave to send one request: the limits towards the service hold across all workers together (G9), so the queue room
 * keeps them, and every attempt of every call passes through here.
 */
export interface Admission {
  /** Resolves when one request may go out; the returned function ends its place among the concurrent ones. Rejects with AbortedError. */
  enter(signal: AbortSignal): Promise<() => void>;
  /** Nobody sends before this many milliseconds have passed: what a Retry-After demands of all. */
  holdAll(delayMs: number): Promise<void>;
}
