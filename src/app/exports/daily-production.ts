/** Requests for daily production: converts names and days of an operator to the checked parameters of a run. */
import path from 'node:path';
import type { Readable } from 'node:stream';
import { dailyProductionJobName, gapsJobName } from '../../../jobs/daily-production/job.ts';
import { planGaps, planWindows, slicesOf, windowSpecSchema } from '../../../jobs/daily-production/plan.ts';
import { pageRowsOf } from '../../../jobs/daily-production/profile.ts';
import type { DailyProductionParams } from '../../../jobs/daily-production/settings.ts';
import { wellSourceOf } from '../../core/alerts/run-observations.ts';
import { UsageError } from '../../core/base/errors.ts';
import { instantText } from '../../core/base/text.ts';
import { namedInstant } from '../../core/time/production-day.ts';
import { shownBaseUrl } from '../../service/settings.ts';
import type { Warehouse } from '../../warehouse/port/warehouse.ts';
import type { App } from '../app.ts';
import { dailyProductionSettings, historyFromMs } from '../job-settings.ts';
import type { JobRequest } from '../runs/start-run.ts';
import { type InputNames, namesFor, type SourceNames, type Targets, targetsFrom, uwiKind } from './target-input.ts';
import { tierText } from '../../core/daily/due-window.ts';
import type { PlannedUnit } from '../../core/run/run.ts';

export interface DailyProductionInput {
  readonly uwis?: readonly string[] | undefined;
  /** Path of a CSV file with the column uwi; `-` is `stdin`. */
  readonly wellsFile?: string | undefined;
  /** Whether the file may name no well; EmptyListError tells it where nothing else names one. */
  readonly allowEmpty?: boolean | undefined;
  /** All wells in the warehouse. */
  readonly fromWarehouse?: boolean | undefined;
  /** A day of the configured zone or an ISO date-time. */
  readonly from?: string | undefined;
  /** A day or date-time, exclusive. */
  readonly to?: string | undefined;
  /** Only days without any data in the warehouse. */
  readonly gaps?: boolean | undefined;
  /** Days that this run reads again below the watermark at least; the configured lookback may be deeper. */
  readonly lookbackDays?: number | undefined;
  readonly allowShrink?: boolean | undefined;
}

/** The checked request, for an answer or a title. */
export interface DailyProductionSummary extends BackfillBounds {
  readonly kind: 'daily-production' | 'gaps';
  readonly wells: number;
  /** Number of names given more than once. */
  readonly repeatedWells: number;
}

export interface DailyProductionRequest extends JobRequest {
  readonly params: DailyProductionParams;
  readonly targets: readonly string[];
  readonly summary: DailyProductionSummary;
}

/**
 * `names`: names of the members of the input in messages. Names in the input replace those of the configuration
 * (export.wells, export.wellsFile) as a whole. Throws UsageError for an impossible day, for a file that cannot be read,
 * for a lookback of a backfill, and if no well
 * is named.
 */
export async function requestDailyProduction(
  app: App,
  input: DailyProductionInput,
  context: {
    readonly stdin: Readable;
    readonly nowMs: number;
    readonly names?: InputNames<DailyProductionInput>;
    /** Name of the schedule that requests it. */
    readonly schedule?: string;
  },
): Promise<DailyProductionRequest> {
  const { config } = app;
  const { from, to, gaps = false, lookbackDays, allowShrink = false } = input;
  const { stdin, nowMs, schedule } = context;
  const names = namesFor(['uwis', 'wellsFile', 'fromWarehouse', 'from', 'to', 'gaps', 'lookbackDays'], context.names);
  refuseLookbackOfBackfill(input, names);
  const { timeZone } = config;
  const bounds = backfillBounds({ from, to, timeZone, earliestMs: historyFromMs(config), nowMs, names });
  const calledBy = { names: names.uwis, file: names.wellsFile, known: names.fromWarehouse };
  const wells = await wellsOf(app, input, calledBy, stdin);
  const source = sourceOf(input, config, schedule);
  return {
    job: gaps ? gapsJobName : dailyProductionJobName,
    params: {
      nowMs,
      ...bounds,
      ...(lookbackDays === undefined ? {} : { lookbackDays }),
      allowShrink,
      ...(source === undefined ? {} : { source }),
    },
    targets: wells.names,
    summary: {
      kind: gaps ? 'gaps' : 'daily-production',
      wells: wells.names.length,
      repeatedWells: wells.repeatedCount,
      ...bounds,
    },
  };
}

/**
 * The windows that a run of the request would read. Uses only the warehouse, neither Redis nor the service. Throws
 * UsageError if the warehouse belongs to another service than the configured one: its watermarks are not of that one
 * (G11).
 */
export async function planDailyProduction(
  app: App,
  { job, params, targets }: DailyProductionRequest,
): Promise<ExportPlan> {
  const { config, warehouse, ledger } = app;
  const { url, pageLimit } = config.service;
  if (url !== undefined && (await warehouse.isStored())) await app.checkService();
  const planned = job === gapsJobName ? planGaps : planWindows;
  const pageRows = url === undefined ? pageLimit : await pageRowsOf(shownBaseUrl(url), pageLimit, { ledger });
  const context = { warehouse, pageRows };
  return exportPlan(job, await planned(params, slicesOf(targets), dailyProductionSettings(config), context));
}

/** A lookback is below the watermark, which only an incremental run has. */
function refuseLookbackOfBackfill(
  { from, to, gaps, lookbackDays }: DailyProductionInput,
  names: Readonly<Record<'from' | 'to' | 'gaps' | 'lookbackDays', string>>,
): void {
  if (lookbackDays === undefined) return;
  const other = gaps ? names.gaps : from !== undefined ? names.from : to !== undefined ? names.to : undefined;
  if (other !== undefined) throw new UsageError(`${names.lookbackDays} and ${other} exclude each other`);
}

function wellsOf(
  { config, warehouse }: App,
  input: DailyProductionInput,
  calledBy: SourceNames,
  stdin: Readable,
): Promise<Targets> {
  const { uwis, wellsFile: file, fromWarehouse, allowEmpty: mayBeEmpty } = input;
  const known = fromWarehouse ? () => knownUwis(warehouse, config.wells.uwiField) : undefined;
  const configured = { names: config.export.wells, file: config.export.wellsFile };
  return targetsFrom(uwiKind, { names: uwis, file, mayBeEmpty, known, calledBy }, configured, stdin);
}

/** Undefined for a run over some days or named wells alone. */
function sourceOf(
  { uwis, wellsFile, fromWarehouse: isFromWarehouse = false, from, to, gaps = false }: DailyProductionInput,
  config: App['config'],
  schedule: string | undefined,
): string | undefined {
  if (gaps || from !== undefined || to !== undefined) return undefined;
  const isNamed = uwis !== undefined || wellsFile !== undefined;
  // Beside a list in the configuration its file is a part of the configured wells.
  const file = isNamed || config.export.wells.length > 0 ? wellsFile : config.export.wellsFile;
  return wellSourceOf({
    isFromWarehouse,
    schedule,
    isNamedEach: uwis !== undefined,
    file: file === undefined || file === '-' ? file : path.resolve(file),
  });
}

/** The wells that were read before, and those of the table of wells. Makes no warehouse where there is none. */
async function knownUwis(warehouse: Warehouse, uwiField: string | undefined): Promise<readonly string[]> {
  if (!(await warehouse.isStored())) return [];
  const { dailyProduction, wells } = warehouse;
  const ofWells = await wells.known(uwiField);
  return [...(await dailyProduction.uwis()), ...ofWells.map(({ uwi }) => uwi)];
}

/** Bounds of a backfill, from the days of an operator. Pure; the clock is an argument. */
export interface BackfillBounds {
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

/** Parses days or ISO date-times. Throws UsageError for bounds that can only be a mistake. */
export function backfillBounds(options: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly timeZone: string;
  readonly earliestMs: number;
  readonly nowMs: number;
  /** Names of the bounds in messages. */
  readonly names: Readonly<Record<'from' | 'to', string>>;
}): BackfillBounds {
  const { timeZone, earliestMs, nowMs, names } = options;
  const fromMs = options.from === undefined ? undefined : namedInstant(names.from, options.from, timeZone);
  const toMs = options.to === undefined ? undefined : namedInstant(names.to, options.to, timeZone);
  if (fromMs !== undefined && fromMs >= nowMs) {
    throw new UsageError(`${names.from} ${options.from} is in the future`, {
      hint: `It is ${instantText(nowMs)} now.`,
    });
  }
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    throw new UsageError(`${names.from} ${options.from} is not before ${names.to} ${options.to}`, {
      hint: oneDayHint(names),
    });
  }
  if (fromMs === undefined && toMs !== undefined && toMs <= earliestMs) {
    throw new UsageError(`${names.to} ${options.to} is not after the start of history`, {
      hint: `Set ${names.from} as well, or export.historyFrom in the configuration.`,
    });
  }
  return { ...(fromMs === undefined ? {} : { fromMs }), ...(toMs === undefined ? {} : { toMs }) };
}

export function oneDayHint({ from, to }: Readonly<Record<'from' | 'to', string>>): string {
  return `${to} is the first day that is left out: one day is ${from} 2024-03-01 ${to} 2024-03-02.`;
}

// The plan of an export, for a dry run.

/** The JSON of a dry run. */
export interface ExportPlan {
  readonly job: string;
  readonly windows: readonly PlannedWindow[];
}

export interface PlannedWindow {
  readonly uwi: string;
  /** ISO instants; `to` is exclusive. */
  readonly from: string;
  readonly to: string;
  readonly mode: 'incremental' | 'backfill';
  /** Text of the lookback of an incremental window; null for a well that was never read, and for a backfill. */
  readonly lookback: string | null;
  /** What an incremental window begins by, if not by the watermark: the last row of the well, or a hole. */
  readonly reach: 'last-day' | 'hole' | null;
  /** Whether the read has to be verified, or the word of the service's profile may end it. */
  readonly isVerified: boolean;
  /** Number of the queue item that would hold it, from 0. */
  readonly chunk: number;
}

/** `units` as the jobs of daily production plan them. */
function exportPlan(job: string, units: readonly PlannedUnit[]): ExportPlan {
  return { job, windows: units.map(windowOf) };
}

function windowOf({ target, chunk, spec }: PlannedUnit): PlannedWindow {
  const { fromMs, toMs, mode, lookback, reach, end } = windowSpecSchema.parse(spec);
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return {
    uwi: target,
    from,
    to,
    mode,
    lookback: lookback === undefined ? null : tierText(lookback),
    reach: reach === 'last-day' || reach === 'hole' ? reach : null,
    isVerified: end === undefined || end === 'proof',
    chunk,
  };
}
