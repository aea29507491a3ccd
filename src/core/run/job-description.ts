/** The description of a job for the faces: its units, its counts, their sum, and the next steps after a run. */
import { isCountedKind, kindText } from '../alerts/kinds.ts';
import type { NextAction, Role } from '../base/action.ts';
import type { Fault } from '../base/errors.ts';
import { counted, spacedName } from '../base/text.ts';
import type { Counts, RunReport } from './run.ts';

/** The names of a job's units for an operator. */
export interface UnitDescription {
  readonly one: string;
  readonly many: string;
  /** A run never has more than one unit: faces show its rows instead. */
  readonly isSingle?: boolean;
  /** Predicate for failed units: `could not be read to the end`. */
  readonly failing: string;
  /** Name of the state `held`: `held`, `not gone`. */
  readonly held: string;
}

/** A count of a unit's outcome, in the order in which a record passes. */
export interface CountDescription {
  /** Its key in the counts of a report: `outsideWindow`. */
  readonly name: string;
  /** Its side of the sum of G2: the whole, or one of the parts that add up to it. */
  readonly inSum?: 'whole' | 'part';
  /** Shown even when it is 0. */
  readonly isAlwaysShown?: boolean;
  /** Never shown, because another figure already includes it. */
  readonly isHidden?: boolean;
  /** Makes a finished run `done, with …` (exit code 3) when it is not 0. */
  readonly isException?: boolean;
  /** An exception only where an alert of the run opened or is worse: what is known from another night is none. */
  readonly isByAlerts?: boolean;
  /** Counts units, although the other counts are of records. */
  readonly isOfUnits?: boolean;
  /** Counts rejected records: progress shows their number. */
  readonly isReject?: boolean;
  /** Explanation beside the name. */
  readonly remark?: string;
}

/** Names of the counts of the sum over stored rows. */
export interface StockDescription {
  readonly before: string;
  readonly added: string;
  readonly removed: string;
  readonly after: string;
  /** Rows by which the sum fails, added up over the units, so that two faults do not cancel out. */
  readonly adrift: string;
}

export interface JobDescription {
  /** The operator's name for it: `export daily-production`. */
  readonly name: string;
  readonly units: UnitDescription;
  /** Singular of the counted records: `record`, `row`; undefined when the counts are of units. */
  readonly record: string | undefined;
  /**
   * In display order. The parts of the sum add up to its whole or, when no count is the whole, to the units of the run,
   * together with the failed, cancelled and unknown ones.
   */
  readonly counts: readonly CountDescription[];
  /** A second sum of G2, over stored rows: before + added - removed = after. */
  readonly stock?: StockDescription;
  /**
   * Codes of failures that say that the service was not reached: a run that failed by nothing else ends as unreachable (exit
   * code 5). A hold of the service is one for every job.
   */
  readonly unreachedBy?: readonly string[];
  /** Its runs delete at the service: who lets one begin needs the role `delete` (src/core/base/action.ts). */
  readonly deletes?: boolean;
  /** Why a run whose units all ended has failed as a whole; undefined for one that has not. */
  failureOf?(report: Pick<RunReport, 'units' | 'counts'>): Fault | undefined;
  /** What the units of a run that is done have come to, as a sentence beside their number. */
  outcomeOf?(report: Pick<RunReport, 'units' | 'counts'>): string | undefined;
  /** Actions after a run, besides a retry of unfinished units. */
  nextSteps?(report: RunReport): readonly NextAction[];
}

/** Names of counts that say nothing to an operator, and what stands for them (docs/terms.md). */
const namesInWords: Readonly<Record<string, string>> = {
  outsideWindow: 'outside the requested days',
  rejectedByUs: 'rejected before sending',
  rejectedByService: 'rejected by the service',
};

/** The name of a count, or a sum with such names, for an operator. */
export function countWords(text: string): string {
  return spacedName(text.replaceAll(/\w+/g, (name) => namesInWords[name] ?? name));
}

/** A description for a run of a job that only another version of wellsync knows. */
export function unknownJob(name: string): JobDescription {
  return {
    name,
    units: { one: 'unit', many: 'units', failing: 'failed', held: 'held' },
    record: 'record',
    counts: [],
    // It may.
    deletes: true,
  };
}

/** The name of the count that is the whole of the sum: the number of records read so far. */
export function wholeOf({ counts }: Pick<JobDescription, 'counts'>): string | undefined {
  return counts.find(({ inSum }) => inSum === 'whole')?.name;
}

/** The names of the counts in the sum of a job, its whole included: what records come to. */
export function outcomesOf(counts: JobDescription['counts']): readonly string[] {
  return counts.filter(({ inSum }) => inSum !== undefined).map(({ name }) => name);
}

/** The counts that turn `done` into `done, with …`, in display order. */
function exceptionsOf(
  { counts }: Pick<JobDescription, 'counts'>,
  alerts: RunReport['alerts'],
): readonly CountDescription[] {
  return counts.filter(
    ({ isException, isByAlerts }) => isException === true && !(alerts?.length === 0 && isByAlerts === true),
  );
}

/** What of the counts of each job turns `done` into `done, with …`: for a ledger that looks for such runs. */
export function exceptionRules(jobs: readonly JobDescription[]) {
  return jobs.map(({ name: job, counts }) => {
    const exceptions = counts.filter(({ isException }) => isException === true);
    const namesOf = (isByAlerts: boolean): readonly string[] =>
      exceptions.filter((each) => (each.isByAlerts === true) === isByAlerts).map(({ name }) => name);
    return { job, counts: namesOf(false), byAlerts: namesOf(true) };
  });
}

/** The sum of the counts of rejected records. */
export function rejectedOf(job: Pick<JobDescription, 'counts'>, counts: Counts): number {
  return job.counts.filter(({ isReject }) => isReject).reduce((sum, { name }) => sum + (counts[name] ?? 0), 0);
}

export function isCounted(counts: Counts, name: string): boolean {
  return (counts[name] ?? 0) > 0;
}

/** Whether an ended run has held units, or counts that ask for attention. */
export function hasExceptions(
  settled: Pick<RunReport, 'units' | 'counts' | 'alerts'> | undefined,
  job: JobDescription,
): boolean {
  if (settled === undefined) return false;
  const { alerts, counts, units } = settled;
  const isHeld = alerts === undefined && units.held > 0;
  const isAlert = (alerts ?? []).length > 0;
  return isHeld || isAlert || exceptionsOf(job, alerts).some(({ name }) => isCounted(counts, name));
}

/**
 * What makes a run `done, with …`, in words: `3 rows rejected by us`. If the counts are of the units, they show already which
 * are held, and why.
 */
export function exceptionsIn(
  { units: { held }, counts, alerts }: Pick<RunReport, 'units' | 'counts' | 'alerts'>,
  job: Pick<JobDescription, 'counts' | 'units' | 'record'>,
): readonly string[] {
  const { record } = job;
  const { one, many } = job.units;
  const heldRemark =
    held > 0 && record !== undefined && alerts?.length !== 0 ? [`${counted(held, one, many)} held`] : [];
  const exceptions = exceptionsOf(job, alerts).filter(({ name }) => isCounted(counts, name));
  const countOf = ({ name, isOfUnits }: CountDescription): string => {
    const count = counts[name] ?? 0;
    return record === undefined || isOfUnits ? counted(count, one, many) : counted(count, record);
  };
  const byCounts = [...heldRemark, ...exceptions.map((each) => `${countOf(each)} ${countWords(each.name)}`)];
  const others = (alerts ?? []).filter(({ kind }) => byCounts.length === 0 || !isCountedKind(kind));
  return [...byCounts, ...others.map(({ kind, alerts: number }) => kindText(kind, number))];
}

/** Assignment of units to chunks: one queue item each, limited in units and in expected rows. */
interface ChunkLimits {
  /** Limit of units in a chunk: about 100 (docs/queue.md section 3). */
  readonly maxUnits: number;
  /** Limit of expected rows in a chunk; a single larger unit is a chunk of its own. */
  readonly maxRows: number;
}

/**
 * The chunk number of each unit, from 0, in the given order. A unit opens a new chunk when the current one is full by
 * either limit. Every unit is in exactly one chunk, and chunk numbers are dense.
 */
export function assignChunks(expectedRows: readonly number[], limits: ChunkLimits): readonly number[] {
  let chunk = 0;
  let units = 0;
  let rows = 0;
  return expectedRows.map((unitRows) => {
    const isFull = units > 0 && (units >= limits.maxUnits || rows + unitRows > limits.maxRows);
    if (isFull) {
      chunk += 1;
      units = 0;
      rows = 0;
    }
    units += 1;
    rows += unitRows;
    return chunk;
  });
}

// The role that a run needs of whoever lets it begin: by a start, a retry, a release or a schedule (docs/design.md
// section 11, G6). Every face asks here.

/**
 * `delete` for a job that deletes at the service, and for parameters that let rows leave the warehouse; else `operate`.
 * `params`: of a run, of a schedule or of a request, checked or not.
 */
export function roleToRun({ deletes }: Pick<JobDescription, 'deletes'>, params: unknown): Role {
  return deletes === true || letsRowsGo(params) ? 'delete' : 'operate';
}

/** An export with `allowShrink`, and a release of held rows. */
function letsRowsGo(params: unknown): boolean {
  if (typeof params !== 'object' || params === null) return false;
  return ('allowShrink' in params && params.allowShrink === true) || 'releaseOf' in params;
}

/** The queues of chunks. */
export const chunkQueues = ['export', 'push', 'cleanup'] as const;

export type ChunkQueueName = (typeof chunkQueues)[number];
