/** Rows that stay although the service no longer has them, as an operator sees them (G4). */
import { UsageError } from '../base/errors.ts';

/** A hold that stands. */
export interface HeldPart {
  readonly target: string;
  /** YYYY-MM; null, like the days, for definitions. */
  readonly month: string | null;
  readonly rows: number;
  /** YYYY-MM-DD. */
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  /** The run that began it. */
  readonly runId: string;
}

export interface HeldRows {
  /** Distinct. */
  readonly targets: number;
  readonly rows: number;
  /** Number of holds. */
  readonly holds: number;
  /** The first holds, by target and month. */
  readonly parts: readonly HeldPart[];
}

/** Held rows are not released as they are now: 409 of the HTTP API, wrong use of a command. Nothing was released. */
export class ReleaseConflictError extends UsageError {
  override readonly name = 'ReleaseConflictError';
  override readonly code: string;

  constructor(
    code: 'run-not-ended' | 'nothing-held' | 'not-confirmed' | 'release-under-way',
    ...rest: ConstructorParameters<typeof UsageError>
  ) {
    super(...rest);
    this.code = code;
  }
}
