/**
 * Commits of daily production in DuckDB: rows, history, quarantine, watermarks and outcomes in one transaction (G1, G2,
 * G3). What a batch does not have costs no statement (docs/design.md section 7).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  needsVerifiedRead,
  outcomeOfWindow,
  settleBatch,
  type WindowBatch,
  withStock,
} from '../../../core/daily/merge.ts';
import type { UnitOutcome } from '../../../core/run/run.ts';
import type { DailyProductionStore } from '../../port/daily-production.ts';
import { noteRead } from '../../sql/coverage/coverage-ledger.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { sessionOf } from '../file/session.ts';
import { readRows } from '../file/sql.ts';
import { openAmong, settleOpen } from '../../sql/runs/run-units.ts';
import { forgetUnknown, settleUnknown, type TargetRows } from '../../sql/runs/unknown-targets.ts';
import { compareWindows, type ComparedCounts } from './comparison.ts';
import { type BatchWell, readBatchWells, readWatermarks } from './known-wells.ts';
import { replaceQuarantine } from './quarantine.ts';
import { countRows, replaceWindows } from './replacement.ts';
import { readRestatements } from './restatements.ts';
import { readSoundDays } from './sound-days.ts';
import { keepWatermarks } from './watermark-rows.ts';

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
    soundDays: async (uwis, days) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readSoundDays(connection, uwis, days)),
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
      batch.windows.length === 0 ? [] : file.transact((connection) => commit(connection, batch)),
    restatements: (question, use) => file.transact((connection) => use(readRestatements(connection, question))),
  };
}

/** A window of a batch with its well. */
interface WellWindow extends WindowBatch, BatchWell {}

/** A window with what its merge does. */
interface MergedWindow extends WellWindow, ComparedCounts {
  readonly outcome: UnitOutcome;
  readonly held: boolean;
  readonly removed: number;
}

async function commit(connection: DuckDBConnection, batch: Commit): Promise<readonly UnitOutcome[]> {
  const open = await openWindows(connection, batch);
  if (open.length === 0) return [];
  const wells = await readBatchWells(
    connection,
    open.map(({ uwi }) => uwi),
  );
  const compared = await compare(connection, open, wells);
  if (compared.length === 0) return [];
  const merged = compared.map(({ window, counts }): MergedWindow => {
    const hadRows = window.watermark?.lastDay !== undefined;
    const outcome = outcomeOfWindow(window, { ...counts, hadRows }, batch.shrink);
    const held = outcome.state === 'held';
    return { ...window, ...counts, outcome, held, removed: held ? 0 : counts.leaving };
  });
  return store(connection, batch, merged);
}

interface ComparedWindow {
  readonly window: WellWindow;
  readonly counts: ComparedCounts;
}

/**
 * What the merge of each window would do, without the windows that have to be read again. Those may hold a row of
 * another window of their well, so the others are settled and compared without them.
 */
async function compare(
  connection: DuckDBConnection,
  open: readonly WindowBatch[],
  wells: ReadonlyMap<string, BatchWell>,
): Promise<readonly ComparedWindow[]> {
  const windows = settleBatch(open)
    .map((window): WellWindow => {
      const well = wells.get(window.uwi);
      if (well === undefined) throw new Error(`well ${window.uwi} of the batch was not looked up`);
      return { ...window, ...well };
    })
    .toSorted((left, right) => left.wellId - right.wellId);
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
    wells,
  );
}

/** Writes what {@link compare} found, in the same transaction. */
async function store(
  connection: DuckDBConnection,
  { runId, committedAtMs: atMs }: Commit,
  merged: readonly MergedWindow[],
): Promise<readonly UnitOutcome[]> {
  await replaceWindows(connection, merged, { runId, atMs });
  const isStored = merged.some(({ isQuarantined }) => isQuarantined);
  await replaceQuarantine(connection, merged, { runId, atMs, isStored });
  await noteRead(
    sessionOf(connection),
    merged.flatMap(({ uwi, readDays: days, isNew, isVerified, held }) =>
      days !== undefined && isVerified && !held ? [{ uwi, days, isKnown: !isNew }] : [],
    ),
  );
  const unknown = merged.flatMap(({ uwi, isUnknown }) => (isUnknown ? [uwi] : []));
  if (unknown.length > 0) await forgetUnknown(sessionOf(connection), wellRows.kind, unknown);
  await keepWatermarks(connection, merged, atMs);
  const rowsNow = await countRows(connection, merged);
  const outcomes = merged.map(({ outcome, rowsBefore }, index) =>
    withStock(outcome, { rowsBefore, rowsAfter: rowsNow[index] ?? 0 }),
  );
  await settleOpen(sessionOf(connection), runId, outcomes);
  return outcomes;
}

/** The windows whose units are still open. A settled unit was merged before, and a repeat must change nothing (G1). */
async function openWindows(connection: DuckDBConnection, { runId, windows }: Commit): Promise<readonly WindowBatch[]> {
  const open = await openAmong(
    sessionOf(connection),
    runId,
    windows.map(({ unit }) => unit),
  );
  return windows.filter(({ unit }) => open.has(unit));
}
