/** To whom the warehouse and its runs belong (G11), and what is promised without a number: the feed, and nothing left over. */
import type { Evidence, FeedReading, Violation } from '../evidence.ts';
import { disturbancesIn, isKill } from './ledger.ts';
import type { CheckRules } from './rules.ts';
import { dayAt, groupedBy, numberOf, rowsOf, textOf, violated } from './tables.ts';

/** Columns with the service that something was for. */
const serviceColumns = [
  ['run', 'service'],
  ['push', 'service'],
  ['push_claim', 'service'],
  ['cleanup_plan', 'service_url'],
  ['deletion_audit', 'service_url'],
] as const;

/** One warehouse, of one service and one queue; all that was done was for that service. */
export function checkIdentity(evidence: Evidence): readonly Violation[] {
  const warehouses = rowsOf(evidence, 'warehouse');
  const [warehouse] = warehouses;
  if (warehouse === undefined || warehouses.length > 1) {
    return [violated('G11', `the warehouse has ${warehouses.length} identities`)];
  }
  const service = textOf(warehouse, 'service');
  const violations: Violation[] = [];
  if (service === '') violations.push(violated('G11', 'the warehouse belongs to no service'));
  if (textOf(warehouse, 'queue_id') === '') violations.push(violated('G11', 'the warehouse has no queue'));
  const takeovers = evidence.events.filter(({ kind }) => kind === 'takeover').length;
  const epoch = numberOf(warehouse, 'epoch') ?? 0;
  if (epoch < 1) violations.push(violated('G11', 'no queue ever took the warehouse'));
  else if (epoch < 1 + takeovers)
    violations.push(violated('G11', `the epoch is ${epoch} after ${takeovers} takeovers`));
  if (textOf(warehouse, 'queue_kind') !== evidence.queue) {
    violations.push(violated('G11', `the warehouse is worked by the queue ${textOf(warehouse, 'queue_kind')}`));
  }
  const others = serviceColumns.flatMap(([table, column]) =>
    rowsOf(evidence, table).flatMap((row) => {
      if (textOf(row, column) === service) return [];
      const runId = textOf(row, 'run_id');
      return [
        violated('G11', `a row of ${table} is of another service than the warehouse`, { runId, service: row[column] }),
      ];
    }),
  );
  return [...violations, ...others];
}

/** A worker that stood still while another queue took the warehouse ends when it goes on: with exit code 5, and by itself. */
export function checkFence(evidence: Evidence, { longestPauseMs }: CheckRules): readonly Violation[] {
  const { events } = evidence;
  const ends = events.filter(({ kind }) => kind === 'process-ended');
  return events.flatMap(({ kind, atMs, untilMs = atMs, detail }) => {
    const still = detail?.['still'];
    if (kind !== 'takeover') return [];
    if (detail?.['taken'] === false)
      return [violated('G11', 'another queue asked for the warehouse, and did not get it', { atMs })];
    const last = ends.filter(({ at, ...end }) => at === still && (end.untilMs ?? end.atMs) >= atMs).at(-1);
    const endedMs = last?.untilMs ?? Infinity;
    const isKilled = disturbancesIn(evidence, { fromMs: untilMs, toMs: endedMs }).some(
      (event) =>
        (isKill(event) && event.at === still) || (event.kind === 'failpoint' && event.detail?.['what'] === 'kill'),
    );
    const hasEnded = last?.detail?.['code'] === 5 || isKilled;
    if (endedMs < untilMs || (endedMs <= untilMs + longestPauseMs && hasEnded)) return [];
    return [violated('G11', `${String(still)} went on after another queue took the warehouse`, { atMs: untilMs })];
  });
}

/** Each reading of the feed was whole, its version never goes back, and the last one has all rows (docs/feed.md). */
export function checkFeed(evidence: Evidence): readonly Violation[] {
  const inOrder = evidence.feed.toSorted((left, right) => left.atMs - right.atMs);
  const ofReadings = inOrder.flatMap(({ atMs, version, faults }, index) => {
    const before = inOrder[index - 1]?.version ?? version;
    const isBack = version < before;
    return [
      ...faults.map((fault) => violated('storm', `the feed: ${fault}`, { atMs, version })),
      ...(isBack ? [violated('storm', `the feed went back from version ${before} to ${version}`, { atMs })] : []),
    ];
  });
  return [...ofReadings, ...violationsOfLast(evidence, inOrder.at(-1))];
}

/** Nothing is due, and nothing is missing, once the feed was published with nothing under way. */
function violationsOfLast(evidence: Evidence, last: FeedReading | undefined): readonly Violation[] {
  if (last === undefined || last.atMs < evidence.calmMs) return [violated('storm', 'the feed was not read at the end')];
  if (last.content === undefined) return [];
  const { rows, monthsDue, lastRestatement } = last.content;
  const stored = groupedBy(rowsOf(evidence, 'daily_production'), (row) => dayAt(row, 'production_day').slice(0, 7));
  const months = new Set([...stored.keys(), ...Object.keys(rows)]);
  const apart = [...months].filter((month) => (stored.get(month) ?? []).length !== (rows[month] ?? 0));
  const newest = Math.max(
    0,
    ...rowsOf(evidence, 'daily_production_history').map((row) => numberOf(row, 'restatement_no') ?? 0),
  );
  const at = { atMs: last.atMs };
  return [
    ...(monthsDue === 0 ? [] : [violated('storm', `${monthsDue} months of the feed are due at the end`, at)]),
    ...apart.map((month) => {
      const counts = `${rows[month] ?? 0} rows of ${month}, and the warehouse ${(stored.get(month) ?? []).length}`;
      return violated('storm', `the feed has ${counts}`, at);
    }),
    ...(lastRestatement === newest
      ? []
      : [violated('storm', `the feed ends at restatement ${lastRestatement}, the warehouse at ${newest}`, at)]),
  ];
}

/** Nothing was left over, and a copy of the warehouse is equal to it. */
export function checkLeftovers({ leftovers, copyFaults }: Evidence): readonly Violation[] {
  return [
    ...leftovers.map((left) => violated('storm', `it was not removed: ${left}`)),
    ...copyFaults.map((fault) => violated('storm', `the copy of the warehouse: ${fault}`)),
  ];
}
