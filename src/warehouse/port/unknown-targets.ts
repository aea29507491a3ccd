/** The port to targets of exports that the service does not know (docs/design.md sections 4.1 and 4.2). */
import type { UnitOutcome } from '../../core/run/run.ts';

/** A unit whose target the service does not know. */
export interface UnknownUnit {
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
