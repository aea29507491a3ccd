/**
 * Ports to the storage (docs/design.md section 7): the data for readers ({@link Warehouse}) and the operational state
 * ({@link Ledger}). One database holds both, so that rows and the units that they settle are committed in one
 * transaction (G1, G3).
 */
import type { Presence, QueueKind, QueueStateStore } from '../../core/run/warehouse-queue.ts';
import type { RateBasis } from '../../core/daily/units.ts';
import type { KnownList } from '../../core/definitions/record-list.ts';
import type { AlertStore } from './alerts.ts';
import type { CleanupPlans, DeletionLedger } from './cleanup.ts';
import type { CoverageStore, DailyProductionStore, Holds, StorageOrder, TableOrder } from './daily-production.ts';
import type { ZoneStore } from './zones.ts';
import type { FeedLedger, FeedTables } from './feed.ts';
import type { CheckStore, MonthStore, RecordStore, WellStore } from './wells.ts';
import type { PushStore } from './pushes.ts';
import type { CopyTarget, QueryResult } from './query.ts';
import type { ProfileStore, ReadOrder, Retention, RunLedger, ScheduleStore } from './runs.ts';
import type { ServiceIdentity } from '../../core/base/service-key.ts';

/**
 * Throws UnreachableError('warehouse') if the file or the server cannot be reached, and
 * TransientError('warehouse-busy') if another process holds it longer than the configured wait.
 */
export interface Warehouse {
  /** What a warehouse of any earlier version holds. Migrates nothing. Throws UnreachableError if none exists yet. */
  describe(): Promise<WarehouseDescription>;
  /**
   * Copies the stored warehouse to a new file, byte by byte and with its log beside it, while nobody else writes. Migrates
   * nothing. Throws the system's error if the file cannot be written, and UnreachableError if no warehouse exists yet.
   */
  copyTo(file: string): Promise<void>;
  /**
   * Brings the log of the stored warehouse into its file, which then holds all of it. Migrates nothing. Throws OutageError
   * if its disk is full or fails.
   */
  foldLog(): Promise<void>;
  /** Whether the path leads to the file of this warehouse, by this name or another one. */
  isAt(path: string): boolean;
  /** Address without secrets, for operators: `duckdb:PATH`. */
  readonly location: string;
  /** Of the reads of daily production, wells and lists of records. */
  readonly readOrder: ReadOrder;
  readonly dailyProduction: DailyProductionStore;
  readonly zones: ZoneStore;
  readonly months: MonthStore;
  readonly coverage: CoverageStore;
  readonly checks: CheckStore;
  readonly wells: WellStore;
  records(list: KnownList): RecordStore;
  readonly feedTables: FeedTables;
  /**
   * For a command that only reads: throws UnreachableError if no warehouse exists yet, at once or at its first use, and
   * creates none.
   */
  requireStored(): void;
  /** Whether a warehouse exists at the address. */
  isStored(): Promise<boolean>;
  /** Opens and migrates the warehouse to the schema of this version; throws where its rows cannot be read. */
  open(): Promise<void>;
  /** As {@link open}, and describes it: its rows are counted. */
  check(): Promise<{ readonly engine: string; readonly schemaVersion: number; readonly dailyProductionRows: number }>;
  /** Makes a warehouse in a transaction that is rolled back, where that takes rights of a server. For one that is not there yet. */
  tryMaking(): Promise<void>;
  /** Writes to the warehouse in a transaction that is rolled back. For a warehouse that exists. */
  tryWriting(): Promise<void>;
  /**
   * Runs a read-only statement. Throws UsageError for a statement that would write or is invalid, with the engine's
   * message, UnreachableError('warehouse') if no warehouse exists yet, and AbortedError when the signal aborts. `use`
   * must have read the rows when it resolves, and must not call the warehouse or the ledger.
   */
  query<T>(sql: string, use: (result: QueryResult) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Writes the rows of a read-only statement to a file; returns their number. Throws as `query` does, and
   * PermanentError('output') if the file cannot be written.
   */
  copyQuery(sql: string, target: CopyTarget, signal?: AbortSignal): Promise<number>;
}

export interface WarehouseDescription {
  /** Address without secrets. */
  readonly location: string;
  readonly bytes: number;
  readonly schemaVersion: number;
  /** Whether it has the schema of this version. */
  readonly isCurrent: boolean;
  /** Null, like the service, in schemas before version 6. */
  readonly warehouseId: string | null;
  readonly service: string | null;
  /** What its rates mean (core/daily/units.ts); null in schemas before the first release. */
  readonly rateBasis: RateBasis | null;
  /** By which the rows are dated, but those of wells with a zone of their own; null before the first export. */
  readonly timeZone: string | null;
  /** The zone by which a rezone that has not ended dates the rows; null where none is under way. */
  readonly rezoneTo: string | null;
  /** The production days of the first and the last row, YYYY-MM-DD. */
  readonly oldestDay: string | null;
  readonly newestDay: string | null;
  /** Before this time the history is not complete; null if it is whole. */
  readonly historyHorizonMs: number | null;
  /** Null in schemas before version 6. */
  readonly order: TableOrder | null;
  /** The tables and views for readers, by name. */
  readonly tables: ReadonlyArray<{ readonly name: string; readonly rows: number }>;
}

/**
 * The operational state: ownership of the warehouse, runs and their units, pushes, cleanup plans, the audit of
 * deletions, service profiles, schedules, the order of the storage, the feed, the release of held rows, and alerts.
 */
export interface Ledger {
  readonly ownership: Ownership;
  readonly runs: RunLedger;
  readonly pushes: PushStore;
  readonly cleanupPlans: CleanupPlans;
  readonly deletions: DeletionLedger;
  readonly profiles: ProfileStore;
  readonly retention: Retention;
  readonly schedules: ScheduleStore;
  readonly order: StorageOrder;
  readonly feed: FeedLedger;
  readonly holds: Holds;
  readonly alerts: AlertStore;
  readonly queueState: QueueStateStore;
  readonly presence: Presence;
}

/** A warehouse with its ledger: one database, opened at its first use. */
export interface WarehouseHandle extends Warehouse {
  readonly ledger: Ledger;
  /** Releases everything. Idempotent. */
  close(): Promise<void>;
}

// The service that a warehouse belongs to, and the queue that works it (G11, docs/design.md section 5).

export interface WarehouseIdentity {
  /** Random; created with the warehouse. */
  readonly warehouseId: string;
  /** The key of its service; undefined until the first run or worker. */
  readonly service: string | undefined;
  /** The queue that works the warehouse; undefined until the first worker. */
  readonly queueId: string | undefined;
  /** Of that queue; undefined until the first worker. */
  readonly queueKind: QueueKind | undefined;
  /** Increases by one with every takeover, and with every change of the service, so that earlier workers stop. */
  readonly epoch: number;
}

/** A name of the warehouse's service in its records, besides the service key. */
export interface ServiceAlias {
  readonly address: string;
  readonly movedAtMs: number;
  readonly movedBy: string;
}

/** Context of an operator's change to the service of a warehouse. */
export interface ServiceChange {
  readonly by: string;
  readonly atMs: number;
  /** If true, nothing is changed. */
  readonly dryRun: boolean;
}

/** Number of records that use a name of the service. */
export type ServiceRecords = Readonly<Record<'profiles' | 'runs' | 'pushes' | 'plans', number>>;

export interface Ownership {
  read(): Promise<WarehouseIdentity>;
  /** The latest first. */
  aliases(): Promise<readonly ServiceAlias[]>;
  /**
   * Every name of the service at an address: the address, the key that it moved to, and the other names of that key.
   */
  namesOf(address: string): Promise<readonly string[]>;
  /**
   * Throws UsageError with both addresses if the warehouse belongs to another service, or if the records of a migrated
   * warehouse name several services or none. Writes nothing: the transaction that creates a run makes the claim.
   */
  checkService(service: ServiceIdentity): Promise<void>;
  /**
   * Assigns a warehouse without a service to `service`, or to the only service in its records. Raises the epoch and ends
   * the beat, so that earlier workers stop and new ones need not wait for them. Returns the key. Throws
   * UsageError if the warehouse already has a service, or if its records name several and `service` is undefined.
   */
  adopt(service: string | undefined, change: ServiceChange): Promise<string>;
  /** Gives a copied warehouse a new id and no queue, with the next epoch. Returns the id. */
  renew(): Promise<string>;
  /**
   * Makes `from` a name of `to`; one of them is the service of the warehouse. Raises the epoch and ends the beat, so
   * that workers of the old address stop and those of the new one need not wait for them. Returns the number of records under `from`. Throws UsageError if neither is its service.
   */
  move(from: string, to: string, change: ServiceChange): Promise<ServiceRecords>;

  /**
   * Assigns the warehouse to the queue, with the next epoch, if the epoch is still `seenEpoch`; writes its first beat
   * in the same transaction. Returns the new epoch, or undefined if another queue was first.
   */
  takeOver(queueId: string, seenEpoch: number, kind: QueueKind): Promise<number | undefined>;
  /** Gives the warehouse to no queue of this kind yet, with the next epoch: earlier workers stop. */
  useQueue(kind: QueueKind): Promise<void>;
  /**
   * From now on every transaction of this handle throws TakenOverError if the warehouse has another epoch, or belongs
   * to another service than this handle; the first such error is passed to `onTakenOver`. Returns what lifts it.
   */
  fence(epoch: number, onTakenOver: (error: Error) => void): () => void;

  /** The queue of the last beat. Opens no file of a warehouse. */
  beatOf(): Promise<string | undefined>;
  /**
   * Milliseconds since the last beat, by the clock of the warehouse; undefined without a beat. A beat from the future
   * counts as one of now.
   */
  beatAgeMs(): Promise<number | undefined>;
  /**
   * Writes a beat. Throws TakenOverError if the warehouse has another epoch and the last beat is not of this queue and
   * epoch, UnreachableError('warehouse') if the beat cannot be written.
   */
  beat(queueId: string, epoch: number): Promise<void>;
  /** Removes the beat of this queue and epoch, so that another one may start at once. */
  endBeat(queueId: string, epoch: number): Promise<void>;
}
