/** To whom the warehouse and its runs belong (G11), and what is promised without a number: the feed, and nothing left over. */
import type { Evidence, Violation } from '../evidence.ts';
import { numberOf, rowsOf, textOf, violated } from './tables.ts';

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

/** Each reading of the feed was whole, and its version never goes back (docs/feed.md). */
export function checkFeed({ feed }: Evidence): readonly Violation[] {
  const inOrder = feed.toSorted((left, right) => left.atMs - right.atMs);
  return inOrder.flatMap(({ atMs, version, faults }, index) => {
    const before = inOrder[index - 1]?.version ?? version;
    const isBack = version < before;
    return [
      ...faults.map((fault) => violated('storm', `the feed: ${fault}`, { atMs, version })),
      ...(isBack ? [violated('storm', `the feed went back from version ${before} to ${version}`, { atMs })] : []),
    ];
  });
}

/** Nothing was left over, and a copy of the warehouse is equal to it. */
export function checkLeftovers({ leftovers, copyFaults }: Evidence): readonly Violation[] {
  return [
    ...leftovers.map((left) => violated('storm', `it was not removed: ${left}`)),
    ...copyFaults.map((fault) => violated('storm', `the copy of the warehouse: ${fault}`)),
  ];
}
