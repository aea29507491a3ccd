/**
 * What the server was sent: pipes by network and source id, and by date where that is set; deletions by target; requests.
 */
import { z } from 'zod';
import { arrayItems, instantOf } from '../data/rows.ts';
import type { TestingServerOptions } from '../options.ts';

/** An answer other than 200, with the reason as its body. */
export class RequestError extends Error {
  override readonly name: string = 'RequestError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** The fields of a pipe that the server reads; the rest is kept as text. */
const pipeSchema = z.looseObject({ sourceNetworkId: z.string().min(1), sourceId: z.string().min(1) });
type Pipe = z.output<typeof pipeSchema>;

export interface ReceivedPipe {
  readonly sourceNetworkId: string;
  readonly sourceId: string;
  /** JSON text of the item as it arrived; the last one wins. */
  readonly raw: string;
  readonly writes: number;
}

export interface DeletionTarget {
  readonly kind: 'time-series' | 'micro-string' | 'wellbore';
  /** Source equipment id or source well id. */
  readonly ownerId: string;
  readonly sourceId?: string;
}

export interface ReceivedDeletion extends DeletionTarget {
  /** Deletions that took effect or found nothing, including those without an answer. */
  readonly requests: number;
  readonly removed: number;
}

export class Received {
  readonly #pipes = new Map<string, ReceivedPipe>();
  readonly #deletions = new Map<string, ReceivedDeletion>();

  get pipeCount(): number {
    return this.#pipes.size;
  }

  pipes(): ReceivedPipe[] {
    return [...this.#pipes.values()];
  }

  deletions(): ReceivedDeletion[] {
    return [...this.#deletions.values()];
  }

  storePipe({ sourceNetworkId, sourceId, date }: Pipe, raw: string, pipeKey: TestingServerOptions['pipeKey']): void {
    const key = JSON.stringify([sourceNetworkId, sourceId, pipeKey === 'ids' ? null : versionOf(date)]);
    const writes = (this.#pipes.get(key)?.writes ?? 0) + 1;
    this.#pipes.set(key, { sourceNetworkId, sourceId, writes, raw });
  }

  recordDeletion(target: DeletionTarget, removed: number): void {
    const key = JSON.stringify([target.kind, target.ownerId, target.sourceId]);
    const before = this.#deletions.get(key) ?? { requests: 0, removed: 0 };
    this.#deletions.set(key, { ...target, requests: before.requests + 1, removed: before.removed + removed });
  }

  reset(): void {
    this.#pipes.clear();
    this.#deletions.clear();
  }
}

/** The instant of a date-time; any other value as it is. */
function versionOf(date: unknown): unknown {
  const instantMs = instantOf(date);
  return Number.isNaN(instantMs) ? (date ?? null) : instantMs;
}

export type PipeRefusal = (item: Pipe) => boolean;

type RejectionOptions = Pick<TestingServerOptions, 'rejectSourceIds' | 'rejectStatus' | 'bulkRejection' | 'pipeKey'>;

/**
 * Stores the items of a bulk request (docs/interface.md section 4.7), later ones over earlier ones, each as its slice of the
 * body. Throws RequestError: 400 for a body that is not an array of pipes (nothing is stored then), the configured status for
 * a body with a refused pipe.
 */
export function storePipes(body: string, received: Received, refusal: PipeRefusal, options: RejectionOptions): void {
  const items = pipesOf(body);
  const refused = items.map((item) => options.rejectSourceIds.includes(item.sourceId) || refusal(item));
  const firstRefused = refused.indexOf(true);
  if (firstRefused === -1 || options.bulkRejection === 'partial') {
    const texts = arrayItems(body);
    for (const [index, item] of items.entries()) {
      if (refused[index] === false) received.storePipe(item, texts[index] ?? '', options.pipeKey);
    }
  }
  if (firstRefused === -1) return;
  const reason = `item ${firstRefused} is refused: pipe ${items[firstRefused]?.sourceId}`;
  throw new RequestError(options.rejectStatus, reason);
}

function pipesOf(body: string): readonly Pipe[] {
  try {
    return z.array(pipeSchema).parse(JSON.parse(body));
  } catch (error) {
    if (error instanceof z.ZodError) throw new RequestError(400, z.prettifyError(error));
    throw new RequestError(400, `the body is not JSON: ${String(error)}`);
  }
}

// Counts of /api requests: by endpoint and outcome, concurrent requests, and requests within a second.

/** A status, or the fate of the connection when there was no complete answer. */
export type Outcome = number | 'reset' | 'truncated';

interface LoggedRequest {
  readonly method: string;
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
  #seen = nothingSeen();
  #atOneTime = 0;

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Records the arrival of a request. Call the returned function at its end. */
  arrive(): () => void {
    this.#seen.total += 1;
    this.#atOneTime += 1;
    this.#seen.mostAtOneTime = Math.max(this.#seen.mostAtOneTime, this.#atOneTime);
    this.#recordArrival(this.#nowMs());
    return () => {
      this.#atOneTime -= 1;
    };
  }

  record(endpoint: string, request: LoggedRequest): void {
    const outcomes = (this.#seen.byEndpoint[endpoint] ??= {});
    outcomes[request.outcome] = (outcomes[request.outcome] ?? 0) + 1;
    this.#seen.recent.push(request);
    if (this.#seen.recent.length >= 2 * MAX_RECENT) this.#seen.recent.splice(0, MAX_RECENT);
  }

  counts(): RequestCounts {
    const { arrivalsMs: _, byEndpoint, recent, ...counts } = this.#seen;
    return { ...counts, byEndpoint: structuredClone(byEndpoint), recent: recent.slice(-MAX_RECENT) };
  }

  /** Requests in flight still count towards `mostAtOneTime`. */
  reset(): void {
    this.#seen = { ...nothingSeen(), mostAtOneTime: this.#atOneTime };
  }

  #recordArrival(atMs: number): void {
    const { arrivalsMs } = this.#seen;
    arrivalsMs.push(atMs);
    const firstWithin = arrivalsMs.findIndex((arrivalMs) => arrivalMs > atMs - SECOND_MS);
    if (firstWithin > 0) arrivalsMs.splice(0, firstWithin);
    this.#seen.peakPerSecond = Math.max(this.#seen.peakPerSecond, arrivalsMs.length);
  }
}

function nothingSeen() {
  return {
    total: 0,
    byEndpoint: {} as Record<string, Record<string, number>>,
    mostAtOneTime: 0,
    peakPerSecond: 0,
    recent: [] as LoggedRequest[],
    arrivalsMs: [] as number[],
  };
}
