/**
 * A part of schema version 6: targets that the service answered with 404, since when and by which run. `kind` is the
 * column of a list file that names them: `uwi`, `well` or `equipment`. A target that answers again leaves the table.
 */
export const unknownTargetSchema: readonly string[] = [
  `CREATE TABLE unknown_target (kind VARCHAR, target VARCHAR, since TIMESTAMPTZ NOT NULL, run_id VARCHAR NOT NULL,
     PRIMARY KEY (kind, target))`,
];
