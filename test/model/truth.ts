/**
 * A service in memory that holds the truth: every record of every well with all of its versions. Each request and each change
 * is a tick, so that a model can say of any stored row from when to when the service had it so.
 */
import { DAY_MS } from '../../src/core/time/window.ts';
import type { ServiceRequest } from '../../src/service/http-exchange.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';
import { baseUrl, type GivenAnswer, memoryClient, token } from './memory-client.ts';
import type { Pace } from './world.ts';

export { baseUrl };

/** What the service had of a record from a tick on, until the next version; undefined for nothing. */
export interface Version {
  readonly fromTick: number;
  readonly oilRate: number | undefined;
  /** Whether it is there and breaks the contract. */
  readonly isBroken?: true;
}

export interface RecordTruth {
  readonly uwi: string;
  readonly xid: string;
  readonly dateMs: number;
  readonly versions: Version[];
}

/** How the service pages: nothing of it is documented (docs/interface.md section 4.1). */
export interface Paging {
  readonly firstPage: 0 | 1;
  readonly mostRows: number;
}

export class Truth {
  readonly #paging: Paging;
  readonly #records = new Map<string, RecordTruth>();
  /** The tick of the first request of a run about a well. */
  readonly #firstRequests = new Map<string, number>();
  #tick = 0;
  #payload = 0;
  /** Wells that are answered with 404. */
  readonly unknown = new Set<string>();
  /** Requests that are answered with 503 from now on. */
  faults = 0;

  constructor(paging: Paging) {
    this.#paging = paging;
  }

  get records(): readonly RecordTruth[] {
    return [...this.#records.values()];
  }

  /** The records that it has now, by xid. */
  get rows(): ReadonlyArray<{ readonly xid: string; readonly oilRate: number }> {
    const now = this.records.flatMap(({ xid, versions }) => {
      const oilRate = versions.at(-1)?.oilRate;
      return oilRate === undefined ? [] : [{ xid, oilRate }];
    });
    return now.toSorted((left, right) => (left.xid < right.xid ? -1 : 1));
  }

  /** Adds a record of a day, or changes the one that the well has. Every value is a new one. */
  put(uwi: string, dateMs: number): void {
    const xid = xidOf(uwi, dateMs);
    const record = this.#records.get(xid) ?? { uwi, xid, dateMs, versions: [] };
    this.#records.set(xid, record);
    this.#payload += 1;
    record.versions.push({ fromTick: this.#next(), oilRate: this.#payload });
  }

  remove(uwi: string, dateMs: number): void {
    const record = this.#records.get(xidOf(uwi, dateMs));
    if (record?.versions.at(-1)?.oilRate === undefined) return;
    record.versions.push({ fromTick: this.#next(), oilRate: undefined });
  }

  /** The record of that day breaks the contract from now on. */
  breakRecord(uwi: string, dateMs: number): void {
    const record = this.#records.get(xidOf(uwi, dateMs));
    record?.versions.push({ fromTick: this.#next(), oilRate: undefined, isBroken: true });
  }

  /** Each broken record comes right, and each well answers. */
  mend(): void {
    for (const { uwi, dateMs, versions } of this.records) if (versions.at(-1)?.isBroken === true) this.put(uwi, dateMs);
    this.unknown.clear();
  }

  /** Whether the record broke the contract at this tick or later: what the warehouse has of it stays as it was. */
  wasBrokenSince(xid: string, tick: number): boolean {
    const versions = this.#records.get(xid)?.versions ?? [];
    return versions.some(
      ({ isBroken }, index) => isBroken === true && (versions[index + 1]?.fromTick ?? Infinity) > tick,
    );
  }

  /** The tick of the first request of a run about a well; undefined if there was none. */
  firstRequest(runId: string, uwi: string): number | undefined {
    return this.#firstRequests.get(`${runId} ${uwi}`);
  }

  /** Whether the service had the record so at this tick or later; undefined: whether it did not have it. */
  hadSince(xid: string, oilRate: number | undefined, tick: number): boolean {
    const versions = this.#records.get(xid)?.versions ?? [];
    const all: readonly Version[] = [{ fromTick: 0, oilRate: undefined }, ...versions];
    return all.some((version, index) => version.oilRate === oilRate && (all[index + 1]?.fromTick ?? Infinity) > tick);
  }

  /** The client of a process, with all of its layers above HTTP. */
  client(pace: Pace): ProductionDataService {
    return memoryClient(pace, (request, runId) => this.#answer(request, runId));
  }

  #next(): number {
    this.#tick += 1;
    return this.#tick;
  }

  #answer(request: ServiceRequest, runId: string): GivenAnswer {
    const tick = this.#next();
    const url = new URL(request.path, baseUrl);
    const uwi = decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
    const key = `${runId} ${uwi}`;
    if (!this.#firstRequests.has(key)) this.#firstRequests.set(key, tick);
    const isFault = this.faults > 0;
    if (isFault) this.faults -= 1;
    if (!isFault && this.unknown.has(uwi)) return { status: 404, text: '{"message":"no such well"}' };
    const text = isFault ? `busy, said ${token}` : JSON.stringify(this.#page(uwi, url.searchParams));
    return { status: isFault ? 503 : 200, text };
  }

  #page(uwi: string, query: URLSearchParams) {
    const [start, end] = [query.get('startDate'), query.get('endDate')];
    const fromMs = start === null ? -Infinity : Date.parse(start);
    const toMs = end === null ? Infinity : Date.parse(end);
    const rows = this.records
      .filter((record) => record.uwi === uwi && record.dateMs >= fromMs && record.dateMs <= toMs)
      .toSorted((left, right) => left.dateMs - right.dateMs)
      .flatMap(({ xid, dateMs, versions }) => {
        const { oilRate, isBroken } = versions.at(-1) ?? {};
        const date = new Date(dateMs).toISOString();
        // Other content each time: what was accepted of it is not what comes next.
        const sent = isBroken === true ? `no ${versions.length}` : oilRate;
        return sent === undefined ? [] : [{ xid, date, oilRate: sent }];
      });
    const size = Math.min(this.#paging.mostRows, Number(query.get('limit') ?? this.#paging.mostRows));
    const index = Number(query.get('page') ?? this.#paging.firstPage) - this.#paging.firstPage;
    // As a service that begins with 1 may answer 0: with its first page.
    const first = Math.max(0, index) * size;
    return rows.slice(first, first + size);
  }
}

/** A day of a well has one record. */
function xidOf(uwi: string, dateMs: number): string {
  const day = (dateMs / DAY_MS).toFixed(0).padStart(12, '0');
  return `00000000-0000-4000-8000-${uwi.codePointAt(1)?.toString(16).padStart(2, '0') ?? '00'}${day.slice(2)}`;
}
