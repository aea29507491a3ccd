/**
 * The units of a run as a document: its wells, targets or files, with what became of each, and the days that they
 * still lack.
 */
import { z } from 'zod';
import { dailyProductionJobName, gapsJobName } from '../../../jobs/daily-production/job.ts';
import { counted, figure, isoInstant, listed } from '../../core/base/text.ts';
import { type DayInterval, subtractDays } from '../../core/daily/coverage.ts';
import { daysText } from '../../core/daily/well-standing.ts';
import { countWords, isCounted, type JobDescription, wholeOf } from '../../core/run/job-description.ts';
import type { Counts, RunHead, RunRecord, UnitState } from '../../core/run/run.ts';
import { dayAt, daysOfSpan, dayText } from '../../core/time/production-day.ts';
import type { LedgerUnit, UnitFilter } from '../../warehouse/port/runs.ts';
import type { RunEffect, WellHistory } from '../../warehouse/port/wells.ts';
import type { App } from '../app.ts';
import { rangeText } from '../wells/well.ts';
import { causeOf } from './run-document.ts';
import { jobDescriptionOf } from './run-status.ts';

/** Of the job's target, where that is one. */
const spanSchema = z.looseObject({ fromMs: z.number(), toMs: z.number() });

export const unitStates = [
  'open',
  'done',
  'held',
  'unknown',
  'failed',
  'cancelled',
] as const satisfies readonly UnitState[];

export interface RunUnitsDocument {
  readonly units: readonly RunUnitDocument[];
  /** Of those that the filter admits. */
  readonly matches: number;
  readonly offset: number;
  readonly states: Readonly<Partial<Record<UnitState, number>>>;
}

export type RunUnitDocument = ReturnType<typeof unitDocument>;

export interface UnitQuestion {
  readonly state?: UnitState | undefined;
  /** A part of the name, in any case. */
  readonly name?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export async function readRunUnits(
  app: App,
  { runId, job: jobName }: Pick<RunHead, 'runId' | 'job'>,
  { state, name, limit, offset }: UnitQuestion,
): Promise<RunUnitsDocument> {
  const filter: UnitFilter = {
    limit,
    offset,
    ...(state === undefined ? {} : { states: [state] }),
    ...(name === undefined || name === '' ? {} : { part: name }),
  };
  const { units, matches, states } = await app.ledger.runs.units(runId, filter);
  const job = jobDescriptionOf(jobName, app.jobs);
  const { timeZone } = app.config;
  return { units: units.map((unit) => unitDocument(unit, job, timeZone)), matches, offset, states };
}

/** `3 quarantined`: what of it makes a run `done, with …`; null for nothing. */
function exceptionsText(counts: Counts, { counts: described }: Pick<JobDescription, 'counts'>): string | null {
  const found = described.filter(
    ({ name, isException, isHidden }) => isException && !isHidden && isCounted(counts, name),
  );
  return found.length === 0
    ? null
    : listed(found.map(({ name }) => `${figure(counts[name] ?? 0)} ${countWords(name)}`));
}

/** The days that a read touches. */
function spanText(span: z.output<typeof spanSchema>, timeZone: string): string | null {
  const days = daysOfSpan(span, timeZone);
  return days === undefined ? null : rangeText({ from: dayText(days.fromDay), to: dayText(days.toDay) });
}

function unitDocument(
  { target, state, counts, fault, readMs, spec }: LedgerUnit,
  job: Pick<JobDescription, 'counts'>,
  timeZone: string,
) {
  const { data: span } = spanSchema.safeParse(spec);
  const rows = counts[wholeOf(job) ?? ''];
  return {
    target,
    state,
    days: span === undefined ? null : spanText(span, timeZone),
    from: span === undefined ? null : isoInstant(span.fromMs),
    to: span === undefined ? null : isoInstant(span.toMs),
    rows: rows ?? null,
    counts,
    exceptions: exceptionsText(counts, job),
    durationMs: readMs ?? null,
    reason: fault === undefined ? null : causeOf({ target, message: fault.message }),
    code: fault?.code ?? null,
  };
}

// What a run of chosen days came to, well by well: what it filled, changed and held, and what is left without a row.

export interface FilledWell {
  readonly uwi: string;
  /** Days that the run was to read. */
  readonly days: number;
  /** Whether it asks for nobody: no day is without a row, and nothing is in quarantine or held. */
  readonly isGood: boolean;
  /** What came of the days, in sentences. */
  readonly sentence: string;
}

const mostSpans = 3;

/** The wells of a backfill over some days that has ended, each with what is left; none of a run of many wells. */
export async function filledWells(app: App, run: RunRecord): Promise<readonly FilledWell[]> {
  const { job, report, namedTargets: uwis } = run;
  const isReading = job === dailyProductionJobName || job === gapsJobName;
  const whole = daysOf(run, app.config.timeZone);
  if (!isReading || report?.state !== 'done' || uwis.length === 0 || whole === undefined) return [];
  const filled: FilledWell[] = [];
  for (const uwi of uwis) {
    const history = await app.warehouse.coverage.history(uwi, { columns: [], mostQuarantined: 0, mostReads: 0 });
    filled.push(filledWell(uwi, whole, history, await app.warehouse.coverage.effectOf(uwi, run.runId)));
  }
  return filled;
}

type Known = Pick<WellHistory, 'present' | 'quarantinedDays'>;

function filledWell(uwi: string, whole: DayInterval, known: Known, effect: RunEffect): FilledWell {
  const days = daysIn([whole]);
  if (effect.state === 'unknown') {
    return { uwi, days, isGood: false, sentence: 'The service does not know the well (404): no day was read.' };
  }
  const gaps = subtractDays(whole, known.present);
  const { quarantined, heldRows } = effect;
  const changed = withinOf(whole, effect.changed);
  const said = [
    filledText(whole, gaps, effect),
    changed === 0 ? '' : `The run changed the rows of ${counted(changed, 'day')} that had one.`,
    heldRows === 0
      ? ''
      : `${counted(heldRows, 'row')} ${heldRows === 1 ? 'is' : 'are'} held: the service no longer has ${heldRows === 1 ? 'it' : 'them'}.`,
    gaps.length === 0 ? '' : leftText(whole, gaps, known.quarantinedDays),
    quarantined === 0 ? '' : quarantinedText(quarantined),
  ].filter((text) => text !== '');
  const sentence = said.length === 0 ? noChangeText(days) : said.join(' ');
  return { uwi, days, isGood: gaps.length === 0 && quarantined === 0 && heldRows === 0, sentence };
}

/** Empty where the run brought no row to a day without one. */
function filledText(whole: DayInterval, gaps: readonly DayInterval[], { filled, hadRows }: RunEffect): string {
  const [days, brought] = [daysIn([whole]), withinOf(whole, filled)];
  if (brought === 0) return '';
  if (gaps.length > 0) return `${figure(brought)} of the ${counted(days, 'day')} got a row.`;
  const each = days === 1 ? 'a row for the day' : `a row for each of the ${counted(days, 'day')}`;
  if (!hadRows) return `First rows of the well: the warehouse has ${each}.`;
  return brought === days
    ? `The gap is closed: the warehouse has ${each}.`
    : `The gap is closed: ${figure(brought)} of the ${counted(days, 'day')} had no row, and ${brought === 1 ? 'has' : 'have'} one now.`;
}

function noChangeText(days: number): string {
  const which = days === 1 ? 'the day' : `each of the ${counted(days, 'day')}`;
  return `Nothing changed: the warehouse had a row for ${which} before.`;
}

function leftText(whole: DayInterval, gaps: readonly DayInterval[], quarantinedDays: readonly DayInterval[]): string {
  const days = daysIn([whole]);
  const left = daysIn(gaps);
  const spans = gaps.slice(0, mostSpans).map(daysText);
  const more = gaps.length > mostSpans ? [counted(gaps.length - mostSpans, 'more stretch', 'more stretches')] : [];
  const which = left === days && gaps.length === 1 ? 'that' : listed([...spans, ...more]);
  const when = which === 'that' ? (days === 1 ? 'that day' : `those ${counted(days, 'day')}`) : which;
  const quarantined = left - daysIn(gaps.flatMap((gap) => subtractDays(gap, quarantinedDays)));
  const why =
    quarantined === 0
      ? `The service has nothing for ${when}`
      : `There is no row for ${when}: what the service has of ${counted(quarantined, 'day')} is in quarantine`;
  return `${why}; the gap remains.`;
}

function quarantinedText(records: number): string {
  const [are, them] = records === 1 ? ['is', 'it'] : ['are', 'them'];
  return `${counted(records, 'record')} ${are} in quarantine: accept ${them}, or ask the owners of the service to correct ${them}.`;
}

/** How many of these days are of the whole. */
function withinOf(whole: DayInterval, days: readonly DayInterval[]): number {
  return daysIn([whole]) - daysIn(subtractDays(whole, days));
}

function daysIn(stretches: readonly DayInterval[]): number {
  return stretches.reduce((sum, { fromDay, toDay }) => sum + toDay - fromDay, 0);
}

/** The days of the run's bounds that had ended when it was asked for; undefined for a run without both. */
function daysOf({ params, requestedAtMs }: RunRecord, timeZone: string): DayInterval | undefined {
  const { fromMs, toMs } = (params ?? {}) as { readonly fromMs?: unknown; readonly toMs?: unknown };
  if (typeof fromMs !== 'number' || typeof toMs !== 'number') return undefined;
  const fromDay = dayAt(fromMs, timeZone);
  const lastDay = dayAt(Math.min(toMs, requestedAtMs) - 1, timeZone);
  return fromDay === undefined || lastDay === undefined || lastDay < fromDay
    ? undefined
    : { fromDay, toDay: lastDay + 1 };
}
