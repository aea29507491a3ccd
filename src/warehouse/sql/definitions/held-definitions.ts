/** The rows of `held_definition`: holds of definitions, one a target, in the transaction of a merge. */
import type { HeldDefinitions, SettledDefinitions } from '../../../core/definitions/definition.ts';
import { jsonText } from '../json-text.ts';
import type { ReadKind } from '../../../core/run/run.ts';
import type { SqlSession } from '../session.ts';

interface HeldRow {
  readonly target: string;
  readonly rows: number;
  readonly releaseRunId: string | null;
  readonly releaseRows: number | null;
}

/** The holds that stand, by target; a target without one is absent. */
export async function readHeldDefinitions(
  session: SqlSession,
  kind: ReadKind,
  targets: readonly string[],
): Promise<ReadonlyMap<string, HeldDefinitions>> {
  const rows = await session.rows<HeldRow>(
    `SELECT target, rows_missing AS rows, release_run_id AS "releaseRunId", release_rows AS "releaseRows"
     FROM held_definition WHERE kind = $2 AND target IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(targets), kind],
  );
  return new Map(
    rows.map(({ target, rows: missing, releaseRunId, releaseRows }) => {
      const isReleased = releaseRunId !== null && releaseRows !== null;
      return [target, { rows: missing, release: isReleased ? { runId: releaseRunId, rows: releaseRows } : undefined }];
    }),
  );
}

/** The hold of a target before and after a merge; undefined while none stands. */
export interface ChangedHold {
  readonly target: string;
  readonly before: HeldDefinitions | undefined;
  readonly after: SettledDefinitions<never>['hold'];
}

const heldFields = { target: 'VARCHAR', rows_missing: 'INTEGER', is_new: 'INTEGER' } as const;

/** Writes the holds after a merge: begun, renewed and ended ones. Where none stands or begins, it costs no statement. */
export async function keepHeldDefinitions(
  session: SqlSession,
  kind: ReadKind,
  changes: readonly ChangedHold[],
  { runId, atMs }: { readonly runId: string; readonly atMs: number },
): Promise<void> {
  const { dialect } = session;
  const held = changes.flatMap(({ target, before, after: hold }) =>
    hold === undefined
      ? []
      : [{ target, rows_missing: hold.rows, is_new: hold.isNew ? 1 : 0, isBegun: before === undefined }],
  );
  const begun = held.filter(({ isBegun }) => isBegun);
  const renewed = held.filter(({ isBegun }) => !isBegun);
  const ended = changes.filter(({ before, after }) => before !== undefined && after === undefined);
  const relation = dialect.relation('$1', heldFields);
  const noticed = [kind, new Date(atMs), runId];
  if (begun.length > 0) {
    await session.run(
      `INSERT INTO held_definition (kind, target, rows_missing, since, run_id)
         SELECT CAST($2 AS VARCHAR), n.target, n.rows_missing, CAST($3 AS TIMESTAMPTZ), CAST($4 AS VARCHAR)
         FROM ${relation} n`,
      [jsonText(begun), ...noticed],
    );
  }
  if (renewed.length > 0) {
    const ifNew = (column: string, value: string): string =>
      `${column} = CASE WHEN n.is_new = 1 THEN ${value} ELSE h.${column} END`;
    await session.run(
      `UPDATE held_definition AS h SET rows_missing = n.rows_missing, ${ifNew('since', 'CAST($3 AS TIMESTAMPTZ)')},
         ${ifNew('run_id', 'CAST($4 AS VARCHAR)')}, ${ifNew('release_run_id', 'NULL')}
       FROM ${relation} n WHERE h.kind = $2 AND h.target = n.target`,
      [jsonText(renewed), ...noticed],
    );
  }
  if (ended.length > 0) {
    await session.run(
      `DELETE FROM held_definition WHERE kind = $2 AND target IN (SELECT ${dialect.each('$1', 'VARCHAR')})`,
      [jsonText(ended.map(({ target }) => target)), kind],
    );
  }
}
