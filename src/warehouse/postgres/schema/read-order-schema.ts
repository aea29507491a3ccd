/** As DuckDB's step of the same version (../../duckdb/schema/read-order-schema.ts); the history has the instant of the last change. */
import { textType as text } from './daily-columns.ts';

const reversed = `(SELECT uwi FROM daily_production_history WHERE noticed_at < known_from)`;

const withoutOverlaps = `
  UPDATE daily_production_history h SET noticed_at = v.next_from
  FROM (SELECT row_id, lead(known_from) OVER (PARTITION BY uwi, xid ORDER BY known_from, row_id NULLS LAST) AS next_from
        FROM (SELECT ctid AS row_id, uwi, xid, known_from FROM daily_production_history
              WHERE known_from <= noticed_at AND uwi IN ${reversed}
              UNION ALL SELECT NULL, uwi, xid, changed_at FROM daily_production WHERE uwi IN ${reversed}) versions) v
  WHERE h.ctid = v.row_id AND v.next_from < h.noticed_at`;

export const readOrderSchema: readonly string[] = [
  `CREATE SEQUENCE internal.read_number`,
  `CREATE TABLE internal.read_begun (number BIGINT PRIMARY KEY, kind ${text} NOT NULL, run_id ${text} NOT NULL,
     begun_at TIMESTAMPTZ NOT NULL)`,
  // Null bounds: without a limit.
  `CREATE TABLE internal.kept_read (kind ${text} NOT NULL, target ${text} NOT NULL, from_at TIMESTAMPTZ, to_at TIMESTAMPTZ,
     number BIGINT NOT NULL, committed_no BIGINT NOT NULL)`,
  `CREATE INDEX kept_read_target ON internal.kept_read (kind, target)`,
  withoutOverlaps,
];
