/** What a storm came to, in numbers for its report. */
import type { Evidence } from '../evidence.ts';
import type { Judgement } from './check.ts';
import { deletionsOf } from './deletions.ts';
import { isKill, ledgerOf } from './ledger.ts';
import { type Recovery, recoveriesOf } from './pauses.ts';
import { groupedBy, objectOf, rowsOf } from './tables.ts';

type ByName = Readonly<Record<string, number>>;

export interface Figures {
  /** By `job state`. */
  readonly runs: ByName;
  readonly requests: ByName;
  readonly faults: ByName;
  /** Of the truth, by what it was. */
  readonly mutations: ByName;
  readonly events: ByName;
  /** Commands and requests by their first words, with their exit code or status. */
  readonly calls: ByName;
  readonly droppedActs: ByName;
  readonly kills: ByName;
  readonly compared: Judgement['compared'];
  readonly historyRows: number;
  readonly peakMb: ByName;
  readonly deletions: { readonly requests: number; readonly applied: number; readonly auditRows: number };
  /**
   * Of kills with unfinished work, the times to the next request in milliseconds, ascending, null where none came; by
   * `one` or `all` processes and what else was away meanwhile, such as `all, nothing`, `one, redis` or `one, several`.
   */
  readonly recovery: Readonly<Record<string, ReadonlyArray<number | null>>>;
}

export function figures(evidence: Evidence, compared: Judgement['compared']): Figures {
  const ledger = ledgerOf(evidence);
  const { requests, mutations } = evidence.service;
  const deletions = deletionsOf(evidence);
  const recoveries = recoveriesOf(evidence, ledger);
  return {
    runs: counted([...ledger.runs.values()], ({ job, state }) => `${job} ${state}`),
    requests: counted(requests, ({ endpoint }) => endpoint),
    faults: counted(
      requests.flatMap(({ fault }) => fault ?? []),
      (fault) => fault,
    ),
    mutations: counted(mutations, ({ what }) => what),
    calls: counted(evidence.calls, ({ words, code }) => `${nameOfCall(words)} ${code ?? 'killed'}`),
    droppedActs: evidence.droppedActs ?? {},
    events: counted(evidence.events, ({ kind, detail }) => (detail?.['met'] === 0 ? `${kind} of nothing` : kind)),
    kills: counted(evidence.events.filter(isKill), ({ kind, at }) => `${kind} ${at}`),
    compared,
    historyRows: rowsOf(evidence, 'daily_production_history').length,
    peakMb: evidence.peakMb ?? {},
    deletions: {
      requests: deletions.length,
      applied: deletions.filter(({ isApplied }) => isApplied === true).length,
      auditRows: rowsOf(evidence, 'deletion_audit').length,
    },
    recovery: Object.fromEntries(
      [...groupedBy(recoveries, circumstances)].map(([name, those]) => [
        name,
        those.map(({ nextMs = null }) => nextMs),
      ]),
    ),
  };
}

/** Of a request without what differs each time. */
function nameOfCall([first = '', second = '']: readonly string[]): string {
  const request = /^([A-Z]+) \/api\/v1\/([a-z-]+)(?:\/[^/?]+\/([a-z-]+))?/.exec(first);
  if (request !== null) return request.slice(1).join(' ').trim();
  return first === 'inbox' || second.startsWith('-') ? first : `${first} ${second}`;
}

function counted<T>(values: readonly T[], nameOf: (value: T) => string): ByName {
  const groups = [...groupedBy(values, nameOf)].map(([name, those]) => [name, those.length] as const);
  return Object.fromEntries(groups.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function circumstances({ kill, away }: Recovery): string {
  const other = away.length > 1 ? 'several' : (away[0] ?? 'nothing');
  return `${kill.detail?.['isAll'] === true ? 'all' : 'one'}, ${other}`;
}

/** How often a kill fell into work, and how long it was until work went on. */
interface RecoveryTimes {
  readonly kills: number;
  /** Undefined where no request came after any. */
  readonly medianMs: number | undefined;
  readonly worstMs: number | undefined;
  readonly withoutRequest: number;
}

export interface Summary {
  readonly storms: number;
  /** The figures of all storms, each number added. */
  readonly sums: unknown;
  /** Of all services in all storms. */
  readonly peakMb: number;
  /** By the names of {@link Figures.recovery}. */
  readonly recovery: Readonly<Record<string, RecoveryTimes>>;
}

/** Several storms as one. */
export function summary(storms: readonly Figures[]): Summary {
  const names = new Set(storms.flatMap(({ recovery }) => Object.keys(recovery)));
  const timesOf = (name: string): RecoveryTimes => {
    const all = storms.flatMap(({ recovery }) => recovery[name] ?? []);
    const times = all.flatMap((each) => each ?? []).toSorted((left, right) => left - right);
    return {
      kills: all.length,
      medianMs: times[Math.floor((times.length - 1) / 2)],
      worstMs: times.at(-1),
      withoutRequest: all.length - times.length,
    };
  };
  return {
    storms: storms.length,
    peakMb: Math.max(0, ...storms.flatMap(({ peakMb }) => Object.values(peakMb))),
    sums: storms.map((each): unknown => ({ ...each, recovery: undefined, peakMb: undefined })).reduce(added, {}),
    recovery: Object.fromEntries([...names].toSorted().map((name) => [name, timesOf(name)])),
  };
}

/** Numbers are added, objects by their names. */
function added(left: unknown, right: unknown): unknown {
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (left === undefined || right === undefined) return left ?? right;
  const [one, other] = [objectOf(left), objectOf(right)];
  const names = [...new Set([one, other].flatMap(Object.keys))].toSorted();
  return Object.fromEntries(names.map((name) => [name, added(one[name], other[name])]));
}
