/**
 * The order of reads (docs/decisions/0026-reads-have-an-order.md), and the instant of the last change, which
 * no later one goes below.
 */
/** Hosts with other clocks left versions that ended before they began; the one that began last is known from its begin. */
const withoutOverlaps = `
  UPDATE daily_production_history AS h SET noticed_at = v.next_from
  FROM (SELECT row_no, lead(known_from) OVER (PARTITION BY uwi, xid ORDER BY known_from, row_no NULLS LAST) AS next_from
        FROM (SELECT rowid AS row_no, uwi, xid, known_from FROM daily_production_history
              WHERE known_from <= noticed_at AND uwi IN (SELECT uwi FROM daily_production_history WHERE noticed_at < known_from)
              UNION ALL SELECT NULL, uwi, xid, changed_at FROM daily_production
              WHERE uwi IN (SELECT uwi FROM daily_production_history WHERE noticed_at < known_from))) v
  WHERE h.rowid = v.row_no AND v.next_from < h.noticed_at`;

export const readOrderSchema: readonly string[] = [
  `CREATE SEQUENCE internal.read_number`,
  `CREATE TABLE internal.read_begun (number BIGINT NOT NULL, kind VARCHAR NOT NULL, run_id VARCHAR NOT NULL,
     begun_at TIMESTAMPTZ NOT NULL)`,
  // Null bounds: without a limit.
  `CREATE TABLE internal.kept_read (kind VARCHAR NOT NULL, target VARCHAR NOT NULL, from_at TIMESTAMPTZ, to_at TIMESTAMPTZ,
     number BIGINT NOT NULL, committed_no BIGINT NOT NULL)`,
  `ALTER TABLE warehouse ADD COLUMN last_change_at TIMESTAMPTZ`,
  withoutOverlaps,
];
