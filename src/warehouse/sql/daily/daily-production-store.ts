/**
 * The store of daily production for both engines, and its commits; what differs between the engines is a {@link
 * DailyEngine}.
 */
import { grouped } from '../../../core/base/lists.ts';
import {
  needsVerifiedRead,
  outcomeOfWindow,
  settleBatch,
  type WindowBatch,
  withStock,
} from '../../../core/daily/merge.ts';
import {
  joined,
  mayReadAgain,
  orderedBy,
  orderedParts,
  type OrderedWindow,
  outcomeOfParts,
  unfinishedUnit,
} from '../../../core/daily/read-order.ts';
import { mayLeave } from '../../../core/daily/shrink-guard.ts';
import type { UnitOutcome } from '../../../core/run/run.ts';
import type { WellChecks } from '../../port/wells.ts';
import type { ByUwi, CommittedBatch, DailyBatch, DailyProductionStore } from '../../port/daily-production.ts';
import { observeHolds, observeQuarantine, observeRead } from '../alerts/export-observations.ts';
import { beginChanged, beginChecks, commitChecks } from './check-commit.ts';
import { forgetUnknown, onlyOpen, settleOpen, settleUnknown } from '../ledger/run-units.ts';
import { type InSession, type SqlDatabase, transacted } from '../session.ts';
import { keepConflictingDays } from './conflicting-days.ts';
import { keepWatermarks, type ReadDays, recordRead } from './coverage-and-watermark.ts';
import {
  type BatchWell,
  type ComparedCounts,
  type CountedWindow,
  type DailyTables,
  type Noticed,
  readBatchWells,
  readDayColumns,
  readProductionRows,
  readWatermarks,
  takeKeys,
  type WellWindow,
  type WithinTables,
} from './daily-tables.ts';
import {
  type ComparedWindow,
  daysWithoutHold,
  holdLeaving,
  type Holds,
  keepHolds,
  type Leaving,
  type LeavingRules,
  noHolds,
  readHeldMonths,
  readHolds,
  readLeaving,
} from './held-months.ts';
import { countAccepted, replaceQuarantine } from './quarantine.ts';
import { keepReads, type KeptRead, positionInOrder } from './read-order.ts';
import { readRestatements } from './well-history.ts';
import { readStamps, storedWindows } from './stored-windows.ts';
import { keepZonesOfBatch } from './rezone.ts';

export interface DailyEngine extends WithinTables {
  /** `mostRows`: what the work inserts at the most. */
  readonly commit: (work: (tables: DailyTables) => Promise<DailyCommit>, mostRows: number) => Promise<DailyCommit>;
  readonly rowsThatFit: DailyProductionStore['rowsThatFit'];
  /** SQL of those of a relation of `target`s that have rows. */
  readonly withRows: (named: string) => string;
  /** The table with the marks of months for a feed. */
  readonly marks: string;
  readonly readCleanDays: InSession<DailyProductionStore['cleanDays']>;
}

export function createDailyProductionStore(database: SqlDatabase, engine: DailyEngine): DailyProductionStore {
  const { withRows, readCleanDays } = engine;
  return {
    ...transacted<Pick<DailyProductionStore, 'uwis' | 'settleUnknown' | 'rows' | 'days'>>(database, {
      uwis: async (session) => {
        const read = 'SELECT uwi FROM watermark UNION SELECT uwi FROM coverage ORDER BY uwi';
        return (await session.rows<{ uwi: string }>(read)).map(({ uwi }) => uwi);
      },
      settleUnknown: (session, unknown) => settleUnknown(session, { kind: 'uwi', withRows }, unknown),
      rows: readProductionRows,
      days: readDayColumns,
    }),
    watermarks: async (uwis) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readWatermarks(session, uwis)),
    cleanDays: async (uwis, days) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readCleanDays(session, uwis, days)),
    heldMonths: async (uwis) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readHeldMonths(session, uwis)),
    commit: async (batch) =>
      batch.windows.length === 0
        ? nothingCommitted
        : engine.commit((tables) => commitBatch(tables, batch), rowsOf(batch)),
    rowsThatFit: () => engine.rowsThatFit(),
    stamps: async (windows) =>
      windows.length === 0 ? [] : database.transact((session) => readStamps(session, windows)),
    compareStored: (windows, use) => database.transact((session) => use(storedWindows(session, windows))),
    restatements: (question, use) => database.transactOnce((session) => use(readRestatements(session, question))),
  };
}

// Commits of daily production: rows, history, quarantine, watermarks and outcomes in one transaction (G1, G2, G3). The
// rules are here; how an engine finds and writes rows is its own (daily-tables.ts). What a batch does not have costs no
// statement (docs/design.md section 7).

interface MergedWindow extends CountedWindow, ComparedCounts {
  readonly outcome: UnitOutcome;
}

export interface DailyCommit extends CommittedBatch {
  readonly rowsInserted: number;
}

function rowsOf({ windows }: DailyBatch): number {
  return windows.reduce((sum, { rows }) => sum + rows.length, 0);
}

const nothingCommitted: DailyCommit = { outcomes: [], unfinished: [], rowsInserted: 0 };

async function commitBatch(tables: DailyTables, batch: DailyBatch): Promise<DailyCommit> {
  const { session, lastChange } = tables;
  // A settled unit was merged before, and a repeat must change nothing (G1).
  const unsettled = await onlyOpen(session, batch.runId, batch.windows);
  if (unsettled.length === 0) return nothingCommitted;
  const uwis = namesOf(unsettled);
  const keys = await takeKeys(session, tables.keys, uwis);
  const open = await countAccepted(session, unsettled);
  const { runId, readNo, committedAtMs } = batch;
  const order = await positionInOrder(
    session,
    { kind: 'uwi', runId, readNo, targets: uwis, lastChange },
    committedAtMs,
  );
  const wells = await readBatchWells(session, keys);
  await keepZonesOfBatch(session, open, wells);
  const withHold = uwis.filter((uwi) => wells.get(uwi)?.isHeld === true);
  const holds = await readHolds(session, withHold);
  const releases = (uwi: string): boolean =>
    [...(holds.get(uwi)?.values() ?? [])].some(({ release }) => release?.runId === runId);
  const parts = open.flatMap((window) => {
    return orderedParts(window, order.later.get(window.uwi) ?? [], { isWhole: releases(window.uwi) });
  });
  const rules = { runId, guard: batch.shrink, holds };
  const { compared, leaving, unread } = await compare(tables, rules, parts, wells);
  const noticed = { runId, atMs: order.atMs };
  const verdicts = await holdLeaving(session, compared, leaving, { ...rules, ...noticed });
  const merged = verdicts.map(({ verdict }, index): MergedWindow => {
    const { window, counts } = compared[index] as ComparedPart;
    const hadRows = window.watermark?.lastDay !== undefined;
    const outcome = outcomeOfWindow(window, { ...counts, hadRows }, verdict, runId);
    return { ...window, ...counts, outcome, removed: verdict.removed };
  });
  const units = unitsOf(open, parts, merged, unread);
  if (units.length === 0) return nothingCommitted;
  const holdsAfter = await keepHolds(session, verdicts, holds, noticed);
  await observeHolds(session, 'uwi', [...new Set([...holds.keys(), ...holdsAfter.keys()])], noticed);
  const committed = await store(tables, noticed, { merged, units, holds: holdsAfter }, batch.checks);
  await keepReads(session, 'uwi', order, merged.flatMap(keptPart));
  return { ...committed, rowsInserted: merged.reduce((rows, { inserted }) => rows + inserted, 0) };
}

type ComparedPart = ComparedWindow<WellWindow & OrderedWindow>;

interface ComparedParts {
  readonly compared: readonly ComparedPart[];
  /** Of these parts, in their order. */
  readonly leaving: Leaving;
  /** Units that have to be read again, verified, before anything of them is written. */
  readonly unread: ReadonlySet<number>;
}

/**
 * What the merge of each part of a window would do, without the windows that have to be read again, and the parts in which
 * a later read stands. Those may hold a row of another window of their well, so the others are settled and compared without
 * them.
 */
async function compare(
  tables: DailyTables,
  rules: Omit<LeavingRules, 'atMs'>,
  open: readonly OrderedWindow[],
  wells: ByUwi<BatchWell>,
  before: ReadonlySet<number> = new Set(),
): Promise<ComparedParts> {
  if (open.length === 0) return { compared: [], leaving: [], unread: before };
  const windows = settleBatch(open)
    .map((window): WellWindow & OrderedWindow => {
      const well = wells.get(window.uwi);
      if (well === undefined) throw new Error(`well ${window.uwi} of the batch was not observed up`);
      return { ...window, ...well };
    })
    .toSorted((left, right) => left.wellId - right.wellId);
  const countsByWindow = await tables.compare(windows);
  const compared = windows.map((window, index): ComparedPart => {
    const counts = countsByWindow[index];
    if (counts === undefined) throw new Error(`the merge did not count window ${index} of ${windows.length}`);
    return { window, counts };
  });
  const leaving = await readLeaving(tables.session, compared, rules);
  const mayLeaveByWindow = leaving.map((months, index) => {
    return mayLeave(months, rules.holds.get(windows[index]?.uwi ?? '') ?? noHolds, rules);
  });
  const mayLeaveOf = (index: number): number => mayLeaveByWindow[index] ?? 0;
  const isUnread = compared.filter(({ window, counts: { replaced } }, index) =>
    needsVerifiedRead(window, { replaced, mayLeave: mayLeaveOf(index) }),
  );
  const unread = new Set([...before, ...isUnread.map(({ window }) => window.unit)]);
  const clean = compared.filter(
    ({ window, counts }, index) =>
      !unread.has(window.unit) && !(window.isInLater && counts.inserted + counts.updated + mayLeaveOf(index) > 0),
  );
  if (clean.length === compared.length) return { compared, leaving, unread };
  const left = new Set(clean.map(({ window }) => nameOf(window)));
  const others = open.filter((window) => left.has(nameOf(window)));
  return compare(tables, rules, others, wells, unread);
}

/** What a batch does: its parts in the order in which they were compared, by which the engine numbers them, and by unit. */
interface MergedBatch {
  readonly merged: readonly MergedWindow[];
  readonly units: readonly MergedUnit[];
  /** The holds that stand after it, by uwi. */
  readonly holds: ByUwi<Holds>;
}

/** Writes what {@link compare} found, in the same transaction. */
async function store(
  tables: DailyTables,
  noticed: Noticed,
  { merged, units, holds }: MergedBatch,
  checks: WellChecks | undefined,
): Promise<Pick<CommittedBatch, 'outcomes' | 'unfinished'>> {
  const { session } = tables;
  const begun = checks && (await beginChecks(tables, merged, checks, noticed));
  if (merged.length > 0) await storeRows(tables, noticed, merged);
  const changed = begun && (await beginChanged(tables, merged, begun));
  const readDays = units.flatMap((unit) => readDaysOf(unit, holds));
  await recordRead(session, readDays);
  const unknown = merged.flatMap(({ uwi, isUnknown }) => (isUnknown ? [uwi] : []));
  if (unknown.length > 0) await forgetUnknown(session, 'uwi', unknown, noticed);
  if (merged.length > 0) await keepWatermarks(tables, units.flatMap(verifiedParts), noticed.atMs);
  const counted = merged.length === 0 ? [] : await tables.countRows(merged);
  const rowsNow = new Map(counted.map(({ windowNo, rows }) => [windowNo, rows]));
  const outcomes = new Map(
    merged.map((part, index) => [
      part,
      withStock(part.outcome, { rowsBefore: part.rowsBefore, rowsAfter: rowsNow.get(index) ?? 0 }),
    ]),
  );
  const committed = committedUnits(units, outcomes);
  if (committed.outcomes.length > 0) await settleOpen(session, noticed.runId, committed.outcomes);
  const settled = new Set(committed.outcomes.map(({ unit }) => unit));
  const hadFailed = units.filter(
    ({ batch, parts }) => settled.has(batch.unit) && parts.some(({ isFailed }) => isFailed),
  );
  await observeRead(
    session,
    'uwi',
    hadFailed.map(({ batch: { uwi, window } }) => ({ target: uwi, ...window })),
    noticed,
  );
  // Last, since the wells are evaluated meanwhile.
  if (begun !== undefined && changed !== undefined) await commitChecks(tables, begun, changed);
  return committed;
}

async function storeRows(tables: DailyTables, noticed: Noticed, merged: readonly MergedWindow[]): Promise<void> {
  await tables.replace(merged, noticed);
  await keepConflictingDays(tables, merged, noticed);
  await replaceQuarantine(tables, merged, noticed);
  const inQuarantine = merged.filter(({ isQuarantined, quarantined }) => isQuarantined || quarantined.length > 0);
  await observeQuarantine(tables.session, namesOf(inQuarantine), noticed);
  const isChanged = merged.some(({ inserted, updated, removed }) => inserted + updated + removed > 0);
  if (isChanged) await tables.recordChange(noticed.atMs);
}

function namesOf(windows: readonly WindowBatch[]): readonly string[] {
  return [...new Set(windows.map(({ uwi }) => uwi))];
}

/** A part of a unit of which another part has to be read again says nothing of how far the well is verified. */
function verifiedParts({ batch, parts, left }: MergedUnit): readonly MergedWindow[] {
  const isWhole = left.length === 0 && batch.before?.isVerified !== false;
  return isWhole ? parts : parts.map((part) => ({ ...part, isVerified: false }));
}

/** Days of a month with a hold are not noted: what a suspicious read lacks of them is not known to be missing. */
function readDaysOf({ batch, parts, left }: MergedUnit, holds: ByUwi<Holds>): readonly ReadDays[] {
  const { uwi, readDays, isVerified } = batch;
  if (readDays === undefined || !isVerified || left.length > 0) return [];
  const isKnown = parts.some(({ isNew }) => !isNew);
  return daysWithoutHold(readDays, holds.get(uwi)).map((days) => ({ uwi, days, isKnown }));
}

// Units of a batch whose windows were cut where later reads stand (core/daily/read-order.ts).

/** A unit of which something is merged or has to be read again. */
interface MergedUnit {
  readonly batch: WindowBatch;
  readonly parts: readonly MergedWindow[];
  /** Those in which a later read stands. */
  readonly left: readonly OrderedWindow[];
  readonly isCut: boolean;
}

/** Names a part among those of a batch. */
function nameOf({ unit, window }: WindowBatch): string {
  return `${unit} from ${window.fromMs}`;
}

/** The units of `windows` but those that are `unread`; all others of their `cut` parts but the `merged` ones are left. */
function unitsOf(
  windows: readonly WindowBatch[],
  cut: readonly OrderedWindow[],
  merged: readonly MergedWindow[],
  unread: ReadonlySet<number>,
): readonly MergedUnit[] {
  const taken = new Set(merged.map(nameOf));
  const partsByUnit = grouped(merged, ({ unit }) => String(unit));
  const cutByUnit = grouped(cut, ({ unit }) => String(unit));
  return windows.flatMap((batch) => {
    if (unread.has(batch.unit)) return [];
    const own = cutByUnit.get(String(batch.unit)) ?? [];
    const left = own.filter((part) => !taken.has(nameOf(part)));
    const isCut = own.some(({ isInLater }) => isInLater);
    return [{ batch, parts: partsByUnit.get(String(batch.unit)) ?? [], left, isCut }];
  });
}

/** The outcomes of the units that are settled, and what has to be read again of the others; `outcomes` by merged part. */
function committedUnits(
  units: readonly MergedUnit[],
  outcomes: ReadonlyMap<MergedWindow, UnitOutcome>,
): CommittedBatch {
  const settled: UnitOutcome[] = [];
  const unfinished: CommittedBatch['unfinished'][number][] = [];
  for (const { batch, parts, left, isCut } of units) {
    const merged = parts.flatMap((part) => outcomes.get(part) ?? []);
    const before = batch.before === undefined ? [] : [batch.before.outcome];
    const outcome = isCut ? outcomeOfParts(batch, merged, left) : joined([...before, ...merged]);
    if (left.length > 0 && mayReadAgain(batch)) unfinished.push(unfinishedUnit(batch, left, outcome));
    else settled.push({ ...outcome, ...(batch.readMs !== undefined && { readMs: batch.readMs }) });
  }
  return { outcomes: settled, unfinished };
}

/** What a merged part orders. */
function keptPart(part: WindowBatch): readonly KeptRead[] {
  const window = orderedBy(part);
  return window === undefined ? [] : [{ target: part.uwi, window }];
}
