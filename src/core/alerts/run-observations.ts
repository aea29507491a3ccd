/** What the end of a run shows beside its units, as data: the ledger judges it in the transaction that ends the run. */
import { counted, figure, listed } from '../base/text.ts';
import type { Counts, QuarantineTotals, RunReport, RunState } from '../run/run.ts';
import { exportOf, failureOf, type FoundAlert, type Observation } from './alert.ts';

/** What a member leaves out is not judged. */
export interface RunObservations {
  /** The source whose list the targets of the run are: wells of an earlier one that they lack were left out. */
  readonly list?: string;
  /** The wells of the warehouse without a new day for long. Days are numbers since 1970-01-01. */
  readonly silence?: {
    readonly today: number;
    readonly warnAfterDays: number;
    /** Wells that deliver no more. */
    readonly plugged: readonly string[];
  };
  /** Rows of days before `beforeDay` (a number since 1970-01-01) that the run changed, if they are more than `maxRows`. */
  readonly restated?: { readonly beforeDay: number; readonly maxRows: number };
  /** The targets are wells: the report says what stands in quarantine of them. */
  readonly isOfWells?: true;
  /** The rows of a pushed file. */
  readonly pushed?: PushedRows;
  /** The targets of a cleanup: those that its run did not get rid of. */
  readonly isCleanup?: true;
  /** What the job itself found. */
  readonly found?: readonly Observation[];
  /** What is open, and was not told of for so many days, is told of again. */
  readonly remindAfterDays?: number;
  /** The run opens and resolves no alert, however it ends: it was to answer a question. */
  readonly isAnswer?: true;
}

/** What became of the rows of a push. */
export interface PushedRows {
  /** By which its rejects are an alert. */
  readonly file: string;
  /** The push whose rejected rows it was to bring. */
  readonly corrects: { readonly runId: string } | undefined;
  readonly accepted: number;
  /** Rows that were not stored, whatever the reason. */
  readonly rejected: number;
  /** False where it failed on the way: of the rest nothing is known. */
  readonly isToItsEnd: boolean;
}

/**
 * Of a run that ended as failed without a unit that did: its plan could not be made, or its counts are not reconciled. It is
 * over with the next run of the same job, or schedule, that ends otherwise; one that was cancelled tells neither, nor does an
 * export of some wells or days that a person chose: it says nothing of the nights.
 */
export function observeEndOf(
  { job, state, stopped, runId }: Pick<RunReport, 'job' | 'state' | 'stopped' | 'runId'>,
  {
    schedule,
    params,
    isPlanned,
    failedUnits,
  }: {
    readonly schedule: string | undefined;
    readonly params: unknown;
    readonly isPlanned: boolean;
    readonly failedUnits: number;
  },
): Observation | undefined {
  if (state !== 'done' && state !== 'failed') return undefined;
  if (schedule === undefined && failureOf(job) !== undefined && !hasSource(params)) return undefined;
  const target = schedule ?? job;
  const isWhole = state === 'failed' && (!isPlanned || failedUnits === 0);
  const { code = 'run-failed', message = 'it failed as a whole' } = stopped ?? {};
  const found = [
    { target, severity: 'error', cause: code, summary: message, detail: { code, runId }, size: 1 },
  ] as const;
  const targetKind = schedule === undefined ? 'job' : 'schedule';
  return { kind: 'run-failed', job, targetKind, observed: [target], found: isWhole ? found : [] };
}

/** Whether an export is over all targets of a source. */
function hasSource(params: unknown): boolean {
  return typeof params === 'object' && params !== null && 'source' in params && typeof params.source === 'string';
}

/** What the end of a push shows of the file by which its rejects are an alert. */
export function observePush(
  { runId, state, counts, units, failures }: Pick<RunReport, 'runId' | 'state' | 'counts' | 'units' | 'failures'>,
  { file, corrects }: { readonly file: string; readonly corrects: PushedRows['corrects'] },
): RunObservations {
  if (state !== 'done' && state !== 'failed') return {};
  const { accepted = 0, rejectedByUs = 0, rejectedByService = 0, failed = 0 } = counts;
  const rejected = rejectedByUs + rejectedByService + failed;
  const [fault] = failures;
  const { code = 'failed', message = 'the push failed' } = fault ?? {};
  const about = { job: pushJob, targetKind: 'file', observed: [file] } as const;
  const detail = { runId, rejected };
  const failure = { target: file, severity: 'error', cause: code, summary: message, detail, size: 1 } as const;
  return {
    found: [{ ...about, kind: 'push-failed', found: units.failed > 0 ? [failure] : [] }],
    pushed: { file, corrects, accepted, rejected, isToItsEnd: units.failed === 0 },
  };
}

const pushJob = 'push network-pipes';

/**
 * Of the rejected rows of a file; `rows`: those that are left. None resolves the alert. `runId`: the run that has them in its
 * rejects; `names`: some of the pipes, where they are known.
 */
export function observeRejects(file: string, rows: number, runId: string, names: readonly string[] = []): Observation {
  const such = names.length === 0 ? '' : `: ${listed([...names, ...(names.length < rows ? ['others'] : [])])}`;
  const words = `${counted(rows, 'row was', 'rows were')} rejected${such}`;
  const detail = { runId, rejected: rows, ...(names.length > 0 && { pipes: names }) };
  const found = { target: file, severity: 'warning', cause: 'rejected', summary: words, detail, size: rows } as const;
  const about = { kind: 'rows-rejected', job: pushJob, targetKind: 'file', observed: [file] } as const;
  return { ...about, found: rows > 0 ? [found] : [] };
}

/** Of a correction that has less than it was to correct. */
export function lackingNotice(rows: number, { runId }: NonNullable<PushedRows['corrects']>): string {
  const words = counted(rows, 'row that run', 'rows that run');
  return `${words} ${runId} rejected ${rows === 1 ? 'was' : 'were'} not among these: the alert stays`;
}

/** What the figures of the warehouse lack, in words. */
export function quarantineNotice({ records, unread, ...rates }: QuarantineTotals): string {
  const sums = listed(
    phases.map((name) => `${name} ${rates[name] < 10 ? rates[name].toFixed(2) : figure(rates[name])}`),
  );
  const rest =
    unread === 0
      ? ''
      : `; ${counted(unread, 'has a rate', 'have rates')} that ${unread === 1 ? 'is' : 'are'} no number`;
  return `In quarantine of these wells: ${counted(records, 'record')} with ${sums} (daily rates, summed${rest})`;
}

/** What the figures of production are of. */
export const phases = ['oil', 'gas', 'water'] as const;

/** Of an older row a change is no correction of what has just come, but of what was reported. */
const restatedAfterDays = 30;

interface EndedExport {
  readonly state: RunState;
  readonly counts: Counts;
  /** Undefined for a run over some days or named wells alone. */
  readonly source: string | undefined;
}

/**
 * What is to be judged of a run of daily production; `isSilenceDue`: whether the silent wells are. A run that was cancelled
 * says neither which wells its source has, since its file may be why, nor that all of them were read. `today`: a day number.
 */
export function dueObservations(
  { state, counts, source }: EndedExport,
  { today, maxRows }: { readonly today: number; readonly maxRows: number },
): Pick<RunObservations, 'list' | 'restated'> & { readonly isSilenceDue: boolean } {
  const ofWhole = state === 'done' || state === 'failed' ? source : undefined;
  // Changed rows of any age: most runs have so few that the history need not be read.
  const changedRows = (counts['updated'] ?? 0) + (counts['removed'] ?? 0);
  return {
    isSilenceDue: ofWhole !== undefined,
    ...(ofWhole !== undefined && isList(ofWhole) ? { list: ofWhole } : {}),
    ...(changedRows > maxRows ? { restated: { beforeDay: today - restatedAfterDays, maxRows } } : {}),
  };
}

/** Of wells whose record, or the configuration where it names none, has another time zone than their rows: nothing is dated by it. */
export function observeOtherZones(wells: ReadonlyArray<Readonly<Record<'uwi' | 'from' | 'to', string>>>): Observation {
  return {
    kind: 'zone-changed',
    ...exportOf('uwi'),
    observed: 'all',
    found: wells.map(({ uwi, from, to }) => ({
      target: uwi,
      severity: 'warning',
      cause: `${from} to ${to}`,
      summary: `its time zone is now ${to}, and its rows are dated by ${from}: they still are`,
      detail: { from, to },
      size: 1,
    })),
  };
}

/** What a run changed of a month. The changes are sums of daily rates, in their unit times a day: the interface names none. */
export interface RestatedMonth {
  /** YYYY-MM. */
  readonly month: string;
  readonly rows: number;
  readonly oil: number;
  readonly gas: number;
  readonly water: number;
}

/** The months that are to be alerted: all of them, or none of a run that changed few rows. */
export function restatedMonths(months: readonly RestatedMonth[], maxRows: number): readonly RestatedMonth[] {
  const rows = months.reduce((sum, month) => sum + month.rows, 0);
  return rows > maxRows ? months : [];
}

/** The alert of a month, with what earlier runs changed of it while it stood. */
export function restatedAlert(
  { month, rows, ...changes }: RestatedMonth,
  before: { readonly size: number; readonly detail: object } | undefined,
  runId: string,
): FoundAlert {
  const size = rows + (before?.size ?? 0);
  const earlier: Readonly<Record<string, unknown>> = { ...before?.detail };
  const sums = phases.map((phase) => [phase, changes[phase] + Number(earlier[phase] ?? 0)] as const);
  const ago = `more than ${restatedAfterDays} days ago`;
  const what = size === 1 ? `1 row of a day ${ago} was changed` : `${figure(size)} rows of days ${ago} were changed`;
  return {
    target: month,
    severity: 'warning',
    cause: 'restated',
    summary: `${what}: ${listed(sums.map(([phase, sum]) => `${phase} ${changeText(sum)}`))}`,
    detail: { rows: size, ...Object.fromEntries(sums), runId },
    size,
  };
}

/** A sum of daily rates, with its sign. */
function changeText(sum: number): string {
  const size = Math.abs(sum);
  const text = size < 10 ? size.toFixed(2) : figure(Math.round(size));
  return `${sum < 0 ? '-' : '+'}${text}`;
}

// Where the wells of a run without bounds come from: its name is part of the run's parameters, and kept with its wells.

/** The wells of the warehouse itself: none is ever left out of them. */
const ofWarehouse = 'warehouse';

/** Each run may be given another list: nothing says that it is the one of before. */
const ofStandardInput = 'standard input';

/**
 * The name of the source of a run over whole histories; undefined for wells that are `isNamedEach`. `file`: an absolute
 * path, or `-`; without one the list of the configuration is meant.
 */
export function wellSourceOf({
  isFromWarehouse,
  schedule,
  isNamedEach,
  file,
}: {
  readonly isFromWarehouse: boolean;
  readonly schedule: string | undefined;
  readonly isNamedEach: boolean;
  readonly file: string | undefined;
}): string | undefined {
  if (isFromWarehouse) return ofWarehouse;
  if (schedule !== undefined) return `schedule ${schedule}`;
  if (isNamedEach) return undefined;
  return file === '-' ? ofStandardInput : (file ?? 'configuration');
}

/** Whether a well that is not among the wells of the source any more was left out of it. */
export function isList(source: string): boolean {
  return source !== ofWarehouse && source !== ofStandardInput;
}
