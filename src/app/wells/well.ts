/** What the warehouse knows of one well: what is first to be known of it, its days by state, its gaps, and why. */
import { z } from 'zod';
import { dailyProductionJobName } from '../../../jobs/daily-production/job.ts';
import { cursorOf, readCursor } from '../../core/base/lists.ts';
import { UsageError } from '../../core/base/errors.ts';
import type { Alert } from '../../core/alerts/alert.ts';
import { instantText, isoInstant, printable } from '../../core/base/text.ts';
import {
  type CoverageCounts,
  dayCounts,
  type DayGap,
  type DayState,
  type DayStretch,
  dayStretches,
  gapsOf,
} from '../../core/daily/coverage.ts';
import { type SentencePart, type Standing, standingsOf, type WellFacts } from '../../core/daily/well-standing.ts';
import { dayAt, dayNumber, daysOfSpan, dayText, instantOfDay } from '../../core/time/production-day.ts';
import { DAY_MS } from '../../core/time/window.ts';
import type { ProductionRow, RowsQuestion } from '../../warehouse/port/daily-production.ts';
import type { WellHistory, WellRead } from '../../warehouse/port/wells.ts';
import type { App } from '../app.ts';
import { firstDayOfHistory, pluggedWells } from './coverage.ts';
import { readRestatements } from './restatements.ts';
import { plottedColumns } from './well-plots.ts';

/** Days [from, to), YYYY-MM-DD. */
interface DayRange {
  readonly from: string;
  readonly to: string;
}

export interface WellDocument {
  readonly uwi: string;
  /** YYYY-MM-DD; null for a well without a row or a quarantined record. */
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** ISO 8601; null before its first read. */
  readonly readUpTo: string | null;
  /** The last day that a read has covered, YYYY-MM-DD; null for none. */
  readonly readTo: string | null;
  readonly unknownSince: string | null;
  /** What is to be known of it, why there is no data of yesterday first. */
  readonly standings: ReadonlyArray<
    Pick<Standing, 'kind' | 'severity'> & {
      readonly sentence: string;
      readonly parts: readonly SentencePart[];
      readonly days: DayRange | null;
      readonly runId: string | null;
    }
  >;
  /** From the first day to today, which is left out. `undecided`: asked, and not verified yet. */
  readonly days: CoverageCounts & { readonly undecided: number };
  readonly stretches: ReadonlyArray<DayRange & { readonly state: DayState }>;
  /** Days without a row, the latest first; `to` is the first day behind a gap. An open one lasts to today. */
  readonly gaps: ReadonlyArray<
    DayRange & { readonly lastDay: string; readonly days: number; readonly neverRead: number; readonly isOpen: boolean }
  >;
  /** Of the latest days, at most {@link mostQuarantined}. */
  readonly quarantined: ReadonlyArray<
    Readonly<Record<'day' | 'xid', string | null>> &
      Readonly<Record<'reason' | 'raw' | 'runId' | 'noticedAt', string>> & {
        /** Who accepted it as it is; null where nobody did. */
        readonly accepted: Readonly<Record<'by' | 'at' | 'because', string>> | null;
      }
  >;
  readonly quarantinedRecords: number;
  readonly acceptedRecords: number;
  readonly holds: ReadonlyArray<
    Readonly<Record<'firstDay' | 'lastDay' | 'runId' | 'since', string>> & { readonly rows: number }
  >;
  /** The runs that read it, the latest first, at most {@link mostReads}. */
  readonly reads: ReadonlyArray<
    Pick<WellRead, 'runId' | 'job' | 'runState' | 'state' | 'changed'> & {
      readonly days: DayRange | null;
      readonly at: string;
      readonly fault: string | null;
    }
  >;
  /** The latest first. */
  readonly restated: ReadonlyArray<Omit<RestatedValue, 'day'> & { readonly day: string }>;
  /** Columns of daily production with a value other than 0 in any row. */
  readonly columns: readonly string[];
}

/** A read of the newest days ends at most so long before it was asked for: the day that is not over may be left out, in any zone. */
const mostBehindMs = 2 * DAY_MS;

const mostQuarantined = 100;
const mostReads = 20;

/** What is known of the days of a well; days are day numbers. */
interface WellDays {
  readonly today: number;
  readonly stretches: readonly DayStretch[];
  readonly history: WellHistory;
  readonly restated: readonly RestatedValue[];
  readonly readUpTo: string | null;
  readonly unknownSince: string | null;
}

/** No zone is further ahead of UTC: the day of an instant, or the one behind it, in any zone. */
const aheadOfUtcMs = 14 * 3_600_000;

export async function daysOfWell(app: App, uwi: string, nowMs: number): Promise<WellDays> {
  const { coverage } = app.warehouse;
  const today = dayAt(nowMs, app.config.timeZone) ?? 0;
  const history = await coverage.history(uwi, { columns: plottedColumns, mostQuarantined, mostReads });
  const [trace] = await coverage.traces([uwi]);
  const restated = await restatedOf(app, uwi);
  const readUpTo = trace?.readUpTo ?? null;
  const stretches = dayStretches(
    {
      read: history.read,
      present: history.present,
      quarantined: history.quarantinedDays,
      held: history.holds.map(({ firstDay, lastDay }) => ({ fromDay: firstDay, toDay: lastDay + 1 })),
      restated: restated.map(({ day }) => day),
      askedTo: readUpTo === null ? undefined : Math.floor((Date.parse(readUpTo) + aheadOfUtcMs) / DAY_MS),
    },
    today,
  );
  return { today, stretches, history, restated, readUpTo, unknownSince: trace?.unknownSince ?? null };
}

/** Whether a well has a page: whatever is known of it, also a read that failed or has not ended. */
export function isKnown({ firstDay, readUpTo, unknownSince, reads }: WellDocument): boolean {
  return firstDay !== null || readUpTo !== null || unknownSince !== null || reads.length > 0;
}

export async function wellDocument(app: App, uwi: string, nowMs: number): Promise<WellDocument> {
  const known = await daysOfWell(app, uwi, nowMs);
  const { stretches, history, restated, readUpTo, unknownSince } = known;
  const { missing, undecided, 'never-read': neverRead, ...stored } = dayCounts(stretches);
  const quarantined = stored.quarantined + stored['quarantined-kept'];
  const present = stored.present + stored.held + stored.restated;
  const withRecord = stretches.filter(({ state }) => !['missing', 'undecided', 'never-read'].includes(state));
  const [first, last] = [withRecord[0], withRecord.at(-1)];
  const readBefore = stretches.findLast(({ state }) => state !== 'never-read');
  const standings = standingsOf({
    stretches,
    unknownSinceMs: unknownSince === null ? undefined : Date.parse(unknownSince),
    holds: history.holds,
    ...quarantineOf(history),
    ...lastReadsOf(history.reads),
    ...(await errorsOf(app, uwi, nowMs)),
    readOnlyFrom: readUpTo === null ? firstReadDay(app, known) : undefined,
    isPlugged: (await pluggedWells(app)).includes(uwi),
    warnAfterDays: app.config.freshness.warnAfterDays,
    wasRead: readUpTo !== null || history.read.length > 0,
  });
  return {
    uwi,
    firstDay: first === undefined ? null : dayText(first.fromDay),
    lastDay: last === undefined ? null : dayText(last.toDay - 1),
    readUpTo,
    readTo: readBefore === undefined ? null : dayText(readBefore.toDay - 1),
    unknownSince,
    standings: standings.map(standingDocument),
    days: { asked: present + quarantined + missing + neverRead, present, quarantined, missing, neverRead, undecided },
    stretches: stretches.map(({ state, ...days }) => ({ ...rangeOf(days), state })),
    gaps: gapsOf(stretches).map(gapDocument),
    quarantined: history.quarantined.map(({ noticedAtMs, accepted, ...each }) => ({
      ...each,
      noticedAt: isoInstant(noticedAtMs),
      accepted: accepted && { by: accepted.by, at: isoInstant(accepted.atMs), because: accepted.because },
    })),
    quarantinedRecords: history.quarantinedRecords,
    acceptedRecords: history.acceptedRecords,
    holds: history.holds.map(({ rows, firstDay, lastDay, runId, sinceMs }) => ({
      rows,
      firstDay: dayText(firstDay),
      lastDay: dayText(lastDay),
      runId,
      since: isoInstant(sinceMs),
    })),
    reads: history.reads.map(({ runId, job, runState, state, changed, span, atMs, fault }) => {
      const days = span && daysOfSpan(span, app.config.timeZone);
      return {
        runId,
        job,
        runState,
        state,
        changed,
        days: days === undefined ? null : rangeOf(days),
        at: isoInstant(atMs),
        fault: fault?.message ?? null,
      };
    }),
    restated: restated.map((each) => ({ ...each, day: dayText(each.day) })),
    columns: history.columns,
  };
}

function rangeOf({ fromDay, toDay }: { readonly fromDay: number; readonly toDay: number }): DayRange {
  return { from: dayText(fromDay), to: dayText(toDay) };
}

function gapDocument({ fromDay, toDay, neverRead, isOpen }: DayGap): WellDocument['gaps'][number] {
  const days = toDay - fromDay;
  return { from: dayText(fromDay), lastDay: dayText(toDay - 1), to: dayText(toDay), days, neverRead, isOpen };
}

function standingDocument({ kind, severity, sentence, days, runId }: Standing): WellDocument['standings'][number] {
  return {
    kind,
    severity,
    sentence: sentence.map(partText).join(''),
    parts: sentence,
    days: days === undefined ? null : rangeOf(days),
    runId: runId ?? null,
  };
}

function partText(part: SentencePart): string {
  if (typeof part === 'string') return part;
  return 'atMs' in part ? instantText(part.atMs) : part.runId;
}

/**
 * The last read that came to an end, and when the last complete one did. What is not done yet says nothing of the well; nor
 * does a read of earlier days say anything of yesterday.
 */
function lastReadsOf(reads: readonly WellRead[]): Pick<WellFacts, 'lastRead' | 'askedAtMs'> {
  const ended = reads
    .filter(({ span, requestedAtMs }) => span === undefined || span.toMs >= requestedAtMs - mostBehindMs)
    .flatMap(({ state, runId, atMs, fault }) =>
      state === 'open' ? [] : [{ state, runId, atMs, fault: fault?.message }],
    )
    .toSorted((left, right) => right.atMs - left.atMs);
  const complete = ended.find(({ state }) => state === 'done' || state === 'held');
  return { lastRead: ended[0], askedAtMs: complete?.atMs };
}

function quarantineOf({ quarantined, quarantinedRecords, acceptedRecords, unacceptedDays }: WellHistory) {
  return {
    quarantined: quarantined.filter(({ accepted }) => accepted === null),
    quarantinedRecords: quarantinedRecords - acceptedRecords,
    quarantinedDays: unacceptedDays,
    accepted: quarantined.flatMap(({ day, accepted }) => (accepted === null ? [] : [{ day, ...accepted }])),
    acceptedRecords,
  };
}

const mostErrors = 20;

/** What stands as an error of the well: the failed read, and the rest. */
async function errorsOf(app: App, uwi: string, nowMs: number): Promise<Pick<WellFacts, 'failure' | 'errors'>> {
  const filter = { target: uwi, states: ['open', 'acknowledged'], limit: mostErrors, nowMs } as const;
  const { alerts } = await app.ledger.alerts.list(filter);
  const errors = alerts.filter(({ severity }) => severity === 'error');
  const failed = errors.find(({ kind, job }) => kind === 'well-failed' && job === dailyProductionJobName);
  return {
    failure: failed && failureOf(failed, app.config.timeZone),
    errors: errors.filter((each) => each !== failed).map(({ summary }) => `${printable(summary)}.`),
  };
}

function failureOf({ summary, detail, seenAtMs }: Alert, timeZone: string): WellFacts['failure'] {
  const { runId, fromMs, toMs } = detail;
  const isSpan = typeof fromMs === 'number' && typeof toMs === 'number';
  return {
    runId: String(runId),
    atMs: seenAtMs,
    fault: printable(summary),
    days: isSpan ? daysOfSpan({ fromMs, toMs }, timeZone) : undefined,
  };
}

/** The first day that was read; undefined where it is the first of the history that exports read, or none was. */
function firstReadDay(app: App, { history }: WellDays): number | undefined {
  const day = history.read[0]?.fromDay;
  return day === undefined || day <= firstDayOfHistory(app) ? undefined : day;
}

export interface RestatedValue {
  /** Day number. */
  readonly day: number;
  /** Null where the whole row was removed. */
  readonly column: string | null;
  readonly before: number | null;
  readonly after: number | null;
  readonly noticedAt: string;
  readonly runId: string;
}

const mostRestatements = 5_000;

/** What was restated of the plotted columns, as far back as the history goes: the latest first, at most `mostRestatements`. */
async function restatedOf(app: App, uwi: string): Promise<readonly RestatedValue[]> {
  const sinceMs = (await app.ledger.retention.historyHorizonMs()) ?? 0;
  const plotted = new Set<string>(plottedColumns);
  const found: RestatedValue[] = [];
  await readRestatements(app, { sinceMs, untilMs: Date.now() + 1, uwis: [uwi] }, async (lines) => {
    for await (const { day, field, old, new: next, noticedAt, runId } of lines) {
      if (field !== null && !plotted.has(field)) continue;
      found.push({
        day: dayNumber(day),
        column: field,
        before: typeof old === 'number' ? old : null,
        after: typeof next === 'number' ? next : null,
        noticedAt: instantText(Date.parse(noticedAt)),
        runId,
      });
    }
  });
  return found
    .toSorted((left, right) => right.noticedAt.localeCompare(left.noticedAt) || right.day - left.day)
    .slice(0, mostRestatements);
}

/** Requests for the stored production of a well, in pages by date. */
interface ProductionInput {
  readonly uwi: string;
  /** A production day, YYYY-MM-DD. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly to?: string | undefined;
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string | undefined;
}

interface ProductionPage {
  readonly rows: readonly ProductionRow[];
  /** Start of the next page; undefined on the last one. */
  readonly cursor: string | undefined;
}

/** Undefined for a well that has never had a row. Throws UsageError for a text that is no day, or no cursor. */
export async function pageOfProduction(
  { warehouse }: Pick<App, 'warehouse'>,
  { uwi, from, to, limit, cursor }: ProductionInput,
): Promise<ProductionPage | undefined> {
  for (const [name, day] of Object.entries({ from, to })) {
    if (day !== undefined && instantOfDay(day, 'UTC') === undefined) {
      throw new UsageError(`${name} ${JSON.stringify(day)} is not a day`, {
        hint: 'Write a day of the calendar as 2024-03-31.',
      });
    }
  }
  const question: RowsQuestion = {
    uwi,
    limit: limit + 1,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(cursor === undefined ? {} : { after: positionOf(cursor) }),
  };
  const found = await warehouse.dailyProduction.rows(question);
  if (found === undefined) return undefined;
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, cursor: found.length > limit && last !== undefined ? cursorOf(last.date, last.xid) : undefined };
}

const rowPosition = z.tuple([z.iso.datetime(), z.guid()]);

function positionOf(cursor: string): NonNullable<RowsQuestion['after']> {
  const [date, xid] = readCursor(cursor, rowPosition, { list: 'production' });
  return { date, xid };
}

// The last days of a well, as a strip of one cell a day. Pure.

const stripDays = 92;

export interface Strip {
  readonly days: number;
  /** YYYY-MM-DD. */
  readonly firstDay: string;
  readonly lastDay: string;
  /** By the number of the cell, from 0; `to` is exclusive. */
  readonly parts: ReadonlyArray<
    Readonly<Record<'from' | 'to', number>> & { readonly state: DayState; readonly text: string }
  >;
  /** The cells that a week begins with: Mondays. */
  readonly weeks: readonly number[];
}

/** Undefined for a well without a day. */
export function stripOf({ stretches }: Pick<WellDocument, 'stretches'>): Strip | undefined {
  const last = stretches.at(-1);
  if (last === undefined) return undefined;
  const end = dayNumber(last.to);
  const begin = end - stripDays;
  const parts = stretches.flatMap(({ from, to, state }) => {
    const [first, behind] = [Math.max(dayNumber(from), begin), dayNumber(to)];
    const text = `${dayText(first)} to ${dayText(behind - 1)}`;
    return behind <= begin ? [] : [{ from: first - begin, to: behind - begin, state, text }];
  });
  // Day 4 since 1970-01-01 was a Monday.
  const weeks = Array.from({ length: stripDays }, (_, cell) => cell).filter((cell) => (begin + cell) % 7 === 4);
  return { days: stripDays, firstDay: dayText(begin), lastDay: dayText(end - 1), parts, weeks };
}

/** The number of days of [from, to), YYYY-MM-DD. */
export function daysBetween({ from, to }: Readonly<Record<'from' | 'to', string>>): number {
  return dayNumber(to) - dayNumber(from);
}

/** `2014-02-07`, `2014-02-07 to 2014-02-09`, of the days of [from, to). */
export function rangeText({ from, to }: Readonly<Record<'from' | 'to', string>>): string {
  const last = dayText(dayNumber(to) - 1);
  return from === last ? from : `${from} to ${last}`;
}
