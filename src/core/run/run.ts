/** The terms of a run: its states, its units, its counts and its report (docs/design.md sections 2 and 4). */
import { type Fault, UsageError } from '../base/errors.ts';
import type { AlertKind, Severity } from '../alerts/kinds.ts';
import type { KnownList } from '../definitions/record-list.ts';
import type { ReportedDifferences, UnitFinding } from '../verify/difference.ts';

/**
 * queued -> running -> done | failed | cancelled. `runs retry` returns an ended run to queued with its
 * unsettled units.
 */
export type RunState = 'queued' | 'running' | EndState;

/** `interrupted`: the run was under way when its warehouse was copied, and this is the copy. */
type EndState = 'done' | 'failed' | 'cancelled' | 'interrupted';

export function isFinished(state: RunState): state is EndState {
  return state !== 'queued' && state !== 'running';
}

/** Named whole numbers that add up over units: `read`, `inserted`, … Each job defines its own names. */
export type Counts = Readonly<Record<string, number>>;

/** Adds by name; an absent count is 0. */
export function addCounts(left: Counts, right: Counts): Counts {
  const sum: Record<string, number> = { ...left };
  for (const [name, value] of Object.entries(right)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

/** What an export reads: daily production by uwi, wells by source id, or a list of records by its targets. */
export type ReadKind = 'uwi' | 'well' | KnownList['targets']['kind'];

/** A requested run. `params` belong to the job, are checked by its schema, and hold no secret (G10). */
export interface RunRequest {
  readonly runId: string;
  readonly job: string;
  readonly params: unknown;
  /** Key of the service that the run is for (src/core/base/service-key.ts), without secrets. */
  readonly service: string;
  /** Who requested it: `user@host`. */
  readonly actor: string;
  readonly requestedAtMs: number;
  /** The same for two requests for the same work (src/runs/run-service.ts). */
  readonly requestKey?: string;
  /** The schedule that it is of, whether a tick or a person began it. */
  readonly schedule?: string;
}

/** The fields of a run that its work needs, without its report. */
export interface RunHead {
  readonly runId: string;
  readonly job: string;
  readonly params: unknown;
  readonly state: RunState;
  /** 0 at first, one more with every `runs retry`: part of the ids of its queue items. */
  readonly generation: number;
  /** Undefined until the run is planned. */
  readonly unitCount: number | undefined;
}

/** The smallest piece of work with an outcome of its own: one well with its window. */
export interface PlannedUnit {
  /** Number within the run, from 0, dense: its bit in the run's progress. */
  readonly unit: number;
  /** Number of the queue item that holds it, from 0. */
  readonly chunk: number;
  /** The operator's name for it: a uwi. */
  readonly target: string;
  /** Details of the job, JSON. */
  readonly spec: unknown;
}

/**
 * open -> done | held | unknown | failed | cancelled, once. `held`: its rows are stored, but a part of the work waits for
 * the operator (a window that would lose too many rows). `unknown`: the service does not know the target (404).
 */
export type UnitState = 'open' | 'done' | 'held' | 'unknown' | 'failed' | 'cancelled';

export interface UnitOutcome {
  readonly unit: number;
  readonly state: Exclude<UnitState, 'open'>;
  readonly counts: Counts;
  /** The reason for `failed` or `held`. */
  readonly fault?: Fault;
  /**
   * Shown once in the report, however many units have it (an extra field, for example); `{targets}` stands for their
   * targets.
   */
  readonly notices?: readonly string[];
  /** Where what was read differs from what is stored, for a job that compares them. */
  readonly finding?: UnitFinding;
  /** How long its last read took, where that was measured. */
  readonly readMs?: number;
}

/** A run as a list shows it: small for a run of any size. */
export interface RunSummary extends RunHead {
  /** The names of its targets, where they are few and still kept (retention.unitDays); else empty. */
  readonly namedTargets: readonly string[];
  /** Key of the service that it was requested for. Undefined, like its actor, for a run of an earlier version. */
  readonly service: string | undefined;
  readonly actor: string | undefined;
  /** Undefined for a run that is of no schedule. */
  readonly schedule: string | undefined;
  readonly requestedAtMs: number;
  /** When it was last retried; undefined for a run that never was, or not since schema version 6. */
  readonly reopenedAtMs: number | undefined;
  /** Who last retried it; undefined also where nobody was named. */
  readonly reopenedBy: string | undefined;
  readonly startedAtMs: number | undefined;
  /** When its last attempt began: that of a retry begins when its work does, and not when it was asked for. */
  readonly attemptStartedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  /** Number of distinct targets in the request; undefined for a job that takes none. */
  readonly targetCount: number | undefined;
  /** Undefined until the run has ended. */
  readonly settled: Pick<RunReport, 'units' | 'counts' | 'alerts' | 'workedMs'> | undefined;
}

/** What became of a run before a retry opened it again. */
export interface RunAttempt extends Pick<RunReport, 'state' | 'units' | 'counts' | 'startedAtMs' | 'finishedAtMs'> {
  /** Why the whole attempt stopped early. */
  readonly stopped?: Fault;
  /** Who asked for it; absent where nobody was named. */
  readonly by?: string;
}

export interface RunRecord extends RunSummary {
  readonly report: RunReport | undefined;
  /** The attempts before this one, the first one first; those of earlier versions are missing. */
  readonly attempts: readonly RunAttempt[];
}

export interface RunFailure extends Fault {
  readonly target: string;
  readonly state: 'failed' | 'held';
}

export interface RunReport {
  readonly runId: string;
  readonly job: string;
  /** Key of its service; absent from the reports of earlier versions. */
  readonly service?: string;
  /** Address of its warehouse, without secrets; absent from the reports of earlier versions. */
  readonly warehouse?: string;
  /** Version of the wellsync that wrote the report; absent from the reports of earlier versions. */
  readonly version?: string;
  readonly state: EndState;
  /**
   * What the run opened, opened again, found worse or was to remind of, and is open at its end: errors and warnings. Absent
   * from the reports of earlier versions.
   */
  readonly alerts?: readonly ReportedAlerts[];
  /** What stood in quarantine of the wells of the run at its end; absent where that was nothing, or its job reads no wells. */
  readonly quarantine?: QuarantineTotals;
  /** Why the whole run stopped early. */
  readonly stopped?: Fault;
  readonly units: Readonly<Record<'total' | 'done' | 'held' | 'failed' | 'cancelled', number>> & {
    /** Absent if there is none. */
    readonly unknown?: number;
  };
  readonly counts: Counts;
  readonly balance: Balance;
  /** The first failures; `units` has the total. */
  readonly failures: readonly RunFailure[];
  readonly notices: readonly string[];
  /** Of a job that compares; absent where nothing differs. */
  readonly differences?: ReportedDifferences;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  /** How long all its attempts took, without the time between them; absent from the reports of earlier versions. */
  readonly workedMs?: number;
}

/** How long the work on a run took. */
export function workedMsOf({
  workedMs,
  startedAtMs,
  finishedAtMs,
}: Pick<RunReport, 'workedMs' | 'startedAtMs' | 'finishedAtMs'>): number {
  return workedMs ?? finishedAtMs - startedAtMs;
}

/** Records in quarantine, accepted ones included: what the figures of the warehouse lack. */
export interface QuarantineTotals {
  readonly records: number;
  /** Sums of the daily rates that are numbers, in the unit of the service times a day. */
  readonly oil: number;
  readonly gas: number;
  readonly water: number;
  /** Records of which a rate is no number, and so in no sum. */
  readonly unread: number;
}

/** Alerts of a kind. */
export interface ReportedAlerts {
  readonly kind: AlertKind;
  readonly severity: Severity;
  readonly alerts: number;
}

// What makes a repeated request known: its key, with a hash of what it asks for.

/** A key is unique among the requests of a client to a route. */
export interface IdempotencyKey {
  /** The name of a token or of a user. */
  readonly client: string;
  /** Method and path: `POST /api/v1/runs`. */
  readonly route: string;
  /** As the client gave it. */
  readonly key: string;
  /** Hexadecimal. */
  readonly bodySha256: string;
}

/** The key came before, with another body. Nothing was started. */
export class KeyReusedError extends UsageError {
  override readonly name = 'KeyReusedError';
  override readonly code = 'idempotency-key-reused';

  constructor({ key }: IdempotencyKey, runId: string) {
    super(`the key ${JSON.stringify(key)} came with another body before, which made run ${runId}`, {
      hint: 'Give every request a key of its own; send a request again with the key and the body that it had.',
    });
  }
}

/** Whether the sum of G2 holds, with both sides. */
export interface Balance {
  readonly balanced: boolean;
  /** The equation with its figures, for the operator. */
  readonly statement: string;
}

/** How long a list waits for a warehouse that another process holds. Short: the operator can repeat the command. */
export const listLockWaitMs = 3_000;

/** Where the files of a run lie among those that several hosts share. Kept in the run: it holds no secret (G10). */
export interface SharedLocation {
  /** Written into the place with its first file: two addresses may name one place, and one address two. */
  readonly id: string;
  /** As the host that requested the run names it, for messages. */
  readonly address: string;
  /** The folder of the warehouse in the place. */
  readonly folder: string;
}

// Targets of exports that the service answers with 404 (docs/design.md section 4.1). A 404 is a fact about the target:
// nothing of it is read or removed. Many of them at once are rather a fault of the address.

/** Targets with rows that may be unknown before the run fails: all of these limits have to be exceeded. */
const suspicious = { share: 0.2, targets: 3 } as const;

/**
 * Counts of targets: a run counts a target once, however many of its units have it. A well with five gaps is one well.
 */
export const countsOfTargets = ['targetsWithRows', 'unknownTargets', 'unknownWithRows'] as const;

/** The outcome of a target that is unknown. `isNew`: no other run found it unknown before. */
export function outcomeOfUnknown(found: {
  readonly unit: number;
  readonly isNew: boolean;
  readonly hasRows: boolean;
  /** Undefined for a job that does not count them. */
  readonly requests?: number | undefined;
}): UnitOutcome {
  const { unit, isNew, hasRows, requests } = found;
  const ofTarget = { ...rowsOfTarget(hasRows), unknownTargets: 1, unknownWithRows: hasRows ? 1 : 0 };
  const counts = { newlyUnknown: isNew ? 1 : 0, ...ofTarget, ...(requests === undefined ? {} : { requests }) };
  const notice = 'the service does not know {targets} (404): nothing was read, and nothing removed';
  return { unit, state: 'unknown', counts, ...(isNew ? { notices: [notice] } : {}) };
}

/** The count of the targets of a run that have rows in the warehouse. */
export function rowsOfTarget(hasRows: boolean): Counts {
  return { targetsWithRows: hasRows ? 1 : 0 };
}

/**
 * The fault of a run that found all targets unknown, or many of those that have rows; undefined otherwise. A single
 * target that never had a row may be unknown. `target`: the operator's name for one and for several of them.
 */
export function unknownFault(
  { units: { total, unknown = 0 }, counts }: Pick<RunReport, 'units' | 'counts'>,
  target: { readonly one: string; readonly many: string },
): Fault | undefined {
  const { unknownTargets = unknown, unknownWithRows = 0, targetsWithRows = 0 } = counts;
  if (unknown > 0 && unknown === total && (unknownTargets > 1 || unknownWithRows > 0)) {
    return faultSaying(unknownTargets === 1 ? `the ${target.one}` : `any of the ${unknownTargets} ${target.many}`);
  }
  if (unknownWithRows <= suspicious.targets || unknownWithRows <= suspicious.share * targetsWithRows) return undefined;
  return faultSaying(`${unknownWithRows} of the ${targetsWithRows} ${target.many} that have rows`);
}

function faultSaying(targets: string): Fault {
  return {
    code: 'targets-unknown',
    message: `the service does not know ${targets} (404): is its address right?`,
    action: { kind: 'check-address', setting: 'service.url' },
  };
}
