/** The units of a run as a document: its wells, targets or files, with what became of each. */
import { z } from 'zod';
import { figure, isoInstant, listed } from '../../core/base/text.ts';
import { countWords, isCounted, type JobDescription, wholeOf } from '../../core/run/job-description.ts';
import type { Counts, RunHead, UnitState } from '../../core/run/run.ts';
import { daysOfSpan, dayText } from '../../core/time/production-day.ts';
import type { LedgerUnit, UnitFilter } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { rangeText } from '../wells/well-strip.ts';
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
function daysText(span: z.output<typeof spanSchema>, timeZone: string): string | null {
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
    days: span === undefined ? null : daysText(span, timeZone),
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
