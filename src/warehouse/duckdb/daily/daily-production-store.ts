/**
 * Commits of daily production in DuckDB: rows, history, quarantine, watermarks and outcomes in one transaction (G1, G2,
 * G3).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  needsVerifiedRead,
  outcomeOfWindow,
  settleBatch,
  type WindowBatch,
  type WindowCounts,
  withStock,
} from '../../../core/daily/merge.ts';
import { movedWatermarks, verifiedWells } from '../../../core/daily/watermark.ts';
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

/** A window with what its merge does. */
interface MergedWindow extends WindowBatch {
  readonly outcome: UnitOutcome;
  readonly held: boolean;
}

async function commit(connection: DuckDBConnection, batch: Commit): Promise<readonly UnitOutcome[]> {
  const open = await openWindows(connection, batch);
  if (open.length === 0) return [];
  const watermarks = await readWatermarks(
    connection,
    open.map(({ uwi }) => uwi),
  );
  const compared = await compare(connection, open);
  if (compared.length === 0) return [];
  const merged = compared.map(({ window, counts }): MergedWindow => {
    const hadRows = watermarks.get(window.uwi)?.lastDay !== undefined;
    const outcome = outcomeOfWindow(window, { ...counts, hadRows }, batch.shrink);
    return { ...window, outcome, held: outcome.state === 'held' };
  });
  return store(connection, batch, merged, watermarks);
}

interface ComparedWindow {
  readonly window: WindowBatch;
  readonly counts: WindowCounts;
}

/**
 * What the merge of each window would do, without the windows that have to be read again. Those may hold a row of
 * another window of their well, so the others are settled and compared without them.
 */
async function compare(connection: DuckDBConnection, open: readonly WindowBatch[]): Promise<readonly ComparedWindow[]> {
  const windows = settleBatch(open);
  const countsByWindow = await compareWindows(connection, windows);
  const compared = windows.map((window, index) => {
    const counts = countsByWindow[index];
    if (counts === undefined) throw new Error(`the merge did not count window ${index} of ${windows.length}`);
    return { window, counts };
  });
  const sound = compared.filter(({ window, counts }) => !needsVerifiedRead(window, counts));
  if (sound.length === 0 || sound.length === compared.length) return sound;
  const units = new Set(sound.map(({ window }) => window.unit));
  return compare(
    connection,
    open.filter(({ unit }) => units.has(unit)),
  );
}

/** Writes what {@link compare} found, in the same transaction. */
async function store(
  connection: DuckDBConnection,
  { runId, committedAtMs: atMs }: Commit,
  merged: readonly MergedWindow[],
  watermarks: ReadonlyMap<string, Watermark>,
): Promise<readonly UnitOutcome[]> {
  const heldWindows = merged.flatMap(({ held }, index) => (held ? [index] : []));
  await replaceWindows(connection, heldWindows, { runId, atMs });
  await replaceQuarantine(connection, merged, { runId, atMs });
  await noteRead(
    connection,
    merged.filter(({ held, isVerified }) => isVerified && !held),
  );
  await forgetUnknown(
    connection,
    wellRows.kind,
    merged.map(({ uwi }) => uwi),
  );
  await moveWatermarks(connection, watermarks, merged, atMs);
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
  return windows.filter(({ unit }) => open.has(unit));
}

async function moveWatermarks(
  connection: DuckDBConnection,
  current: ReadonlyMap<string, Watermark>,
  windows: readonly MergedWindow[],
  atMs: number,
): Promise<void> {
  const currentMs = new Map([...current].map(([uwi, { watermarkMs }]) => [uwi, watermarkMs]));
  const movedMs = movedWatermarks(currentMs, windows);
  const verified = verifiedWells(windows);
  const rows = [...new Set([...movedMs.keys(), ...verified])].flatMap((uwi) => {
    const ms = movedMs.get(uwi) ?? currentMs.get(uwi);
    return ms === undefined ? [] : [{ uwi, ms, verified_ms: verified.has(uwi) ? atMs : null }];
  });
  if (rows.length === 0) return;
  await connection.run(
    `INSERT INTO watermark (uwi, watermark, verified_at)
       SELECT uwi, ${instant('ms')}, ${instant('verified_ms')}
       FROM ${relationOf('$1', { uwi: 'VARCHAR', ms: 'BIGINT', verified_ms: 'BIGINT' })}
     ON CONFLICT DO UPDATE SET watermark = excluded.watermark,
       verified_at = coalesce(excluded.verified_at, watermark.verified_at)`,
    [jsonText(rows)],
  );
}
