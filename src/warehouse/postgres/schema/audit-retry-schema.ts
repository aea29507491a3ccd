/** As DuckDB's step of the same version (../../duckdb/schema/audit-retry-schema.ts). */
import { textType as text } from './daily-columns.ts';

export const auditRetrySchema: readonly string[] = [
  `ALTER TABLE deletion_audit ADD COLUMN retried_by ${text}`,
  `ALTER TABLE deletion_audit ADD COLUMN digest_version INTEGER`,
];
