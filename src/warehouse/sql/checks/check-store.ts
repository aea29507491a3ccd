/** The findings that stand, for readers, and the evaluation of what is stored. */
import type { CheckSummary } from '../../../core/checks/check-alert.ts';
import type { DayRange } from '../../../core/checks/evaluate.ts';
import type { CheckStore, FindingFilter, FindingRow, WellChecks } from '../../port/checks.ts';
import type { DailyTables, WithinTables } from '../daily/daily-tables.ts';
import { epochMs, jsonText, oneRow, type SqlDatabase, type SqlSession, type SqlValue } from '../session.ts';
import { observeFindings, readSummaries } from './findings.ts';
import { checkStored } from './check-commit.ts';
import { partsOfWells, type TouchedWell } from './check-input.ts';

export function createCheckStore(database: SqlDatabase, engine: WithinTables): CheckStore {
  return {
    wells: ({ after = '', limit, uwis }) =>
      database.transact(async (session) => {
        const named = uwis === undefined ? 'true' : `uwi IN (SELECT ${session.dialect.each('$3', 'VARCHAR')})`;
        const rows = await session.rows<{ uwi: string }>(
          `SELECT uwi FROM well_key WHERE uwi > $1 AND ${named} ORDER BY uwi LIMIT $2`,
          [after, limit, ...(uwis === undefined ? [] : [jsonText(uwis)])],
        );
        return rows.map(({ uwi }) => uwi);
      }),
    evaluate: (uwis, checks, by) => engine.within((tables) => evaluateAll(tables, uwis, checks, by)),
    summaries: (filter) =>
      database.transact((session) => {
        const values: SqlValue[] = [];
        return readSummaries<CheckSummary>(session, conditionOf(session, filter, values), values);
      }),
    findings: (filter) => database.transact((session) => readFindings(session, filter)),
  };
}

/** As many days as any well has, and more. */
const anyDay: DayRange = { fromDay: -1_000_000, toDay: 4_000_000 };

/** As {@link CheckStore.evaluate}, in the transaction of the tables. */
export async function evaluateAll(
  tables: DailyTables,
  uwis: readonly string[],
  checks: WellChecks,
  by: string,
): Promise<{ readonly days: number; readonly findings: number }> {
  const { session } = tables;
  if (uwis.length === 0) return { days: 0, findings: 0 };
  // Commits of these wells wait meanwhile.
  const keys = await session.rows<{ uwi: string; wellId: number }>(tables.keys.known, [jsonText(uwis)]);
  const { atMs } = await oneRow<{ atMs: number }>(session, `SELECT ${epochMs(session.dialect.clock)} AS "atMs"`);
  const rows = await countRows(tables, keys);
  let findings = 0;
  // What stands of days without a row goes too.
  const wells = keys.map((key): TouchedWell => ({ ...key, ...anyDay, rows: rows.get(key.wellId) ?? 0 }));
  for (const part of partsOfWells(wells)) {
    findings += await checkStored(tables, part, checks, { runId: null, atMs });
  }
  const named = { sql: `SELECT ${session.dialect.each('$1', 'VARCHAR')}`, values: [jsonText(uwis)] };
  while (await observeFindings(session, named, { by, atMs }));
  return { days: [...rows.values()].reduce((sum, count) => sum + count, 0), findings };
}

async function countRows(
  tables: DailyTables,
  keys: ReadonlyArray<{ readonly wellId: number }>,
): Promise<ReadonlyMap<number, number>> {
  const { sql, values } = tables.rowsOfDays(keys.map(({ wellId }) => ({ wellId, ...anyDay })));
  const counts = await tables.session.rows<{ wellId: number; rows: number }>(
    `SELECT d.well_id AS "wellId", count(*) AS rows FROM ${sql} GROUP BY d.well_id`,
    values,
  );
  return new Map(counts.map(({ wellId, rows }) => [wellId, rows]));
}

/** SQL of the condition of a filter, whose values are added to `values`. */
function conditionOf({ dialect }: SqlSession, { checks, uwis }: FindingFilter, values: SqlValue[]): string {
  const among = (column: string, names: readonly string[] | undefined): readonly string[] =>
    names === undefined ? [] : [`${column} IN (SELECT ${dialect.each(`$${values.push(jsonText(names))}`, 'VARCHAR')})`];
  return ['true', ...among('"check"', checks), ...among('uwi', uwis)].join(' AND ');
}

function readFindings(
  session: SqlSession,
  { limit, ...filter }: FindingFilter & { readonly limit: number },
): Promise<readonly FindingRow[]> {
  const values: SqlValue[] = [];
  const condition = conditionOf(session, filter, values);
  return session.rows(
    `SELECT "check", uwi, production_day AS day, field, value, expected, severity, run_id AS "runId",
       found_at AS "foundAt"
     FROM check_result WHERE ${condition} ORDER BY "check", uwi, production_day LIMIT $${values.push(limit)}`,
    values,
  );
}
