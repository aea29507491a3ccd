/** Owns the commit of daily production in DuckDB: rows, history, quarantine, watermarks and outcomes in one transaction (G1, G2, G3). */
import type { DuckDBConnection } from '@duckdb/node-api';
import { movedWatermarks, outcomeOfWindow, settleBatch, type WindowBatch } from '../../core/merge.ts';
import type { UnitOutcome } from '../../core/run.ts';
import type { DailyProductionStore } from '../warehouse.ts';
import { noteRead } from './coverage-ledger.ts';
import type { DatabaseFile } from './database-file.ts';
import { compareWindows, replaceWindows } from './merge.ts';
import { replaceQuarantine } from './quarantine.ts';
import { readRestatements } from './restatements.ts';
import { openAmong, settleOpen } from './run-units.ts';
import { instant, jsonText, readRows, relationOf } from './sql.ts';

type Commit = Parameters<DailyProductionStore['commit']>[0];

export function createDailyProductionStore(file: DatabaseFile): DailyProductionStore {
  return {
    watermarks: async (uwis) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readWatermarks(connection, uwis)),
    uwis: () =>
      file.transact(async (connection) => {
        const rows = await readRows<{ uwi: string }>(
          connection,
          'SELECT uwi FROM watermark UNION SELECT uwi FROM coverage ORDER BY uwi',
        );
        return rows.map(({ uwi }) => uwi);
      }),
    commit: async (batch) =>
      batch.windows.length === 0 ? [] : file.transact((connection) => commit(connection, batch)),
    restatements: (question, use) => file.transact((connection) => use(readRestatements(connection, question))),
  };
}

async function commit(connection: DuckDBConnection, batch: Commit): Promise<readonly UnitOutcome[]> {
  const { runId, shrink, committedAtMs } = batch;
  const windows = await openWindows(connection, batch);
  if (windows.length === 0) return [];

  const tallies = await compareWindows(connection, windows);
  const merged = windows.map((window, index) => {
    const tally = tallies[index];
    if (tally === undefined) throw new Error(`the merge did not count window ${index} of ${windows.length}`);
    return { ...window, outcome: outcomeOfWindow(window, tally, shrink) };
  });
  const isHeld = ({ outcome }: { readonly outcome: UnitOutcome }): boolean => outcome.state === 'held';

  const held = merged.flatMap((window, index) => (isHeld(window) ? [index] : []));
  await replaceWindows(connection, held, { runId, atMs: committedAtMs });
  await replaceQuarantine(connection, windows, { runId, atMs: committedAtMs });
  await noteRead(
    connection,
    merged.filter((window) => !isHeld(window)),
  );
  await moveWatermarks(
    connection,
    merged.map((window) => ({ ...window, held: isHeld(window) })),
  );
  const outcomes = merged.map(({ outcome }) => outcome);
  await settleOpen(connection, runId, outcomes);
  return outcomes;
}

/** The windows whose units are still open: what is settled already was merged then, and a repeat must change nothing (G1). */
async function openWindows(connection: DuckDBConnection, { runId, windows }: Commit): Promise<readonly WindowBatch[]> {
  const open = await openAmong(
    connection,
    runId,
    windows.map(({ unit }) => unit),
  );
  return settleBatch(windows.filter(({ unit }) => open.has(unit)));
}

async function readWatermarks(
  connection: DuckDBConnection,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await readRows<{ uwi: string; ms: number }>(
    connection,
    `SELECT uwi, epoch_ms(watermark) AS ms FROM watermark WHERE uwi IN (SELECT unnest(from_json($1::JSON, '["VARCHAR"]')))`,
    [jsonText(uwis)],
  );
  return new Map(rows.map(({ uwi, ms }) => [uwi, ms]));
}

async function moveWatermarks(
  connection: DuckDBConnection,
  windows: ReadonlyArray<Pick<WindowBatch, 'uwi' | 'window' | 'mode'> & { readonly held: boolean }>,
): Promise<void> {
  const current = await readWatermarks(
    connection,
    windows.map(({ uwi }) => uwi),
  );
  const moved = [...movedWatermarks(current, windows)].map(([uwi, ms]) => ({ uwi, ms }));
  if (moved.length === 0) return;
  await connection.run(
    `INSERT OR REPLACE INTO watermark SELECT uwi, ${instant('ms')} FROM ${relationOf('$1', { uwi: 'VARCHAR', ms: 'BIGINT' })}`,
    [jsonText(moved)],
  );
}
