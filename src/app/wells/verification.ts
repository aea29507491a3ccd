/** Requests for a verification of daily production: converts names and days of an operator to the parameters of a run. */
import { randomInt } from 'node:crypto';
import { Readable } from 'node:stream';
import { slicesOf, windowSpecSchema } from '../../../jobs/daily-production/plan.ts';
import { pageRowsOf } from '../../../jobs/daily-production/profile.ts';
import { verificationJobName } from '../../../jobs/verification/job.ts';
import { expectedRequests, planVerification, type VerificationParams } from '../../../jobs/verification/windows.ts';
import { UsageError } from '../../core/base/errors.ts';
import { highestSeed, sampleOf } from '../../core/verify/sample.ts';
import { shownBaseUrl } from '../../service/settings.ts';
import type { App } from '../app.ts';
import { backfillBounds, type BackfillBounds } from '../exports/daily-production.ts';
import { type InputNames, namesFor, type Targets, targetsFrom, uwiKind } from '../exports/target-input.ts';
import { dailyProductionSettings, historyFromMs } from '../job-settings.ts';
import type { JobRequest } from '../runs/start-run.ts';

export interface VerificationInput {
  /** By default the wells of the warehouse that were read. */
  readonly uwis?: readonly string[] | undefined;
  /** A day of the configured zone or an ISO date-time. Without bounds the last 90 days. */
  readonly from?: string | undefined;
  /** A day or date-time, exclusive. */
  readonly to?: string | undefined;
  /** The whole history of each well. */
  readonly all?: boolean | undefined;
  /** So many of the wells, chosen by the seed. */
  readonly sample?: number | undefined;
  /** From 0 to 4,294,967,295; a random one by default. */
  readonly seed?: number | undefined;
}

/** The checked request, for an answer or a title. */
export interface VerificationSummary extends BackfillBounds {
  readonly wells: number;
  readonly repeatedWells: number;
  readonly isWhole: boolean;
  readonly sample: VerificationParams['sample'];
}

export interface VerificationRequest extends JobRequest {
  readonly params: VerificationParams;
  readonly targets: readonly string[];
  readonly summary: VerificationSummary;
}

/**
 * `names`: of the members of the input in messages. Throws UsageError for an impossible day or seed, for members that exclude
 * each other, where no warehouse exists, and where it knows no well.
 */
export async function requestVerification(
  app: App,
  input: VerificationInput,
  { nowMs, names: given }: { readonly nowMs: number; readonly names?: InputNames<VerificationInput> },
): Promise<VerificationRequest> {
  const { config, warehouse } = app;
  const { uwis, from, to, all: isWhole = false, sample, seed } = input;
  const names = namesFor(['uwis', 'from', 'to', 'all', 'sample', 'seed'], given);
  refuseTogether(input, names);
  const { timeZone } = config;
  const bounds = backfillBounds({ from, to, timeZone, earliestMs: historyFromMs(config), nowMs, names });
  if (!(await warehouse.isStored())) throw nothingRead('there is no warehouse yet');
  const wells = uwis === undefined ? await readWells(app) : await namedWells(uwis, names.uwis);
  const chosen =
    sample === undefined ? undefined : { wells: sample, of: wells.names.length, seed: seed ?? randomSeed() };
  const targets = chosen === undefined ? wells.names : sampleOf(wells.names, chosen.wells, chosen.seed);
  const kept = chosen === undefined ? undefined : { ...chosen, wells: targets.length };
  return {
    job: verificationJobName,
    params: { nowMs, ...bounds, isWhole, ...(kept === undefined ? {} : { sample: kept }) },
    targets,
    summary: { ...bounds, isWhole, wells: targets.length, repeatedWells: wells.repeatedCount, sample: kept },
  };
}

async function readWells({ warehouse }: App): Promise<Targets> {
  const names = await warehouse.dailyProduction.uwis();
  if (names.length === 0) throw nothingRead('the warehouse has read no well yet');
  return { names, repeatedCount: 0 };
}

function nothingRead(what: string): UsageError {
  return new UsageError(`${what}: nothing can be compared`, { action: { kind: 'first-export' } });
}

/** `calledBy`: the name of the list in messages. */
function namedWells(names: readonly string[], calledBy: string): Promise<Targets> {
  const sources = { names, file: undefined };
  const called = { names: calledBy, file: calledBy, known: calledBy };
  return targetsFrom(uwiKind, { ...sources, calledBy: called }, sources, Readable.from([]));
}

function randomSeed(): number {
  return randomInt(highestSeed + 1);
}

function refuseTogether(
  { from, to, all, sample, seed }: VerificationInput,
  names: Readonly<Record<keyof VerificationInput, string>>,
): void {
  const bound = from !== undefined ? names.from : to !== undefined ? names.to : undefined;
  if (all && bound !== undefined) throw new UsageError(`${names.all} and ${bound} exclude each other`);
  if (sample === undefined && seed !== undefined) {
    throw new UsageError(`${names.seed} is of a sample`, { hint: `Say by ${names.sample} how many wells it has.` });
  }
}

/** The JSON of a dry run. */
export interface VerificationPlan {
  readonly job: string;
  readonly wells: number;
  readonly sample: NonNullable<VerificationParams['sample']> | null;
  /** ISO instants, `to` exclusive: of all windows. */
  readonly from: string;
  readonly to: string;
  readonly chunks: number;
  /** Where the service fits its profile. */
  readonly expectedRequests: number;
  readonly windows: ReadonlyArray<{ readonly uwi: string; readonly from: string; readonly to: string }>;
}

/** What a run of the request would read. Uses only the warehouse. Throws UsageError for one of another service (G11). */
export async function planOfVerification(
  app: App,
  { job, params, targets, summary }: VerificationRequest,
): Promise<VerificationPlan> {
  const { config, warehouse, ledger } = app;
  const { url, pageLimit } = config.service;
  if (url !== undefined) await app.checkService();
  const pageRows = url === undefined ? pageLimit : await pageRowsOf(shownBaseUrl(url), pageLimit, { ledger });
  const units = await planVerification(params, slicesOf(targets), dailyProductionSettings(config), { warehouse });
  const windows = units.map(({ target, spec }) => ({ uwi: target, ...windowSpecSchema.parse(spec) }));
  const isoOf = (ms: number): string => new Date(ms).toISOString();
  return {
    job,
    wells: units.length,
    sample: summary.sample ?? null,
    from: isoOf(windows.reduce((least, { fromMs }) => Math.min(least, fromMs), Infinity)),
    to: isoOf(windows.reduce((most, { toMs }) => Math.max(most, toMs), -Infinity)),
    chunks: new Set(units.map(({ chunk }) => chunk)).size,
    expectedRequests: units.reduce((sum, { spec }) => sum + expectedRequests(spec, pageRows), 0),
    windows: windows.map(({ uwi, fromMs, toMs }) => ({ uwi, from: isoOf(fromMs), to: isoOf(toMs) })),
  };
}
