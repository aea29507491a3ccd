/** The ports to what the warehouse keeps beside daily production: time series definitions, and wells (DESIGN.md section 4.2). */
import type { ShrinkGuard } from '../core/merge.ts';
import type { UnitOutcome } from '../core/run.ts';
import type { WellBody } from '../core/well-body.ts';

/** A record of INTERFACE.md section 2.2. */
export interface TimeSeriesDefinition {
  readonly xid: string;
  readonly equipmentXid: string;
  readonly sourceId: string;
  readonly measurement: string;
  readonly unit: string | null;
}

/** A complete answer about one target, ready to replace what the warehouse has of it. */
export interface TimeSeriesReading {
  /** The unit of the run that this settles. */
  readonly unit: number;
  /** Source equipment id. */
  readonly target: string;
  readonly records: readonly TimeSeriesDefinition[];
}

export interface WellReading {
  readonly unit: number;
  /** Source well id. */
  readonly target: string;
  readonly well: WellBody;
}

/**
 * Replaces what is there of these targets, in one transaction with history and the outcomes of the units (G1). A unit of
 * the run that is settled already is left out entirely. core/definition.ts decides what is inserted, updated, removed and
 * held. Returns the outcomes of the units that this call settled.
 */
export type CommitDefinitions<Reading> = (batch: {
  readonly runId: string;
  readonly readings: readonly Reading[];
  readonly shrink: ShrinkGuard;
  readonly committedAtMs: number;
}) => Promise<readonly UnitOutcome[]>;

export interface TimeSeriesStore {
  readonly commit: CommitDefinitions<TimeSeriesReading>;
  /** Source ids of the equipment that has records, in order. */
  equipment(): Promise<readonly string[]>;
}

/** Where a well's JSON body says what, as names joined by dots: `location.timeZone`. */
export interface WellFields {
  /** Its uwi; where it is left out or the body has none, the source id is taken for it. */
  readonly uwi?: string | undefined;
  readonly timeZone: string;
}

export interface WellStore {
  readonly commit: CommitDefinitions<WellReading>;
  /** All wells, by source id. */
  known(uwiField?: string): Promise<ReadonlyArray<{ readonly sourceId: string; readonly uwi: string }>>;
  /** By uwi the time zone that the body names, right or wrong; a well whose body names none is absent. */
  timeZones(uwis: readonly string[], fields: WellFields): Promise<ReadonlyMap<string, string>>;
}
