/** Counts of /api requests: by endpoint and outcome, concurrent requests, and requests within a second. */

/** A status, or the fate of the connection when there was no complete answer. */
export type Outcome = number | 'reset' | 'truncated';

export interface LoggedRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly outcome: Outcome;
}

export interface RequestCounts {
  readonly total: number;
  /** Counts by endpoint, then by status (or `reset`, `truncated`). */
  readonly byEndpoint: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly mostAtOneTime: number;
  /** Most arrivals within any 1000 ms. */
  readonly peakPerSecond: number;
  /** The last {@link MAX_RECENT} requests, oldest first. */
  readonly recent: readonly LoggedRequest[];
}

const MAX_RECENT = 1000;
const SECOND_MS = 1000;

export class RequestLog {
  readonly #nowMs: () => number;
  #byEndpoint: Record<string, Record<string, number>> = {};
  #recent: LoggedRequest[] = [];
  #arrivalsMs: number[] = [];
  #total = 0;
  #atOneTime = 0;
  #mostAtOneTime = 0;
  #peakPerSecond = 0;

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Records the arrival of a request. Call the returned function at its end. */
  arrive(): () => void {
    this.#total += 1;
    this.#atOneTime += 1;
    this.#mostAtOneTime = Math.max(this.#mostAtOneTime, this.#atOneTime);
    this.#noteArrival(this.#nowMs());
    return () => {
      this.#atOneTime -= 1;
    };
  }

  note(endpoint: string, request: LoggedRequest): void {
    const outcomes = (this.#byEndpoint[endpoint] ??= {});
    outcomes[request.outcome] = (outcomes[request.outcome] ?? 0) + 1;
    this.#recent.push(request);
    if (this.#recent.length >= 2 * MAX_RECENT) this.#recent = this.#recent.slice(-MAX_RECENT);
  }

  counts(): RequestCounts {
    return {
      total: this.#total,
      byEndpoint: structuredClone(this.#byEndpoint),
      mostAtOneTime: this.#mostAtOneTime,
      peakPerSecond: this.#peakPerSecond,
      recent: this.#recent.slice(-MAX_RECENT),
    };
  }

  /** Requests in flight still count towards `mostAtOneTime`. */
  reset(): void {
    this.#byEndpoint = {};
    this.#recent = [];
    this.#arrivalsMs = [];
    this.#total = 0;
    this.#mostAtOneTime = this.#atOneTime;
    this.#peakPerSecond = 0;
  }

  #noteArrival(atMs: number): void {
    this.#arrivalsMs.push(atMs);
    const firstWithin = this.#arrivalsMs.findIndex((arrivalMs) => arrivalMs > atMs - SECOND_MS);
    if (firstWithin > 0) this.#arrivalsMs.splice(0, firstWithin);
    this.#peakPerSecond = Math.max(this.#peakPerSecond, this.#arrivalsMs.length);
  }
}
