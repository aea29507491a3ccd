/**
 * What a storm leaves for its checker: the log and the truth of the service, the tables of the warehouse, and what was done
 * and seen meanwhile. All of it is plain JSON, so that a storm that violated something can be asked again from its files.
 * Times are milliseconds of the clock of the storm (Unix), unless a name says otherwise.
 */

/** A value of a record of daily production, as in the JSON of the service; the date as text. */
export type RecordBody = Readonly<Record<string, unknown>>;

/** How the service of a storm behaves where the interface says nothing; drawn by the seed. */
export interface ServiceManner {
  readonly pageBase: 0 | 1;
  readonly mostRowsPerPage: number;
  readonly order: 'ascending' | 'descending';
  readonly endIsInclusive: boolean;
  /** How a deletion of what is gone is answered. */
  readonly goneAnswer: 'zero' | 'not-found';
  /** One row a pipe, or one a pipe and date. */
  readonly pipesByDate: boolean;
  /** Pipes in a body, above which it is refused with 413. */
  readonly mostPipes: number;
}

/** A request as the service saw it. `no` counts all requests in the order of their arrival. */
export interface ServiceRequest {
  readonly no: number;
  readonly arrivedMs: number;
  readonly endpoint:
    | 'daily'
    | 'time-series'
    | 'well'
    | 'pipes'
    | 'delete-time-series'
    | 'delete-micro-string'
    | 'delete-wellbore';
  /** The uwi, source well id or equipment id; empty for pipes. */
  readonly target: string;
  /** Of a time series that is deleted. */
  readonly sourceId?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The token that was sent, as its number in the order of their issue; -1 for none or an unknown one. */
  readonly token: number;
  /** The fault that was played; absent for a plain answer. */
  readonly fault?: string;
  /** The status that was answered; 0 where none was. */
  status: number;
  /** When the last byte was handed over; absent where none was. */
  answeredMs?: number;
  /** Its number in the order in which the service worked what it was asked; absent where it did not. */
  readonly worked?: number;
  /** Whether the service did what was asked: a deletion or an upsert. */
  readonly isApplied?: boolean;
  /** What a deletion removed. */
  readonly removed?: number;
  /** The pipes of an applied body, in its order. */
  readonly pipes?: readonly RecordBody[];
  /** Of a body that was refused: its number of pipes, and the source ids of those that the service refuses. */
  readonly refused?: { readonly items: number; readonly sourceIds: readonly string[] };
}

/** A change of the truth of a well's records. `body` is the record afterwards as it is sent; null: it is gone. */
export interface Mutation {
  readonly atMs: number;
  readonly uwi: string;
  readonly xid: string;
  readonly what: 'initial' | 'late' | 'restated' | 'removed' | 'returned' | 'broken' | 'mended' | 'moved';
  readonly body: RecordBody | null;
}

/** A time series of an equipment that the service changed, removed or added by itself, or a well that it changed. */
export interface DefinitionChange {
  readonly atMs: number;
  readonly what: 'changed' | 'removed' | 'added';
  /** The equipment id, or the source well id. */
  readonly target: string;
  /** Of a time series. */
  readonly sourceId?: string;
}

export interface ServiceLog {
  readonly manner: ServiceManner;
  readonly requests: readonly ServiceRequest[];
  readonly mutations: readonly Mutation[];
  readonly definitionChanges: readonly DefinitionChange[];
  /** The highest number of daily, time series, well, pipe and delete requests that were being answered at one time. */
  readonly mostAtOnce: number;
  /** When there were so many first. Absent in older ones. */
  readonly mostAtMs?: number;
  /** From when on, and until when, no request should arrive: what a Retry-After of over a second asked. */
  readonly holds: ReadonlyArray<{ readonly fromMs: number; readonly untilMs: number }>;
  /** The pipes at the end, by `network/source` or `network/source/date` with the manner's identity. */
  readonly pipes: Readonly<Record<string, RecordBody>>;
  /** What stands of time series by equipment, and what of micro strings and wellbores by well. */
  readonly timeSeries: Readonly<Record<string, readonly RecordBody[]>>;
  readonly microStrings: Readonly<Record<string, number>>;
  readonly wellbores: Readonly<Record<string, number>>;
  readonly wells: Readonly<Record<string, RecordBody>>;
}

/** A row of a table: JSON columns are parsed, instants are ISO text in UTC with microseconds, days `YYYY-MM-DD`. */
export type TableRow = Readonly<Record<string, unknown>>;

/** A command of wellsync that a producer called, or a request to its API. */
export interface Called {
  readonly atMs: number;
  readonly endedMs: number;
  /** The arguments, or `METHOD /path`. */
  readonly words: readonly string[];
  /** The exit code, or the status; null: killed, or no answer. */
  readonly code: number | null;
  /** The JSON that it printed or answered, if it was any. */
  readonly document: unknown;
  /** The run that it named, if any. */
  readonly runId?: string;
  /** The idempotency key of a request. */
  readonly key?: string;
  /** Of a push: the file's content as text. */
  readonly pipesCsv?: string;
  /** It was called within the quiet time, where nothing is disturbed. */
  readonly isCalm: boolean;
}

/** Something that the storm did, or saw: a kill, an outage, a process that ended. */
export interface StormEvent {
  readonly atMs: number;
  readonly untilMs?: number;
  /** For example `kill`, `stop`, `redis-restart`, `bytes-cut`, `process-ended`. */
  readonly kind: string;
  /** The process or server that it was about. */
  readonly at: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface SentAlert {
  readonly atMs: number;
  readonly id: string;
  readonly body: unknown;
}

export interface FeedReading {
  readonly atMs: number;
  readonly version: number;
  /** What was wrong with it, in words; empty for a good one. */
  readonly faults: readonly string[];
  /** What its manifest says; absent for one that cannot be read. */
  readonly content?: {
    /** Of daily production by month, `YYYY-MM`. */
    readonly rows: Readonly<Record<string, number>>;
    readonly monthsDue: number;
    readonly lastRestatement: number;
  };
}

export interface Evidence {
  readonly seed: number;
  /** Of the storm itself, as it was planned. */
  readonly minutes: number;
  readonly warehouse: 'duckdb' | 'postgres';
  readonly queue: 'embedded' | 'redis';
  /** By how much the clock of one of the workers is off; absent: not at all. */
  readonly clockOffsetMs?: number;
  /** The storm itself: before it the world is set up, after it nothing is disturbed. */
  readonly begunMs: number;
  readonly calmMs: number;
  readonly endedMs: number;
  readonly settings: {
    readonly concurrency: number;
    readonly requestsPerSecond: number;
    /** Of the processes of a worker together. */
    readonly memoryMb?: number;
    readonly shrinkPercent: number;
    readonly shrinkRows: number;
    readonly historyFrom: string;
  };
  readonly service: ServiceLog;
  /** The truth when the tables were read: the records of each well as they are sent. */
  readonly truth: Readonly<Record<string, readonly RecordBody[]>>;
  /** By name, after all runs of the quiet time have ended: every table of the schema. */
  readonly tables: Readonly<Record<string, readonly TableRow[]>>;
  readonly calls: readonly Called[];
  /** Acts that found no room beside those under way, by kind. */
  readonly droppedActs?: Readonly<Record<string, number>>;
  readonly events: readonly StormEvent[];
  readonly alerts: readonly SentAlert[];
  readonly feed: readonly FeedReading[];
  /** Where secrets were looked for (logs, answers, Redis, files), each with the secrets found there. */
  readonly leaks: ReadonlyArray<{ readonly where: string; readonly secret: string }>;
  /** How a copy of the warehouse (`warehouse copy`) differs from it, in words; empty for an equal one. */
  readonly copyFaults: readonly string[];
  /** The memory that the processes of each service had at most, in MB, each process by its own peak. */
  readonly peakMb?: Readonly<Record<string, number>>;
  /** The end of what each service logged, as text by its name. Absent in a small one of a test. */
  readonly logs?: Readonly<Record<string, string>>;
  /** What was left behind: items of queues, orphans, temporary files; in words. */
  readonly leftovers: readonly string[];
}

export interface Violation {
  /** `G1` to `G11`, or `storm` for a promise without a number. */
  readonly guarantee: string;
  readonly what: string;
  /** When it happened, as near as it is known: the events around it are printed. */
  readonly atMs?: number;
  readonly detail?: Readonly<Record<string, unknown>>;
}
