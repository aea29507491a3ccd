/** Daily production in DuckDB. One transaction writes at a time, so that none has to keep others from its wells. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { DailyProductionStore } from '../../port/daily-production.ts';
import { type BatchKeys, readProductionRows, readWatermarks } from '../../sql/daily/batch-wells.ts';
import { commitBatch, nothingCommitted } from '../../sql/daily/daily-commit.ts';
import type { DailyTables } from '../../sql/daily/daily-tables.ts';
import { readHeldMonths } from '../../sql/daily/held-months.ts';
import { readRestatements } from '../../sql/daily/restatements.ts';
import { settleUnknown, type TargetRows } from '../../sql/ledger/run-units.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { sessionOf } from '../file/session.ts';
import { instant, isAmongKeys, jsonText, readRows, runStatement } from '../file/sql.ts';
import { compareWindows } from './comparison.ts';
import { countRows, namedUwis, readCleanDays, replaceWindows } from './replacement.ts';

const wellRows: TargetRows = {
  kind: 'uwi',
  withRows: (named) => `SELECT DISTINCT k.uwi AS target FROM internal.daily_production d
    JOIN (SELECT well_id, uwi FROM well_key SEMI JOIN ${named} ON uwi = target) k ON d.well_id = k.well_id`,
};

export function createDailyProductionStore(file: DatabaseFile): DailyProductionStore {
  return {
    watermarks: async (uwis) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readWatermarks(sessionOf(connection), uwis)),
    cleanDays: async (uwis, days) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readCleanDays(connection, uwis, days)),
    heldMonths: async (uwis) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readHeldMonths(sessionOf(connection), uwis)),
    uwis: () =>
      file.transact(async (connection) => {
        const rows = await readRows<{ uwi: string }>(
          connection,
          'SELECT uwi FROM watermark UNION SELECT uwi FROM coverage ORDER BY uwi',
        );
        return rows.map(({ uwi }) => uwi);
      }),
    settleUnknown: (unknown) => file.transact((connection) => settleUnknown(sessionOf(connection), wellRows, unknown)),
    commit: async (batch) =>
      batch.windows.length === 0
        ? nothingCommitted
        : file.addRows(
            (connection) => commitBatch(tablesOf(connection), batch),
            ({ rowsInserted }) => rowsInserted,
          ),
    rows: (question) => file.transact((connection) => readProductionRows(sessionOf(connection), question)),
    restatements: (question, use) =>
      file.transact((connection) => use(readRestatements(sessionOf(connection), question))),
  };
}

function tablesOf(connection: DuckDBConnection): DailyTables {
  return {
    session: sessionOf(connection),
    byteLength: (text) => `strlen(${text})`,
    lastChange: `(SELECT last_change_at + INTERVAL '1 millisecond' FROM warehouse)`,
    recordChange: async (atMs) => {
      await runStatement(connection, `UPDATE warehouse SET last_change_at = ${instant('$1')}`, [BigInt(atMs)]);
    },
    takeKeys: (uwis) => takeKeys(connection, uwis),
    compare: (windows) => compareWindows(connection, windows),
    replace: (windows, noticed) => replaceWindows(connection, windows, noticed),
    countRows: (windows) => countRows(connection, windows),
    lastDays: (wellIds) => readLastDays(connection, wellIds),
  };
}

async function readLastDays(
  connection: DuckDBConnection,
  wellIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await readRows<{ wellId: number; day: number }>(
    connection,
    `SELECT well_id AS "wellId", max(production_day) - DATE '1970-01-01' AS day FROM internal.daily_production
     WHERE ${isAmongKeys('well_id', wellIds)} GROUP BY well_id`,
  );
  return new Map(rows.map(({ wellId, day }) => [wellId, day]));
}

const knownKeys = `SELECT uwi, well_id AS "wellId" FROM well_key WHERE uwi IN (${namedUwis})`;

/** A key is never reused: rows of `well_key` are never deleted. */
const newKeys = `
  INSERT INTO well_key
    SELECT (SELECT coalesce(max(well_id), 0) FROM well_key) + row_number() OVER (ORDER BY uwi), uwi FROM (${namedUwis})
  RETURNING uwi, well_id AS "wellId"`;

/** Gives every well without a key the next one, in the order of their names. */
async function takeKeys(connection: DuckDBConnection, uwis: readonly string[]): Promise<BatchKeys> {
  const known = await readKeys(connection, knownKeys, uwis);
  const without = uwis.filter((uwi) => !known.has(uwi));
  const given = without.length === 0 ? new Map<string, number>() : await readKeys(connection, newKeys, without);
  return { known, given };
}

async function readKeys(
  connection: DuckDBConnection,
  sql: string,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await readRows<{ uwi: string; wellId: number }>(connection, sql, [jsonText(uwis)]);
  return new Map(rows.map(({ uwi, wellId }) => [uwi, wellId]));
}
