/** Ports to the records beside daily production: lists of records, and wells (docs/design.md section 4.2). */
import type { ShrinkGuard } from '../../core/daily/shrink-guard.ts';
import type { RecordList, RecordOf } from '../../core/definitions/record-list.ts';
import type { WellBody } from '../../core/definitions/well-body.ts';
import type { UnitOutcome } from '../../core/run/run.ts';

/** A complete answer about one target, which replaces the stored records of that target. */
export interface RecordsReading {
  /** The unit of the run that this reading settles. */
  readonly unit: number;
  readonly target: string;
  readonly records: ReadonlyArray<RecordOf<RecordList>>;
}

export interface WellReading {
  readonly unit: number;
  /** Source well id. */
  readonly target: string;
  readonly well: WellBody;
}

/**
 * Replaces the stored records of these targets, in one transaction with history and the outcomes of the units (G1).
 * Skips units that are already settled. core/definitions/definition.ts decides what is inserted, updated, removed and
 * held. Returns the outcomes of the units that this call settled.
 *
 * Where a read with a higher number (ReadOrder) has committed a target, and this one would change it, nothing of it is
 * written and its unit stays open: it has to be read again. By the last read the later one stands and the unit is settled.
 */
export type CommitDefinitions<Reading> = (batch: {
  readonly runId: string;
  readonly readings: readonly Reading[];
  readonly shrink: ShrinkGuard;
  /** From ReadOrder.begin, before the first request; without one they count as read at their commit. */
  readonly readNo?: number;
  /** The units are not read again. */
  readonly isLastRead?: boolean;
  /** For readings of a time that is known, in place of the clock of the database. */
  readonly committedAtMs?: number;
}) => Promise<readonly UnitOutcome[]>;

/** The records of one list. */
export interface RecordStore {
  readonly commit: CommitDefinitions<RecordsReading>;
  readonly settleUnknown: SettleUnknown;
  /** The targets with records, in order. */
  targets(): Promise<readonly string[]>;
}

/** Paths of fields in a well's JSON body, as names joined by dots: `location.timeZone`. */
export interface WellField {
  /** Path of the uwi. Without a path, or without a value in the body, the source id serves as the uwi. */
  readonly uwi?: string | undefined;
  readonly field: string;
}

export interface WellStore {
  readonly commit: CommitDefinitions<WellReading>;
  readonly settleUnknown: SettleUnknown;
  /** All wells, by source id. */
  known(uwiField?: string): Promise<ReadonlyArray<{ readonly sourceId: string; readonly uwi: string }>>;
  /** The bodies of these wells, by source id; a well that no export has read is absent. */
  bodies(sourceIds: readonly string[]): Promise<ReadonlyMap<string, WellBody>>;
  /** By uwi, the text of the field in the body; a well whose body has none is absent. All wells if none is named. */
  texts(field: WellField, uwis?: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

// The port to targets of exports that the service does not know (docs/design.md sections 4.1 and 4.2).

/** A unit whose target the service does not know. */
interface UnknownUnit {
  readonly unit: number;
  readonly target: string;
  /** Requests that it took; undefined for a job that does not count them. */
  readonly requests?: number | undefined;
}

/**
 * Settles units whose targets the service does not know, as `unknown`, in one transaction with the list of unknown
 * targets; removes nothing (G4). A target leaves the list with its next commit. Skips units that are already settled.
 * Returns the outcomes of the units that this call settled.
 */
export type SettleUnknown = (unknown: {
  readonly runId: string;
  readonly units: readonly UnknownUnit[];
  readonly atMs: number;
}) => Promise<readonly UnitOutcome[]>;
