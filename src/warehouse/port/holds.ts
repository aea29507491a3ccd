/** The port to holds for operators: which rows stay although the service no longer has them, and their release (G4). */
import type { IdempotencyKey } from '../../core/run/idempotency-key.ts';
import type { HeldRows } from '../../core/run/held-rows.ts';
import type { ReadKind, RunRequest } from '../../core/run/run.ts';

/**
 * `created`: the run exists. `repeated`: a request with this key had made it. `under-way`: a run that has not ended releases
 * rows of these holds. `changed`: the holds have another number of rows than was shown, and nothing was released.
 */
export type Release =
  | { readonly kind: 'created' }
  | { readonly kind: 'repeated' | 'under-way'; readonly runId: string }
  | { readonly kind: 'changed'; readonly rows: number };

export interface Holds {
  /** The holds that a run began or met, as far as they stand; at most `limit` parts. */
  ofRun(runId: string, kind: ReadKind, limit: number): Promise<HeldRows>;
  /** Every hold that stands; at most `limit` parts. */
  standing(kind: ReadKind, limit: number): Promise<HeldRows>;
  /**
   * Creates the run of `request` for the targets of the holds of the run `of`, and keeps with each hold the rows that it
   * may lose by that run: as many as it has now, in its days. One transaction. `rows`: what the person was shown. Throws
   * KeyReusedError if the key came with another body.
   */
  release(
    request: RunRequest,
    holds: { readonly of: string; readonly kind: ReadKind; readonly rows: number },
    key?: IdempotencyKey,
  ): Promise<Release>;
}
