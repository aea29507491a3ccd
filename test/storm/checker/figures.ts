/** What a storm came to, in numbers for its report. */
import type { Evidence } from '../evidence.ts';
import { compareRows } from './daily-rows.ts';
import { deletionsOf } from './deletions.ts';
import { isKill, ledgerOf } from './ledger.ts';
import { type Recovery, recoveriesOf } from './pauses.ts';
import { checkPushes } from './pushes.ts';
import { type CheckRules, rulesOf } from './rules.ts';
import { groupedBy, rowsOf } from './tables.ts';

type ByName = Readonly<Record<string, number>>;

/** From a kill to the next request, in milliseconds; undefined without a kill, or where no request came. */
interface RecoveryTimes {
  readonly kills: number;
  readonly medianMs: number | undefined;
  readonly worstMs: number | undefined;
}

export interface Figures {
  /** By `job state`. */
  readonly runs: ByName;
  readonly requests: ByName;
  readonly faults: ByName;
  /** Of the truth, by what it was. */
  readonly mutations: ByName;
  readonly events: ByName;
  readonly kills: ByName;
  readonly rowsCompared: number;
  readonly cellsCompared: number;
  readonly historyRows: number;
  readonly pushes: number;
  readonly pipesCompared: number;
  readonly deletions: { readonly requests: number; readonly applied: number; readonly auditRows: number };
  /** With unfinished work, by whether something else was away meanwhile. */
  readonly recovery: { readonly alone: RecoveryTimes; readonly disturbed: RecoveryTimes };
}

export function figures(evidence: Evidence, given: Partial<CheckRules> = {}): Figures {
  const rules = rulesOf(evidence, given);
  const ledger = ledgerOf(evidence);
  const { requests, mutations } = evidence.service;
  const { rows, cells } = compareRows(evidence, ledger, rules);
  const { pushes, pipes } = checkPushes(evidence, ledger, rules);
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
    events: counted(evidence.events, ({ kind }) => kind),
    kills: counted(evidence.events.filter(isKill), ({ kind, at }) => `${kind} ${at}`),
    rowsCompared: rows,
    cellsCompared: cells,
    historyRows: rowsOf(evidence, 'daily_production_history').length,
    pushes,
    pipesCompared: pipes,
    deletions: {
      requests: deletions.length,
      applied: deletions.filter(({ isApplied }) => isApplied === true).length,
      auditRows: rowsOf(evidence, 'deletion_audit').length,
    },
    recovery: {
      alone: timesOf(recoveries.filter(({ isDisturbed }) => !isDisturbed)),
      disturbed: timesOf(recoveries.filter(({ isDisturbed }) => isDisturbed)),
    },
  };
}

function counted<T>(values: readonly T[], nameOf: (value: T) => string): ByName {
  const groups = [...groupedBy(values, nameOf)].map(([name, those]) => [name, those.length] as const);
  return Object.fromEntries(groups.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function timesOf(recoveries: readonly Recovery[]): RecoveryTimes {
  const times = recoveries.flatMap(({ nextMs }) => nextMs ?? []).toSorted((left, right) => left - right);
  return { kills: recoveries.length, medianMs: times[Math.floor((times.length - 1) / 2)], worstMs: times.at(-1) };
}
