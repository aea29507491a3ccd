import type { UnitOutcome } from '../run/run.ts';
import type { Window } from '../time/window.ts';

/** A unit of which a part was merged, and a part has to be read again. Nothing of its outcome is stored. */
export interface UnfinishedUnit {
  readonly unit: number;
  /** The part to read again. */
  readonly window: Window;
  /** With the one to come. */
  readonly rereads: number;
  /** Whether the reads so far were. */
  readonly isVerified: boolean;
  /** The outcome of what was merged. */
  readonly outcome: UnitOutcome;
}
