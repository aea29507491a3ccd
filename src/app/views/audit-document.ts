/** JSON of the verdict on the audit of deletions. */
import type { AuditVerdict } from '../../warehouse/port/cleanup.ts';

export type { AuditVerdict };

export function auditDocument({ head, broken, retries }: AuditVerdict) {
  return {
    intact: broken === undefined,
    rows: head.rows,
    head: head.hash,
    broken: broken ?? null,
    retries: [...retries].map(([by, rows]) => ({ by, rows })),
  };
}
