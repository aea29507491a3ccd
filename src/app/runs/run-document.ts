/** JSON of runs: camelCase, instants as ISO text, the same keys in every state. Pure. */
import type { NextAction } from '../../core/base/action.ts';
import type { Fault } from '../../core/base/errors.ts';
import { grouped } from '../../core/base/lists.ts';
import { counted, figure, isoInstant, listed } from '../../core/base/text.ts';
import { type ExitCode, exitCodeOfReport } from '../../core/run/exit-code.ts';
import type { HeldPart, HeldRows } from '../../core/daily/shrink-guard.ts';
import {
  type CountDescription,
  countWords,
  exceptionsIn,
  hasExceptions,
  type JobDescription,
  wholeOf,
} from '../../core/run/job-description.ts';
import {
  type Balance,
  type Counts,
  type RunFailure,
  type RunRecord,
  type RunReport,
  type RunState,
  type RunSummary,
  workedMsOf,
} from '../../core/run/run.ts';
import type { RunProgress } from '../../queue/port.ts';
import type { HeldBack } from '../service/service-requests.ts';
import { paceOf, rowsOf } from './run-progress.ts';
import { jobTitle, scopeText } from './run-scope.ts';

/** What a run that has not ended has done so far, earlier attempts included. */
export type RunFigures = Pick<RunProgress, 'units' | 'settledUnits' | 'counts'> &
  /** Known while Redis has them. */
  Partial<Pick<RunProgress, 'chunks' | 'chunksEnded' | 'reading' | 'underWay' | 'stopRequest'>>;

export type ReportDocument = ReturnType<typeof reportDocument>;

/**
 * The report of a finished run. `adviceOf` is the face's text for a fault's remedy: the `hint` of each fault, beside
 * its `action`.
 */
export function reportDocument(report: RunReport, job: JobDescription, adviceOf: (fault: Fault) => string | undefined) {
  const {
    runId,
    service,
    warehouse,
    version,
    startedAtMs,
    finishedAtMs,
    workedMs: _,
    stopped,
    failures,
    ...rest
  } = report;
  const worded = <F extends Fault>(fault: F): F => {
    const hint = adviceOf(fault);
    return hint === undefined ? fault : { ...fault, hint };
  };
  return {
    runId,
    service: service ?? null,
    warehouse: warehouse ?? null,
    version: version ?? null,
    ...rest,
    sentence: outcomeSentence(report, job),
    nextSteps: nextSteps(report, job),
    failures: failures.map(worded),
    stopped: stopped === undefined ? null : worded(stopped),
    startedAt: isoInstant(startedAtMs),
    finishedAt: isoInstant(finishedAtMs),
    durationMs: workedMsOf(report),
    exitCode: exitCodeOf(report, job),
  };
}

/** Exit code of a run, as a command that waits for it ends (docs/design.md section 8). */
export function exitCodeOf(report: RunReport, job: JobDescription): ExitCode {
  return exitCodeOfReport(report, hasExceptions(report, job), job.unreachedBy);
}

/** A run in any state. */
export type RunDocument = ReturnType<typeof runDocument>;

interface RunContext {
  readonly job: JobDescription;
  /** Of a run that has not ended, as far as it is known. */
  readonly progress: RunFigures | undefined;
  /** Its address without secrets. */
  readonly warehouse: string;
  /** Of the days that a run covers. */
  readonly timeZone: string;
}

export function runDocument(run: RunSummary, { job, progress, warehouse, timeZone }: RunContext) {
  const { startedAtMs, finishedAtMs, settled } = run;
  const settledUnits = settled === undefined ? progress?.settledUnits : settled.units.total - settled.units.cancelled;
  return {
    runId: run.runId,
    job: run.job,
    title: jobTitle(run.job),
    covers: scopeText(run, timeZone),
    service: run.service ?? null,
    warehouse,
    state: run.state,
    hasExceptions: hasExceptions(settled, job),
    targets: run.targetCount ?? null,
    units: settled?.units.total ?? progress?.units ?? run.unitCount ?? null,
    settledUnits: settledUnits ?? null,
    failedUnits: settled?.units.failed ?? 0,
    counts: settled?.counts ?? progress?.counts ?? {},
    requestedBy: run.actor ?? null,
    requestedAt: isoInstant(run.requestedAtMs),
    retriedBy: run.reopenedBy ?? null,
    retriedAt: isoInstant(run.reopenedAtMs),
    startedAt: isoInstant(startedAtMs),
    finishedAt: isoInstant(finishedAtMs),
    durationMs:
      startedAtMs === undefined || finishedAtMs === undefined
        ? null
        : (settled?.workedMs ?? finishedAtMs - startedAtMs),
  };
}

/** What a run that has not ended does now; nothing of a run that has. */
export function liveDocument(progress: RunFigures | undefined, heldBack: HeldBack) {
  const { chunks, chunksEnded, reading = [], stopRequest } = progress ?? {};
  return {
    chunks: chunks ?? null,
    chunksEnded: chunksEnded ?? null,
    unitsInReading: reading.length,
    rowsInReading: reading.reduce((sum, { rows }) => sum + rows, 0),
    isStopping: stopRequest !== undefined,
    ...heldBack,
  };
}

export interface HeldDocument extends Omit<HeldRows, 'parts'> {
  readonly parts: ReadonlyArray<Omit<HeldPart, 'sinceMs'> & { readonly since: string }>;
}

/** The rows that a run, or all runs, hold. */
export function heldDocument({ targets, rows, holds, parts }: HeldRows): HeldDocument {
  return {
    targets,
    rows,
    holds,
    parts: parts.map(({ sinceMs, ...part }) => ({ ...part, since: isoInstant(sinceMs) })),
  };
}

/** One try of a run to its end. */
export interface AttemptDocument {
  readonly number: number;
  /** Null where nobody was named. */
  readonly by: string | null;
  readonly state: RunState;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly durationMs: number | null;
  /** That it has read beyond what the attempts before it had; null for one that has not ended, or a job without rows. */
  readonly rows: number | null;
  /** Null also where it read too few to tell. */
  readonly rowsPerSecond: number | null;
  /** How it ended; null for one that has not. */
  readonly sentence: string | null;
}

/** The attempts of a run, the first one first. Where a run was retried by an earlier version, some are missing. */
export function attemptDocuments(run: RunRecord, job: JobDescription): readonly AttemptDocument[] {
  const missing = run.generation - run.attempts.length;
  const rowsIn = (counts: Counts | undefined, index: number) => {
    const earlier = run.attempts[index - 1]?.counts;
    if (counts === undefined || job.record === undefined || (earlier === undefined && index + missing > 0)) return null;
    return Math.max(0, rowsOf({ counts }, job) - rowsOf({ counts: earlier ?? {} }, job));
  };
  const paced = (rows: number | null, durationMs: number | null) => ({
    rows,
    durationMs,
    rowsPerSecond: rows === null || durationMs === null ? null : (paceOf(rows, durationMs) ?? null),
  });
  const before = run.attempts.map((attempt, index): AttemptDocument => {
    const { by, state, startedAtMs, finishedAtMs } = attempt;
    return {
      number: missing + index + 1,
      by: by ?? null,
      state,
      startedAt: isoInstant(startedAtMs),
      finishedAt: isoInstant(finishedAtMs),
      ...paced(rowsIn(attempt.counts, index), finishedAtMs - startedAtMs),
      sentence: outcomeSentence({ ...attempt, failures: [] }, job),
    };
  });
  const { state, report, finishedAtMs, attemptStartedAtMs: startedAtMs } = run;
  const durationMs = startedAtMs === undefined || finishedAtMs === undefined ? null : finishedAtMs - startedAtMs;
  return [
    ...before,
    {
      number: run.generation + 1,
      by: (run.generation === 0 ? run.actor : run.reopenedBy) ?? null,
      state,
      startedAt: isoInstant(startedAtMs),
      finishedAt: isoInstant(finishedAtMs),
      ...paced(rowsIn(report?.counts, run.attempts.length), durationMs),
      sentence: report === undefined ? null : outcomeSentence(report, job),
    },
  ];
}

/** A report, as it is stored or as its document. */
type Reported = Pick<RunReport, 'state' | 'units' | 'counts' | 'failures'> & { readonly stopped?: Fault | null };

/** One sentence, for every state in which a run can end. */
export function outcomeSentence(report: Reported, job: JobDescription): string {
  const { one, many, failing, isSingle } = job.units;
  const { total, done, held, failed } = report.units;
  const rows = counted(report.counts[wholeOf(job) ?? ''] ?? 0, 'row');
  const units = counted(total, one, many);
  if (report.state === 'interrupted') {
    const settled = isUnplanned(report) ? 'nothing' : `${figure(done + held)} of ${units}`;
    return `Interrupted by the copying of the warehouse: ${settled} had been done. The run goes on in the original.`;
  }
  if (report.state === 'cancelled') {
    if (isUnplanned(report)) return 'Cancelled before it was planned: nothing was done.';
    return isSingle
      ? `Cancelled: ${rows} had been settled.`
      : `Cancelled: ${figure(done + held)} of ${units} had been done.`;
  }
  const fault = wholeFault(report, job);
  if (fault !== undefined) return `Failed: ${fault.message}${fault.message.endsWith('?') ? '' : '.'}`;
  if (report.state === 'failed') return `Failed: ${figure(failed)} of ${units} ${failing}.`;
  const remarks = exceptionsIn(report, job);
  const sentence = remarks.length === 0 ? `Done: ${isSingle ? rows : units}.` : `Done, with ${listed(remarks)}.`;
  const outcome = job.outcomeOf?.(report);
  return outcome === undefined ? sentence : `${sentence} ${outcome}`;
}

/** The run ended before its units were known: its job takes no targets, and its plan was not made. */
export function isUnplanned({ state, units }: Pick<RunReport, 'state' | 'units'>): boolean {
  return state !== 'done' && units.total === 0;
}

/** The fault that stopped the run or, for a single unit, the fault of that unit: the outcome sentence shows it. */
export function wholeFault(
  { stopped, failures }: Pick<Reported, 'stopped' | 'failures'>,
  { units }: JobDescription,
): Fault | undefined {
  return stopped ?? (units.isSingle ? failures[0] : undefined);
}

/**
 * Why a unit failed, without its target, which begins the message or stands in the address of a request: the same for all
 * that failed alike.
 */
export function causeOf({ target, message }: Pick<RunFailure, 'target' | 'message'>): string {
  return withoutTarget(target, message).replaceAll(`/${encodeURIComponent(target)}`, '/…');
}

/** A message that is said of the target: it need not begin with it. */
export function withoutTarget(target: string, message: string): string {
  return message.startsWith(`${target}: `) ? message.slice(target.length + 2) : message;
}

/** Units that failed, or are held, for one reason. */
export interface FailureGroup {
  readonly state: RunFailure['state'];
  /** Of the fault. */
  readonly code: string;
  readonly cause: string;
  readonly hint: string | undefined;
  readonly targets: readonly string[];
}

/** The failures of a report by their reason, most units first; those that were not tried are last. */
export function failureGroups(report: Pick<ReportDocument, 'failures'>): readonly FailureGroup[] {
  const keyOf = (failure: RunFailure): string => JSON.stringify([failure.state, causeOf(failure)]);
  const groups = [...grouped(report.failures, keyOf).values()];
  // Those that were not tried are last.
  const rankOf = ([first, ...others]: readonly RunFailure[]): number =>
    first?.code === 'not-tried' ? 0 : -1 - others.length;
  return groups
    .toSorted((left, right) => rankOf(left) - rankOf(right))
    .flatMap((failures) => {
      const [first] = failures;
      if (first === undefined) return [];
      const { state, code, hint } = first;
      return [{ state, code, cause: causeOf(first), hint, targets: failures.map(({ target }) => target) }];
    });
}

/** What a headline says in the place of a message that quotes the answer; the list of reasons has the whole of it. */
export function plainCause({ code, cause }: Pick<FailureGroup, 'code' | 'cause'>): string {
  if (code !== 'not-json') return cause;
  const isPage = cause.includes('with a web page');
  return `the service answered with ${isPage ? 'a web page, as a sign-in page is one' : 'something that is not JSON'}`;
}

/**
 * Why a run failed, in one sentence, with what to do; undefined for one that did not fail by its units. Of more failures
 * than a report names, the rest may have another reason.
 */
export function failureSentence(
  report: ReportDocument,
  job: JobDescription,
): { readonly sentence: string; readonly hint: string | undefined } | undefined {
  if (report.state !== 'failed' || wholeFault(report, job) !== undefined) return undefined;
  const [group, ...others] = failureGroups(report).filter(({ state }) => state === 'failed');
  if (group === undefined) return undefined;
  const { one, many } = job.units;
  const { failed, total } = report.units;
  const named = report.failures.filter(({ state }) => state === 'failed').length;
  const isAll = others.length === 0 && named === failed;
  const which = isAll ? `${figure(failed)} of ${counted(total, one, many)}` : counted(group.targets.length, one, many);
  const rest = failed - group.targets.length;
  const also = isAll || rest === 0 ? '' : ` ${figure(rest)} more failed.`;
  const why = plainCause(group);
  return { sentence: `${which} failed: ${why}${/[.!?]$/.test(why) ? '' : '.'}${also}`, hint: group.hint };
}

/** What the operator can do after the run, most useful first. */
export function nextSteps(report: RunReport, job: JobDescription): readonly NextAction[] {
  const { failed, cancelled, unknown = 0 } = report.units;
  // A file with a fault becomes another file when it is corrected, which needs a push of its own.
  const isWrong = job.units.isSingle && report.failures[0]?.code === 'usage';
  // A run that failed because too much is unknown may find it once the address is right.
  const isUnfound = report.state === 'failed' && unknown > 0;
  const mayRetry = (failed + cancelled > 0 || isUnfound || isUnplanned(report)) && !isWrong;
  const retry: readonly NextAction[] = mayRetry ? [{ kind: 'retry-run', runId: report.runId }] : [];
  const hasAlerts = (report.alerts ?? []).length > 0;
  const alerts: readonly NextAction[] = hasAlerts ? [{ kind: 'list-alerts' }] : [];
  return [...retry, ...(job.nextSteps?.(report) ?? []), ...alerts];
}

/** The source and the destination of a run, without secrets (G11). */
export function locationText(service: string | null | undefined, warehouse: string): string {
  return `Service ${service ?? 'not known'}, warehouse ${warehouse}.`;
}

/** The shown counts of a run, in order: those that its job describes, then any others by name. Pure. */
export interface ShownCount {
  readonly name: string;
  readonly count: number;
  /** Explanation beside the name; empty if it needs none. */
  readonly remark: string;
}

export function shownCounts(
  counts: Counts,
  { counts: described }: Pick<JobDescription, 'counts'>,
): readonly ShownCount[] {
  const names = new Set(described.map(({ name }) => name));
  const others = Object.keys(counts)
    .filter((name) => !names.has(name))
    .toSorted((left, right) => left.localeCompare(right))
    .map((name): CountDescription => ({ name }));
  return [...described, ...others].flatMap(({ name, remark = '', isAlwaysShown, isHidden }) => {
    const count = counts[name];
    const isShown = count !== undefined && !isHidden && (count !== 0 || isAlwaysShown);
    return isShown ? [{ name, count, remark }] : [];
  });
}

/** Every record is accounted for, or not (G2): the sum in words, with the figures and the names of the counts. */
export function balanceSentence({ balanced, statement }: Balance): string {
  const readable = countWords(statement).replaceAll(/\d+/g, (digits) => figure(Number(digits)));
  return `${balanced ? 'Reconciled' : 'Not reconciled'}: ${readable}`;
}
