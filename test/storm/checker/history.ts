/**
 * The versions of each record: without overlap or hole, in the order in which the service had them, and each one said by the
 * service while its run read ("Restatements" of docs/production-data.md, G4, decision 26).
 */
import type { Evidence, Mutation, TableRow, Violation } from '../evidence.ts';
import type { Ledger } from './ledger.ts';
import { differencesOf, type GoodRecord, judgeRecord } from './record.ts';
import type { CheckRules } from './rules.ts';
import { groupedBy, microsOf, rowsOf, textOf, violated } from './tables.ts';

/** A version of a record, from one time to another in microseconds. */
interface Version {
  readonly key: string;
  readonly row: TableRow;
  readonly fromMicros: number;
  /** Undefined for the current one. */
  readonly toMicros: number | undefined;
  /** The run that wrote it, and the one that ended it. */
  readonly writtenBy: string;
  readonly endedBy: string;
  readonly change: string;
  readonly nextKey: string | undefined;
}

/** Judges the history and the current rows of all wells. */
export function checkHistory(evidence: Evidence, ledger: Ledger, rules: CheckRules): readonly Violation[] {
  const versions = [
    ...rowsOf(evidence, 'daily_production_history').map(endedVersion),
    ...rowsOf(evidence, 'daily_production').map(currentVersion),
  ];
  const ofRecords = groupedBy(versions, ({ key }) => key);
  const mutations = groupedBy(evidence.service.mutations, ({ uwi, xid }) => keyOf(uwi, xid));
  return [...ofRecords].flatMap(([key, found]) => {
    const inOrder = found.toSorted((left, right) => left.fromMicros - right.fromMicros || endOf(left) - endOf(right));
    return [
      ...violationsOfTimes(inOrder, ofRecords),
      ...violationsOfOrder(key, inOrder, { mutations: mutations.get(key) ?? [], ledger, rules, evidence }),
    ];
  });
}

function keyOf(uwi: string, xid: string): string {
  return `${uwi} ${xid.toLowerCase()}`;
}

function endOf({ toMicros = Infinity }: Version): number {
  return toMicros;
}

function endedVersion(row: TableRow): Version {
  const next = textOf(row, 'next_xid');
  return {
    key: keyOf(textOf(row, 'uwi'), textOf(row, 'xid')),
    row,
    fromMicros: microsOf(row, 'known_from') ?? 0,
    toMicros: microsOf(row, 'noticed_at'),
    writtenBy: textOf(row, 'known_run_id'),
    endedBy: textOf(row, 'run_id'),
    change: textOf(row, 'change'),
    nextKey: next === '' ? undefined : keyOf(textOf(row, 'uwi'), next),
  };
}

function currentVersion(row: TableRow): Version {
  return {
    key: keyOf(textOf(row, 'uwi'), textOf(row, 'xid')),
    row,
    fromMicros: microsOf(row, 'changed_at') ?? 0,
    toMicros: undefined,
    writtenBy: textOf(row, 'changed_run_id'),
    endedBy: '',
    change: '',
    nextKey: undefined,
  };
}

/** "A record has one version at any time": no version ends before it begins, none overlaps the next, and one that went on does. */
function violationsOfTimes(versions: readonly Version[], all: ReadonlyMap<string, readonly Version[]>): Violation[] {
  const violations: Violation[] = [];
  for (const [index, version] of versions.entries()) {
    const { key, fromMicros, toMicros, change, nextKey } = version;
    const atMs = (toMicros ?? fromMicros) / 1_000;
    if (toMicros !== undefined && toMicros < fromMicros) {
      violations.push(
        violated('G1', `a version of ${key} ended before it was known`, { atMs, runId: version.endedBy }),
      );
    }
    const next = versions[index + 1];
    if (next !== undefined && endOf(version) > next.fromMicros) {
      violations.push(
        violated('G1', `two versions of ${key} are known at one time`, { atMs: next.fromMicros / 1_000 }),
      );
    }
    const isContinued = nextKey !== undefined && (all.get(nextKey) ?? []).some((each) => each.fromMicros === toMicros);
    if (toMicros !== undefined && change !== 'removed' && !isContinued) {
      violations.push(violated('G1', `${key} was ${change}, and no version goes on at that time`, { atMs }));
    }
    if (change === 'removed' && nextKey !== undefined) {
      violations.push(violated('G1', `${key} was removed, and names a record that it goes on as`, { atMs }));
    }
  }
  return violations;
}

/** What the service had of a record from one time to another. */
interface Saying {
  readonly fromMs: number;
  readonly toMs: number;
  /** Undefined for one that broke the contract. */
  readonly record: GoodRecord | undefined;
  /** The record is gone, or nobody can know that it is this one. */
  readonly isGone: boolean;
}

function sayingsOf(mutations: readonly Mutation[], nowMs: number): readonly Saying[] {
  return mutations.map(({ atMs, body }, index) => {
    const judged = body === null ? undefined : judgeRecord(body, nowMs);
    return {
      fromMs: atMs,
      toMs: mutations[index + 1]?.atMs ?? Infinity,
      record: judged?.good,
      isGone: judged === undefined || judged.xid === undefined,
    };
  });
}

interface Said {
  readonly mutations: readonly Mutation[];
  readonly ledger: Ledger;
  readonly rules: CheckRules;
  readonly evidence: Evidence;
}

/**
 * Follows the versions through what the service said. Each version, and each removal, was so at the service at some time
 * between the request of its run and its commit; and none is older than the one before it (decision 26). Not promised for a
 * record that moved in time ("Reads"): its order is not judged; and one whose date changed while a run read may have been on
 * no page (decision 7).
 */
function violationsOfOrder(key: string, versions: readonly Version[], said: Said): Violation[] {
  const { mutations, ledger, rules, evidence } = said;
  const sayings = sayingsOf(mutations, evidence.endedMs);
  const isMoved = mutations.some(({ what }) => what === 'moved');
  const slackMs = rules.clockSlackMs;
  const violations: Violation[] = [];
  let reached = 0;
  const follow = (
    guarantee: string,
    what: string,
    runId: string,
    atMs: number,
    isSo: (saying: Saying) => boolean,
  ): void => {
    const sinceMs = ledger.runs.get(runId)?.requestedMs ?? -Infinity;
    const found = sayings.flatMap((saying, index) => {
      const isInTime = saying.fromMs <= atMs + slackMs && saying.toMs >= sinceMs - slackMs;
      return isInTime && isSo(saying) ? [index] : [];
    });
    const detail = { atMs, runId, key };
    const next = found.find((index) => index >= reached);
    if (next !== undefined) reached = isMoved ? 0 : next;
    else if (found.length > 0)
      violations.push(violated(guarantee, `${what}, although a later state was stored before`, detail));
    else violations.push(violated(guarantee, `${what}, and the service did not say so while the run read`, detail));
  };
  for (const { row, fromMicros, toMicros, writtenBy, endedBy, change, nextKey } of versions) {
    follow('G1', `a version of ${key} was stored`, writtenBy, fromMicros / 1_000, ({ record }) => {
      return record !== undefined && differencesOf(row, record).length === 0;
    });
    if (toMicros === undefined || nextKey === key) continue;
    const atMs = toMicros / 1_000;
    const fromMs = ledger.runs.get(endedBy)?.requestedMs ?? atMs;
    const read = { uwi: textOf(row, 'uwi'), fromMs: fromMs - slackMs, toMs: atMs + slackMs };
    const mayBeMissed = isMoved || (change === 'removed' && isRedatedBetweenPages(mutations, evidence, read));
    follow('G4', `${key} was ${change}`, endedBy, atMs, ({ isGone }) => isGone || mayBeMissed);
  }
  return violations;
}

/** Whether a record got another date, or one that can be read, between the first request for its well in a time and the last. */
function isRedatedBetweenPages(
  mutations: readonly Mutation[],
  { service }: Evidence,
  { uwi, fromMs, toMs }: { readonly uwi: string; readonly fromMs: number; readonly toMs: number },
): boolean {
  const pages = service.requests.filter(
    ({ endpoint, target, arrivedMs }) =>
      endpoint === 'daily' && target === uwi && arrivedMs >= fromMs && arrivedMs <= toMs,
  );
  const [first, last] = [pages[0]?.arrivedMs ?? Infinity, pages.at(-1)?.answeredMs ?? -Infinity];
  return (
    pages.length > 1 &&
    mutations.some(({ atMs, body }, index) => {
      const before = mutations[index - 1]?.body;
      const isRedated = body !== null && before !== null && before !== undefined && before['date'] !== body['date'];
      return isRedated && atMs >= first && atMs <= last;
    })
  );
}
