/**
 * Commits of daily production: rows, history, quarantine, watermarks and outcomes in one transaction (G1, G2, G3). The
 * rules are here; how an engine finds and writes rows is its own (daily-tables.ts). What a batch does not have costs no
 * statement (docs/design.md section 7).
 */
import {
  needsVerifiedRead,
  outcomeOfWindow,
  settleBatch,
  type WindowBatch,
  withStock,
} from '../../../core/daily/merge.ts';
import type { UnitOutcome } from '../../../core/run/run.ts';
import type { DailyProductionStore } from '../../port/daily-production.ts';
import { noteRead } from '../coverage/coverage-ledger.ts';
import { openAmong, settleOpen } from '../runs/run-units.ts';
import { forgetUnknown } from '../runs/unknown-targets.ts';
import type { SqlSession } from '../session.ts';
import { type BatchWell, readBatchWells } from './batch-wells.ts';
import type { ComparedCounts, CountedWindow, DailyTables, WellWindow } from './daily-tables.ts';
import { replaceQuarantine } from './quarantine.ts';
import { keepWatermarks } from './watermark-rows.ts';

type Commit = Parameters<DailyProductionStore['commit']>[0];

/** A window with what its merge does. */
interface MergedWindow extends CountedWindow, ComparedCounts {
  readonly outcome: UnitOutcome;
}

/** Commits a batch as DailyProductionStore.commit describes it. */
export async function commitBatch(tables: DailyTables, batch: Commit): Promise<readonly UnitOutcome[]> {
  const open = await openWindows(tables.session, batch);
  if (open.length === 0) return [];
  const keys = await tables.takeKeys([...new Set(open.map(({ uwi }) => uwi))]);
  const wells = await readBatchWells(tables.session, keys);
  const compared = await compare(tables, open, wells);
  if (compared.length === 0) return [];
  const merged = compared.map(({ window, counts }): MergedWindow => {
    const hadRows = window.watermark?.lastDay !== undefined;
    const outcome = outcomeOfWindow(window, { ...counts, hadRows }, batch.shrink);
    const held = outcome.state === 'held';
    return { ...window, ...counts, outcome, held, removed: held ? 0 : counts.leaving };
  });
  return store(tables, batch, merged);
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
  tables: DailyTables,
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
  const countsByWindow = await tables.compare(windows);
  const compared = windows.map((window, index) => {
    const counts = countsByWindow[index];
    if (counts === undefined) throw new Error(`the merge did not count window ${index} of ${windows.length}`);
    return { window, counts };
  });
  const sound = compared.filter(({ window, counts }) => !needsVerifiedRead(window, counts));
  if (sound.length === 0 || sound.length === compared.length) return sound;
  const units = new Set(sound.map(({ window }) => window.unit));
  return compare(
    tables,
    open.filter(({ unit }) => units.has(unit)),
    wells,
  );
}

/** Writes what {@link compare} found, in the same transaction. */
async function store(
  tables: DailyTables,
  { runId, committedAtMs: atMs }: Commit,
  merged: readonly MergedWindow[],
): Promise<readonly UnitOutcome[]> {
  const { session } = tables;
  await tables.replace(merged, { runId, atMs });
  await replaceQuarantine(tables, merged, { runId, atMs });
  await noteRead(
    session,
    merged.flatMap(({ uwi, readDays: days, isNew, isVerified, held }) =>
      days !== undefined && isVerified && !held ? [{ uwi, days, isKnown: !isNew }] : [],
    ),
  );
  const unknown = merged.flatMap(({ uwi, isUnknown }) => (isUnknown ? [uwi] : []));
  if (unknown.length > 0) await forgetUnknown(session, 'uwi', unknown);
  await keepWatermarks(tables, merged, atMs);
  const rowsNow = await tables.countRows(merged);
  const outcomes = merged.map(({ outcome, rowsBefore }, index) =>
    withStock(outcome, { rowsBefore, rowsAfter: rowsNow[index] ?? 0 }),
  );
  await settleOpen(session, runId, outcomes);
  return outcomes;
}

/** The windows whose units are still open. A settled unit was merged before, and a repeat must change nothing (G1). */
async function openWindows(session: SqlSession, { runId, windows }: Commit): Promise<readonly WindowBatch[]> {
  const open = await openAmong(
    session,
    runId,
    windows.map(({ unit }) => unit),
  );
  return windows.filter(({ unit }) => open.has(unit));
}
