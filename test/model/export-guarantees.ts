/** What holds of exports at any moment, by the number of its guarantee (docs/guarantees.md): each answer is a violation. */
import type { Truth } from './truth.ts';
import {
  alertViolations,
  bugsIn,
  reportOf,
  secretsIn,
  storedRuns,
  type StoredRun,
  unended,
} from './world-guarantees.ts';
import type { Asked, World } from './world.ts';

interface StoredRow {
  readonly uwi: string;
  readonly xid: string;
  readonly dateMs: number;
  readonly oilRate: number;
}

interface StoredVersion extends StoredRow {
  readonly fromMs: number;
  readonly untilMs: number;
  /** The record that takes its place; null for none. */
  readonly next: string | null;
}

interface StoredUnit {
  readonly runId: string;
  readonly state: string;
  readonly target: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly mode: string;
}

const rowColumns = 'uwi, xid::VARCHAR AS xid, epoch_ms(date) AS "dateMs", oil_rate AS "oilRate"';

/** By well, the last end of a window that is done, which a prune forgets; milliseconds since 1970. */
export type Reached = Map<string, number>;

export async function exportViolations(world: World, truth: Truth, reached: Reached): Promise<readonly string[]> {
  return [
    ...(await rowViolations(world, truth, reached)),
    ...secretsIn(world, await storedRuns(world)),
    ...bugsIn(world),
  ];
}

/** Those that can be asked of a copy as well. */
export async function rowViolations(asked: Asked, truth: Truth, reached: Reached): Promise<readonly string[]> {
  const rows = await asked.rows<StoredRow>(`SELECT ${rowColumns} FROM daily_production`);
  const units = await asked.rows<StoredUnit>(
    `SELECT run_id AS "runId", state, target, (spec->>'fromMs')::DOUBLE AS "fromMs", (spec->>'toMs')::DOUBLE AS "toMs",
       spec->>'mode' AS mode FROM run_unit`,
  );
  for (const { target, state, mode, toMs } of units) {
    if (mode !== 'incremental' || (state !== 'done' && state !== 'held')) continue;
    reached.set(target, Math.max(reached.get(target) ?? toMs, toMs));
  }
  const runs = await storedRuns(asked);
  const known = { rows, held: await heldMonths(asked), truth, reached };
  return [
    ...rowsOfTruth(rows, truth),
    ...units.filter(({ state }) => state === 'done').flatMap((unit) => [...olderThanRead(unit, known)]),
    ...(await versionsInOrder(asked)),
    ...(await watermarks(asked, units, known)),
    ...(await unended(asked, runs)),
    ...(await alertViolations(asked)),
    ...runs.flatMap((run) => [...balanceOf(run)]),
  ];
}

/** G1, G2: a row is one that the service had, and each record has one row. */
function* rowsOfTruth(rows: readonly StoredRow[], truth: Truth): Generator<string> {
  const seen = new Set<string>();
  for (const { uwi, xid, dateMs, oilRate } of rows) {
    const known = truth.records.find((record) => record.xid === xid);
    if (known?.uwi !== uwi || known.dateMs !== dateMs)
      yield `G2: ${xid} is a row of another well or day than its record`;
    if (!truth.hadSince(xid, oilRate, 0)) yield `G2: ${uwi} ${xid} has ${oilRate}, which the service never had`;
    if (seen.has(xid)) yield `G1: ${uwi} ${xid} has two rows`;
    seen.add(xid);
  }
}

/** A window that a run has read, of a well. */
type ReadWindow = Pick<StoredUnit, 'runId' | 'target' | 'fromMs' | 'toMs'>;

interface Known {
  readonly rows: readonly StoredRow[];
  readonly held: ReadonlySet<string>;
  readonly truth: Truth;
  readonly reached: Reached;
}

/** G1, G3, G4: what a run has read is as new as its first request, and no answer of an older one takes its place. */
function* olderThanRead({ runId, target, fromMs, toMs }: ReadWindow, { rows, held, truth }: Known): Generator<string> {
  const stored = new Map(rows.map(({ xid, oilRate }) => [xid, oilRate]));
  const tick = truth.firstRequest(runId, target);
  if (tick === undefined) return;
  for (const { uwi, xid, dateMs } of truth.records) {
    if (uwi !== target || dateMs < fromMs || dateMs >= toMs) continue;
    const isHeld = held.has(`${uwi} ${new Date(dateMs).toISOString().slice(0, 7)}`) && stored.has(xid);
    if (isHeld || truth.hadSince(xid, stored.get(xid), tick) || truth.wasBrokenSince(xid, tick)) continue;
    yield `G3: ${runId} read ${uwi} ${xid}, and ${stored.get(xid) ?? 'nothing'} is older than that`;
  }
}

async function heldMonths(asked: Asked): Promise<ReadonlySet<string>> {
  const held = await asked.rows<{ held: string }>(
    `SELECT uwi || ' ' || strftime(month, '%Y-%m') AS held FROM held_month`,
  );
  return new Set(held.map((each) => each.held));
}

/** At any instant there is one version of a record, and history is in order. */
async function versionsInOrder(asked: Asked): Promise<readonly string[]> {
  const versions = await asked.rows<StoredVersion>(
    `SELECT ${rowColumns}, epoch_ms(known_from) AS "fromMs", epoch_ms(noticed_at) AS "untilMs", next_xid::VARCHAR AS next
       FROM daily_production_history
     UNION ALL SELECT ${rowColumns}, epoch_ms(changed_at), 9e15, NULL FROM daily_production ORDER BY xid, "fromMs", "untilMs"`,
  );
  return versions.flatMap((version, index) => {
    const next = versions[index + 1];
    if (version.fromMs >= version.untilMs) return [`history: ${version.xid} ends when it begins, or before`];
    const isContinued = version.next === version.xid;
    if (isContinued && (next?.xid !== version.xid || next.fromMs !== version.untilMs)) {
      return [`history: no version of ${version.xid} follows at ${new Date(version.untilMs).toISOString()}`];
    }
    if (next?.xid !== version.xid || next.fromMs >= version.untilMs) return [];
    return [`history: two versions of ${version.xid} at ${new Date(next.fromMs).toISOString()}`];
  });
}

/**
 * G3: a watermark is the end of a window that is done, or lies in one that is read up to there: of a window that is cut by a
 * later read, the part behind it may have to be read again.
 */
async function watermarks(asked: Asked, units: readonly StoredUnit[], known: Known): Promise<readonly string[]> {
  const marks = await asked.rows<{ uwi: string; atMs: number }>(
    'SELECT uwi, epoch_ms(watermark) AS "atMs" FROM watermark',
  );
  return marks.flatMap(({ uwi, atMs }) => {
    if ((known.reached.get(uwi) ?? -Infinity) >= atMs) return [];
    const isCut = units.some((unit) => {
      const isOver = unit.target === uwi && unit.mode === 'incremental' && unit.fromMs < atMs && atMs <= unit.toMs;
      return isOver && unit.state === 'open' && olderThanRead({ ...unit, toMs: atMs }, known).next().done === true;
    });
    if (isCut) return [];
    return [`G3: the watermark of ${uwi} is ${new Date(atMs).toISOString()}, past every window that is done`];
  });
}

/** G2: the sum of a run that has ended is reconciled. */
function* balanceOf(run: StoredRun): Generator<string> {
  const report = reportOf(run);
  if (report === undefined) return;
  const { runId } = run;
  const { counts, units: sums } = report;
  const count = (name: string): number => counts[name] ?? 0;
  const parts = ['inserted', 'updated', 'unchanged', 'repeated', 'outsideWindow', 'quarantined', 'accepted'].map(count);
  const sum = parts.reduce((total, part) => total + part, 0);
  if (count('read') !== sum) yield `G2: ${runId} read ${count('read')} records, and accounts for ${sum}`;
  if (count('rowsBefore') + count('inserted') - count('removed') !== count('rowsAfter')) {
    yield `G2: ${runId} has ${count('rowsAfter')} rows after ${count('rowsBefore')} before`;
  }
  const { unknown = 0 } = sums;
  const settled = sums.done + sums.held + unknown + sums.failed + sums.cancelled;
  if (settled !== sums.total) yield `G2: ${runId} has ${sums.total} units, and accounts for ${settled}`;
}
