/**
 * Commits of daily production in DuckDB: rows, history, quarantine, watermarks and outcomes in one transaction (G1, G2,
 * G3).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { outcomeOfWindow, settleBatch, type WindowBatch, withStock } from '../../../core/daily/merge.ts';
import { movedWatermarks } from '../../../core/daily/watermark.ts';
import type { UnitOutcome } from '../../../core/run/run.ts';
import type { DailyProductionStore, Watermark } from '../../port/daily-production.ts';
import { noteRead } from '../coverage/coverage-ledger.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { compareWindows, countStock, keepLastDays, replaceWindows } from './merge.ts';
import { replaceQuarantine } from './quarantine.ts';
import { readRestatements } from './restatements.ts';
import { readSoundDays, readWatermarks } from './known-wells.ts';
import { openAmong, settleOpen } from '../runs/run-units.ts';
import { forgetUnknown, settleUnknown, type TargetRows } from '../runs/unknown-targets.ts';
import { instant, jsonText, readRows, relationOf } from '../file/sql.ts';

type Commit = Parameters<DailyProductionStore['commit']>[0];

const wellRows: TargetRows = {
  kind: 'uwi',
  withRows: (named) => `SELECT DISTINCT k.uwi AS target FROM internal.daily_production d
    JOIN (SELECT well_id, uwi FROM well_key SEMI JOIN ${named} ON uwi = target) k ON d.well_id = k.well_id`,
};

export function createDailyProductionStore(file: DatabaseFile): DailyProductionStore {
  return {
    watermarks: async (uwis) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readWatermarks(connection, uwis)),
    soundDays: async (uwis, sinceDay) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readSoundDays(connection, uwis, sinceDay)),
    uwis: () =>
      file.transact(async (connection) => {
        const rows = await readRows<{ uwi: string }>(
          connection,
          'SELECT uwi FROM watermark UNION SELECT uwi FROM coverage ORDER BY uwi',
        );
        return rows.map(({ uwi }) => uwi);
      }),
    settleUnknown: (unknown) => file.transact((connection) => settleUnknown(connection, wellRows, unknown)),
    commit: async (batch) =>
      batch.windows.length === 0 ? [] : file.transact((connection) => commit(connection, batch)),
    restatements: (question, use) => file.transact((connection) => use(readRestatements(connection, question))),
  };
}

const uncounted = { rowsBefore: 0, rowsAfter: 0 };

async function commit(connection: DuckDBConnection, batch: Commit): Promise<readonly UnitOutcome[]> {
  const { runId, shrink, committedAtMs } = batch;
  const windows = await openWindows(connection, batch);
  if (windows.length === 0) return [];

  const uwis = windows.map(({ uwi }) => uwi);
  const watermarks = await readWatermarks(connection, uwis);
  const countsByWindow = await compareWindows(connection, windows);
  const merged = windows.map((window, index) => {
    const counts = countsByWindow[index];
    if (counts === undefined) throw new Error(`the merge did not count window ${index} of ${windows.length}`);
    const hadRows = watermarks.get(window.uwi)?.lastDay !== undefined;
    return { ...window, outcome: outcomeOfWindow(window, { ...counts, hadRows }, shrink) };
  });
  const isHeld = ({ outcome }: { readonly outcome: UnitOutcome }): boolean => outcome.state === 'held';

  const held = merged.flatMap((window, index) => (isHeld(window) ? [index] : []));
  await replaceWindows(connection, held, { runId, atMs: committedAtMs });
  await replaceQuarantine(connection, windows, { runId, atMs: committedAtMs });
  await noteRead(
    connection,
    merged.filter((window) => !isHeld(window)),
  );
  await forgetUnknown(connection, wellRows.kind, uwis);
  await moveWatermarks(
    connection,
    watermarks,
    merged.map((window) => ({ ...window, held: isHeld(window) })),
  );
  await keepLastDays(connection);
  const stock = await countStock(connection);
  const outcomes = merged.map(({ outcome }, index) => withStock(outcome, stock[index] ?? uncounted));
  await settleOpen(connection, runId, outcomes);
  return outcomes;
}

/** The windows whose units are still open. A settled unit was merged before, and a repeat must change nothing (G1). */
async function openWindows(connection: DuckDBConnection, { runId, windows }: Commit): Promise<readonly WindowBatch[]> {
  const open = await openAmong(
    connection,
    runId,
    windows.map(({ unit }) => unit),
  );
  return settleBatch(windows.filter(({ unit }) => open.has(unit)));
}

async function moveWatermarks(
  connection: DuckDBConnection,
  current: ReadonlyMap<string, Watermark>,
  windows: ReadonlyArray<Pick<WindowBatch, 'uwi' | 'window' | 'mode'> & { readonly held: boolean }>,
): Promise<void> {
  const currentMs = new Map([...current].map(([uwi, { watermarkMs }]) => [uwi, watermarkMs]));
  const moved = [...movedWatermarks(currentMs, windows)].map(([uwi, ms]) => ({ uwi, ms }));
  if (moved.length === 0) return;
  await connection.run(
    `INSERT INTO watermark (uwi, watermark)
       SELECT uwi, ${instant('ms')} FROM ${relationOf('$1', { uwi: 'VARCHAR', ms: 'BIGINT' })}
     ON CONFLICT DO UPDATE SET watermark = excluded.watermark`,
    [jsonText(moved)],
  );
}
