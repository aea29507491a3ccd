/** Requests for a list of plans of cleanups, in pages that new plans do not shift. */
import { UsageError } from '../../core/base/errors.ts';
import type { CleanupPlan } from '../../core/cleanup/plan.ts';
import type { CleanupPlans, PlanPlace } from '../../warehouse/port/cleanup.ts';

export interface PlanPage {
  /** The newest first. */
  readonly plans: readonly CleanupPlan[];
  /** Start of the next page; undefined on the last one. */
  readonly cursor: string | undefined;
}

/** Throws UsageError for a text that is no cursor. */
export async function listPlans(
  plans: CleanupPlans,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<PlanPage> {
  const found = await plans.list(limit + 1, cursor === undefined ? undefined : placeOf(cursor));
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return { plans: shown, cursor: found.length > limit && last !== undefined ? cursorOf(last) : undefined };
}

function cursorOf({ createdAtMs, planId }: PlanPlace): string {
  return Buffer.from(JSON.stringify([createdAtMs, planId])).toString('base64url');
}

function placeOf(cursor: string): PlanPlace {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(place) && Number.isSafeInteger(place[0]) && typeof place[1] === 'string') {
      return { createdAtMs: Number(place[0]), planId: place[1] };
    }
  } catch {
    // Not JSON: reported below.
  }
  throw new UsageError(`${JSON.stringify(cursor)} is not a cursor of a list of plans`, {
    hint: 'Take the cursor that the list before gave, whole.',
  });
}
