/** Requests about the audit of deletions, with their input checked. */
import { UsageError } from '../../core/base/errors.ts';
import { instantOfDateTime, instantOfDay, productionCalendar } from '../../core/time/production-day.ts';
import type { AuditVerdict, DeletionFilter } from '../../warehouse/port/cleanup.ts';

/** The filter of a list of deletions; `since` is a day of the zone or an ISO date-time. Throws UsageError. */
export function deletionFilter(
  { since, target, run }: { readonly since?: string; readonly target?: string; readonly run?: string },
  timeZone: string,
): DeletionFilter {
  return {
    ...(since === undefined ? {} : { sinceMs: instantOf(since, timeZone) }),
    ...(target === undefined ? {} : { target }),
    ...(run === undefined ? {} : { runId: run }),
  };
}

function instantOf(since: string, timeZone: string): number {
  const instantMs = instantOfDay(since, timeZone) ?? instantOfDateTime(since, productionCalendar(timeZone));
  if (instantMs !== undefined) return instantMs;
  throw new UsageError(`--since ${JSON.stringify(since)} is not a day or a date-time`, {
    hint: 'Write a day of the calendar as 2024-03-31, or an ISO date-time as 2024-03-31T06:00:00Z.',
  });
}

/** A hash that was kept from the audit earlier. Throws UsageError for any other text. */
export function auditHash(given: string | undefined): string | undefined {
  const hash = given?.trim().toLowerCase();
  if (hash === undefined || /^[\da-f]{64}$/.test(hash)) return hash;
  throw new UsageError(`--kept ${JSON.stringify(given)} is not a hash of the audit`, {
    hint: 'It has 64 letters from 0 to f, as wellsync audit verify shows them.',
  });
}

export function auditDocument({ head, broken, retries }: AuditVerdict) {
  return {
    intact: broken === undefined,
    rows: head.rows,
    head: head.hash,
    broken: broken ?? null,
    retries: [...retries].map(([by, rows]) => ({ by, rows })),
  };
}

/** JSON of the verdict on the audit of deletions. */
export type { AuditVerdict };
