/** The sums of guarantee G2: of each report, of its units, of each window, and of all windows of a well. */
import type { Evidence, Violation } from '../evidence.ts';
import {
  type Counts,
  countsOf,
  dailyUnits,
  disturbancesIn,
  endStates,
  type Ledger,
  type LedgerRun,
  type LedgerUnit,
} from './ledger.ts';
import type { CheckRules } from './rules.ts';
import { groupedBy, msOf, objectOf, rowsOf, textOf, violated } from './tables.ts';

const ofRead = ['inserted', 'updated', 'unchanged', 'repeated'];

/** The whole of the sum of a job, and its parts ("G2 Every record is accounted for"). */
const sums: Readonly<Record<string, readonly [whole: string, parts: readonly string[]]>> = {
  'export daily-production': ['read', [...ofRead, 'outsideWindow', 'quarantined', 'accepted']],
  'export daily-production --gaps': ['read', [...ofRead, 'outsideWindow', 'quarantined', 'accepted']],
  'export wells': ['read', ofRead],
  'export time-series': ['read', ofRead],
  'verify daily-production': [
    'read',
    ['same', 'differing', 'missingHere', 'notYetRead', 'repeated', 'outsideWindow', 'quarantined', 'accepted'],
  ],
  'push network-pipes': ['rows', ['accepted', 'superseded', 'rejectedByUs', 'rejectedByService', 'failed']],
};

/** Counts of targets: a run counts a target once, however many of its units have it. */
const countsOfTargets: readonly string[] = ['targetsWithRows', 'unknownTargets', 'unknownWithRows'];

/** Counts that a report has beside those of its units: what was judged of their sum. */
const judgedCounts: readonly string[] = ['removedUnapproved'];

export function checkSums(evidence: Evidence, ledger: Ledger, rules: CheckRules): readonly Violation[] {
  const ofRuns = [...ledger.runs.values()]
    .filter(({ state }) => endStates.includes(state))
    .flatMap((run) => violationsOfRun(run, ledger.unitsByRun.get(run.id) ?? []));
  return [
    ...ofRuns,
    ...violationsOfStock(ledger),
    ...violationsOfWells(evidence, ledger),
    ...violationsOfLoneRuns(evidence, ledger, rules),
  ];
}

function violationsOfRun(run: LedgerRun, units: readonly LedgerUnit[]): readonly Violation[] {
  const { id, state, report, finishedMs: atMs } = run;
  const at = { runId: id, atMs };
  if (report === undefined) return [violated('G2', `run ${id} ended without a report`, at)];
  const counts = countsOf(report['counts']);
  const ofUnits = countsOf(report['units']);
  const balance = objectOf(report['balance']);
  return [
    ...(balance['balanced'] === true
      ? []
      : [violated('G2', `run ${id} does not balance: ${String(balance['statement'])}`, at)]),
    ...violationsOfSum(run, counts, ofUnits),
    ...violationsOfUnits(run, ofUnits, units),
    ...violationsOfAddition(run, counts, units),
    ...(report['state'] === state ? [] : [violated('G2', `run ${id} is ${state}, and its report says otherwise`, at)]),
  ];
}

function violationsOfSum(
  { id, job, finishedMs: atMs }: LedgerRun,
  counts: Counts,
  units: Counts,
): readonly Violation[] {
  const count = (name: string): number => counts[name] ?? 0;
  if (job === 'cleanup') {
    const { total = 0, failed = 0, cancelled = 0 } = units;
    const sum = count('deleted') + count('alreadyGone') + count('refused') + failed + cancelled;
    return sum === total
      ? []
      : [violated('G2', `cleanup ${id} has ${total} targets, and accounts for ${sum}`, { runId: id, atMs })];
  }
  const terms = sums[job];
  if (terms === undefined)
    return [violated('G2', `run ${id} is of the job ${job}, whose sum is not known`, { runId: id, atMs })];
  const [whole, parts] = terms;
  const sum = parts.reduce((total, name) => total + count(name), 0);
  if (sum === count(whole)) return [];
  return [
    violated('G2', `run ${id} counts ${count(whole)} ${whole}, and accounts for ${sum}`, { runId: id, atMs, counts }),
  ];
}

/** The units of the report are those of the ledger, by state. A run that ended before its plan has none there. */
function violationsOfUnits(
  { id, row, finishedMs: atMs }: LedgerRun,
  reported: Counts,
  units: readonly LedgerUnit[],
): Violation[] {
  const { total = 0, ...byState } = reported;
  const sum = Object.values(byState).reduce((all, count) => all + count, 0);
  const at = { runId: id, atMs };
  const violations: Violation[] = [];
  if (sum !== total)
    violations.push(violated('G2', `run ${id} reports ${total} units, of which ${sum} have an end`, at));
  if (units.length === 0 && (row['unit_count'] ?? null) === null) return violations;
  const found = groupedBy(units, ({ state }) => state);
  const isSame = total === units.length && [...found].every(([state, those]) => byState[state] === those.length);
  if (!isSame)
    violations.push(violated('G2', `the units of run ${id} are not those of its report`, { ...at, reported }));
  return violations;
}

/** The counts of the units add up to those of the report. */
function violationsOfAddition(
  { id, finishedMs: atMs }: LedgerRun,
  counts: Counts,
  units: readonly LedgerUnit[],
): Violation[] {
  if (units.length === 0) return [];
  const total = units.reduce<Record<string, number>>((sum, { counts: own }) => {
    for (const [name, count] of Object.entries(own)) sum[name] = (sum[name] ?? 0) + count;
    return sum;
  }, {});
  for (const name of countsOfTargets) {
    if (total[name] !== undefined)
      total[name] = new Set(units.filter((unit) => (unit.counts[name] ?? 0) > 0).map(({ target }) => target)).size;
  }
  const names = [...new Set([...Object.keys(total), ...Object.keys(counts)])].filter(
    (name) => !judgedCounts.includes(name),
  );
  const apart = names.filter((name) => (total[name] ?? 0) !== (counts[name] ?? 0));
  if (apart.length === 0) return [];
  return [
    violated('G2', `the units of run ${id} do not add up to its ${apart.join(', ')}`, {
      runId: id,
      atMs,
      total,
      counts,
    }),
  ];
}

/** In each window: rows before + inserted - removed = rows after. */
function violationsOfStock(ledger: Ledger): readonly Violation[] {
  return dailyUnits(ledger).flatMap(({ runId, target, counts, run }) => {
    const { rowsBefore, rowsAfter, rowsAdrift = 0, inserted = 0, removed = 0 } = counts;
    if (rowsBefore === undefined || rowsAfter === undefined) return [];
    if (rowsBefore + inserted - removed === rowsAfter && rowsAdrift === 0) return [];
    const what = `${rowsBefore} rows of ${target} + ${inserted} inserted - ${removed} removed are not ${rowsAfter} rows after`;
    return [violated('G2', what, { runId, uwi: target, atMs: run.finishedMs })];
  });
}

/**
 * All rows of a well are what its windows inserted less what they removed. A part of a window that was merged beside another
 * run, and read again by another process, is in no count (decision 26): wells of which that may be so are left out.
 */
function violationsOfWells(evidence: Evidence, ledger: Ledger): readonly Violation[] {
  const rows = groupedBy(rowsOf(evidence, 'daily_production'), (row) => textOf(row, 'uwi'));
  const byWell = groupedBy(dailyUnits(ledger), ({ target }) => target);
  return [...new Set([...rows.keys(), ...byWell.keys()])].flatMap((uwi) => {
    const units = byWell.get(uwi) ?? [];
    const sum = units.reduce((total, { counts: { inserted = 0, removed = 0 } }) => total + inserted - removed, 0);
    const found = rows.get(uwi)?.length ?? 0;
    if (sum === found || wasCutShort(evidence, units)) return [];
    return [
      violated('G2', `${uwi} has ${found} rows, and its windows inserted ${sum} more than they removed`, { uwi }),
    ];
  });
}

/**
 * Of a run that was alone with a well, whatever died meanwhile: the rows that the well had before it, what it inserted and removed, and
 * the rows afterwards, by the versions that were known then.
 */
function violationsOfLoneRuns(evidence: Evidence, ledger: Ledger, { clockSlackMs }: CheckRules): readonly Violation[] {
  const known = knownByWell(evidence);
  const byWell = groupedBy(dailyUnits(ledger), ({ target }) => target);
  return [...byWell].flatMap(([uwi, units]) =>
    [...groupedBy(units, ({ runId }) => runId)].flatMap(([runId, own]) => {
      const [{ run } = { run: undefined }] = own;
      if (run?.finishedMs === undefined || run.state !== 'done') return [];
      const span = { fromMs: run.requestedMs - clockSlackMs, toMs: run.finishedMs + clockSlackMs };
      const isAlone = units.every(
        ({ run: other }) => other.id === runId || spanOf(other).fromMs > span.toMs || spanOf(other).toMs < span.fromMs,
      );
      if (!isAlone) return [];
      const change = own.reduce((sum, { counts: { inserted = 0, removed = 0 } }) => sum + inserted - removed, 0);
      const rowsAt = (atMs: number): number =>
        (known.get(uwi) ?? []).filter(({ fromMs, toMs }) => fromMs <= atMs && toMs > atMs).length;
      const [before, after] = [rowsAt(span.fromMs), rowsAt(span.toMs)];
      if (before + change === after) return [];
      const what = `run ${runId} was alone with ${uwi}, found ${before} rows, left ${after}, and counts a change by ${change}`;
      return [violated('G2', what, { runId, uwi, atMs: run.finishedMs })];
    }),
  );
}

function knownByWell(evidence: Evidence) {
  const versions = [
    ...rowsOf(evidence, 'daily_production').map((row) => ({ row, from: 'changed_at', toMs: Infinity })),
    ...rowsOf(evidence, 'daily_production_history').map((row) => {
      return { row, from: 'known_from', toMs: msOf(row, 'noticed_at') ?? 0 };
    }),
  ].map(({ row, from, toMs }) => ({ uwi: textOf(row, 'uwi'), fromMs: msOf(row, from) ?? 0, toMs }));
  return groupedBy(versions, ({ uwi }) => uwi);
}

function wasCutShort(evidence: Evidence, units: ReadonlyArray<LedgerUnit & { readonly run: LedgerRun }>): boolean {
  return units.some(({ run }) => {
    const own = spanOf(run);
    return units.some(({ run: other }) => {
      if (other.id === run.id) return false;
      const beside = {
        fromMs: Math.max(own.fromMs, spanOf(other).fromMs),
        toMs: Math.min(own.toMs, spanOf(other).toMs),
      };
      const isCut = run.state !== 'done' || other.state !== 'done' || disturbancesIn(evidence, beside).length > 0;
      return beside.fromMs <= beside.toMs && isCut;
    });
  });
}

function spanOf({ requestedMs, finishedMs = Infinity }: LedgerRun) {
  return { fromMs: requestedMs, toMs: finishedMs };
}
