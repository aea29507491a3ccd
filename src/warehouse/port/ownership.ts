/** The service that a warehouse belongs to, and the queue that works it (G11, docs/design.md section 5). */
import type { ServiceIdentity } from '../../core/base/service-key.ts';
import type { QueueKind } from '../../core/run/warehouse-queue.ts';

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
