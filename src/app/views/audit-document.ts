/** JSON of the verdict on the audit of deletions. */
import type { AuditVerdict } from '../../warehouse/port/cleanup.ts';

export function auditDocument({ head, broken }: AuditVerdict) {
  return { intact: broken === undefined, rows: head.rows, head: head.hash, broken: broken ?? null };
}
