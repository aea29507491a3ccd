/**
 * Commits of daily production: rows, history, quarantine, watermarks and outcomes in one transaction (G1, G2, G3). The
 * rules are here; how an engine finds and writes rows is its own (daily-tables.ts). What a batch does not have costs no
 * statement (docs/design.md section 7).
 */
import { nothingLeaves } from '../../../core/daily/held-month.ts';
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
import { daysWithoutHold, keepHolds } from './held-months.ts';
import { holdLeaving, type Leaving, readLeaving } from './leaving-rows.ts';
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
  const compared = await compare(tables, open, wells, batch);
  if (compared === undefined) return [];
  return store(tables, batch, compared);
}

/** What the merge of the windows would do, in the same order. */
interface ComparedBatch {
  readonly windows: readonly WellWindow[];
  readonly counts: readonly ComparedCounts[];
  readonly leaving: Leaving;
}

/**
 * Compares the windows, without those that have to be read again: undefined if all have to. Those may hold a row of another
 * window of their well, so the others are settled and compared without them.
 */
async function compare(
  tables: DailyTables,
  open: readonly WindowBatch[],
  wells: ReadonlyMap<string, BatchWell>,
  batch: Commit,
): Promise<ComparedBatch | undefined> {
  const windows = settleBatch(open)
    .map((window): WellWindow => {
      const well = wells.get(window.uwi);
      if (well === undefined) throw new Error(`well ${window.uwi} of the batch was not looked up`);
      return { ...window, ...well };
    })
    .toSorted((left, right) => left.wellId - right.wellId);
  const counts = await tables.compare(windows);
  if (counts.length !== windows.length) {
    throw new Error(`the merge counted ${counts.length} windows of ${windows.length}`);
  }
  const leaving = await readLeaving(tables.session, windows, counts, batch);
  const sound = windows.filter((window, index) => {
    const { replaced = 0 } = counts[index] ?? {};
    return !needsVerifiedRead(window, { replaced, unheld: leaving.unheld[index] ?? 0 });
  });
  if (sound.length === 0) return undefined;
  if (sound.length === windows.length) return { windows, counts, leaving };
  const units = new Set(sound.map(({ unit }) => unit));
  return compare(
    tables,
    open.filter(({ unit }) => units.has(unit)),
    wells,
    batch,
  );
}

/** Writes what {@link compare} found, in the same transaction. */
async function store(
  tables: DailyTables,
  { runId, shrink: guard, committedAtMs: atMs }: Commit,
  { windows, counts, leaving }: ComparedBatch,
): Promise<readonly UnitOutcome[]> {
  const { session } = tables;
  const verdicts = await holdLeaving(session, windows, counts, leaving, { runId, guard, atMs });
  const merged = windows.map((window, index): MergedWindow => {
    const [ofWindow, verdict] = [counts[index], verdicts[index]];
    if (ofWindow === undefined || verdict === undefined) throw new Error(`window ${index} was not compared`);
    const hadRows = window.watermark?.lastDay !== undefined;
    const outcome = outcomeOfWindow(window, { ...ofWindow, hadRows }, verdict, runId);
    return { ...window, ...ofWindow, outcome, removed: verdict.removed };
  });
  await tables.replace(merged, { runId, atMs });
  await replaceQuarantine(tables, merged, { runId, atMs });
  const settled = windows.map((window, index) => {
    return { window, leaving: leaving.byWindow[index] ?? [], verdict: verdicts[index] ?? nothingLeaves };
  });
  const holds = await keepHolds(session, settled, leaving.holds, { runId, atMs });
  await noteRead(
    session,
    merged.flatMap(({ uwi, readDays, isNew, isVerified }) =>
      readDays === undefined || !isVerified
        ? []
        : daysWithoutHold(readDays, holds.get(uwi)).map((days) => ({ uwi, days, isKnown: !isNew })),
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
