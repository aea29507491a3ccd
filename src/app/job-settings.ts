/** The settings of the jobs, from the configuration. */
import type { Config } from '../../config/schema.ts';
import type { CleanupSettings } from '../../jobs/cleanup/job.ts';
import type { ProducingSettings } from '../../jobs/cleanup/planner.ts';
import type { DailyProductionSettings, PluggedWells } from '../../jobs/daily-production/settings.ts';
import type { DefinitionSettings } from '../../jobs/definitions.ts';
import type { ShrinkSettings } from '../../jobs/exports.ts';
import { filesOfPush, networkPipesJobName } from '../../jobs/network-pipes/job.ts';
import type { createJobs } from '../../jobs/registry.ts';
import { checkNames } from '../core/checks/check.ts';
import type { SharedLocation } from '../core/run/run.ts';
import { instantOfDay } from '../core/time/production-day.ts';
import { HOUR_MS } from '../core/time/window.ts';
import { SharedFiles } from '../files/shared-files.ts';
import { databaseFileOf } from '../warehouse/create-warehouse.ts';
import type { WellChecks, WellField } from '../warehouse/port/wells.ts';
import type { Ledger } from '../warehouse/port/warehouse.ts';
import type { ChunkQueueName } from '../core/run/job-description.ts';
import { knownSecrets } from './service/service-settings.ts';
import { selectionsOf } from './cleanups/cleanup-targets.ts';
import { listedRuns } from './runs/find-runs.ts';
import { spoolFolderOf } from './pushes/pipes-source.ts';

export function jobSettings(config: Config): Parameters<typeof createJobs>[0] {
  return {
    dailyProduction: dailyProductionSettings(config),
    definitions: definitionSettings(config),
    networkPipes: networkPipesSettings(config),
    cleanup: cleanupSettings(config),
  };
}

/**
 * One more chunk of exports at a time: it is read while the rows of the others are committed. What all of them hold is
 * bounded together (G8).
 */
export function chunkConcurrencyOf({ worker: { chunkConcurrency } }: Config): (queue: ChunkQueueName) => number {
  return (queue) => (queue === 'export' ? chunkConcurrency + 1 : chunkConcurrency);
}

function definitionSettings(config: Config): DefinitionSettings {
  const { chunkWells: chunkTargets } = config.export;
  return { shrink: shrinkOf(config), chunkTargets, concurrency: config.service.concurrency };
}

function shrinkOf({ export: { shrink } }: Config): ShrinkSettings {
  const { maxSharePercent, maxRows, maxRowsPerRun } = shrink;
  return { maxShare: maxSharePercent / 100, maxRows, maxRowsPerRun };
}

/** Undefined if the configuration names no such field. */
function wellFieldOf(field: string | undefined, { wells: { uwiField } }: Config): WellField | undefined {
  return field === undefined ? undefined : { field, uwi: uwiField };
}

export function pluggedWellsOf(config: Config): PluggedWells {
  const { plugged, pluggedField, pluggedValues } = config.wells;
  const field = wellFieldOf(pluggedField, config);
  const values = new Set(pluggedValues.map((value) => value.toLowerCase()));
  return { uwis: new Set(plugged), ...(field === undefined ? {} : { byField: { field, values } }) };
}

/** Undefined where none is made. */
export function wellChecksOf({ checks, wells, timeZone }: Config): WellChecks | undefined {
  const off = new Set(checks.off);
  const names = checkNames.filter((name) => !off.has(name));
  if (!checks.enabled || names.length === 0) return undefined;
  const { uwiField: uwi, typeField: type, statusField: status, liftField: lift, timeZoneField } = wells;
  const { fullFlowHours, hoursTolerance, leastPressure, fewestDays, repeatDays, severity } = checks;
  const isNamed = [type, status, lift, timeZoneField].some((field) => field !== undefined);
  return {
    settings: {
      names,
      severity,
      timeZone,
      fullFlowHours,
      hoursTolerance,
      leastPressure,
      fewestDays,
      repeatDays,
      partial: {
        fromHours: checks.partialFromHours,
        medianDays: checks.medianDays,
        tolerance: checks.ratePercent / 100,
      },
      jump: {
        days: checks.jumpDays,
        settleDays: checks.jumpSettleDays,
        deviations: checks.jumpDeviations,
        leastShare: checks.jumpPercent / 100,
      },
      unitSlip: { days: checks.unitDays, tolerance: checks.unitPercent / 100, factors: checks.unitFactors },
    },
    facts: isNamed ? { uwi, type, status, lift, timeZone: timeZoneField } : undefined,
  };
}

export function dailyProductionSettings(config: Config): DailyProductionSettings {
  const { lookback, lookbackByWell, holeDays, rateBasis, nullable, chunkWells, chunkRows, batchRows, rowsInMemory } =
    config.export;
  return {
    timeZone: config.timeZone,
    historyFromMs: historyFromMs(config),
    lookback,
    lookbackByWell: new Map(Object.entries(lookbackByWell)),
    holeDays,
    rateBasis,
    nullable: new Set(nullable),
    shrink: shrinkOf(config),
    checks: wellChecksOf(config),
    restated: config.export.restated,
    remindAfterDays: config.alerts.remindAfterDays,
    zoneField: wellFieldOf(config.wells.timeZoneField, config),
    plugged: pluggedWellsOf(config),
    staleAfterDays: config.freshness.warnAfterDays,
    chunkWells,
    chunkRows: chunkRows ?? chunkRowsOf(config),
    batchRows,
    rowsInMemory,
    pageLimit: config.service.pageLimit,
    pageLimitGranted: config.service.pageLimitGranted,
    wellConcurrency: config.service.concurrency,
  };
}

/**
 * Expected rows of a chunk. A file takes one commit at a time, and the start of a chunk waits behind those of others: so chunks
 * are few. A server takes the commits of chunks side by side.
 */
function chunkRowsOf({ warehouse }: Config): number {
  return databaseFileOf(warehouse.url) === undefined ? 100_000 : 300_000;
}

function networkPipesSettings({ push: { chunkBytes, concurrency, checkpointMs } }: Config) {
  return { chunkBytes, concurrency, checkpointEveryMs: checkpointMs };
}

function cleanupSettings(config: Config): CleanupSettings {
  const { planMaxAgeHours, chunkTargets, maxTargets, maxShareOfWellsPercent } = config.cleanup;
  const { producingDays, uwiField } = producingOf(config);
  return {
    planMaxAgeMs: planMaxAgeHours * HOUR_MS,
    chunkTargets,
    concurrency: config.service.concurrency,
    caps: { maxTargets, maxShareOfWellsPercent },
    producingDays,
    uwiField,
    selections: selectionsOf(config),
  };
}

/** How a cleanup finds out which wells produce. */
export function producingOf({ cleanup, wells }: Config): ProducingSettings {
  return { producingDays: cleanup.refuseIfProducedWithinDays, uwiField: wells.uwiField };
}

/** The schema has checked the day already. */
export function historyFromMs(config: Config): number {
  return instantOfDay(config.export.historyFrom, config.timeZone) ?? 0;
}

// The files that several hosts share, by the configuration.

/** Undefined without files.url: files lie where they were pushed from. */
export function sharedFilesOf({ files, dataDir }: Config, ledger: Ledger): SharedFiles | undefined {
  const { url, endpoint, region, pathStyle } = files;
  if (url === undefined) return undefined;
  return new SharedFiles({
    open: async () => {
      const { openStore } = await import('../files/shared-files.ts');
      return openStore({ url, endpoint, region, pathStyle }, (secret) => knownSecrets.addToken(secret));
    },
    warehouseId: async () => (await ledger.ownership.read()).warehouseId,
    unfinishedLocations: () => unfinishedLocations(ledger),
    copiesFolder: spoolFolderOf({ dataDir }),
  });
}

async function unfinishedLocations({ runs }: Ledger): Promise<readonly SharedLocation[]> {
  const locations: SharedLocation[] = [];
  for await (const { runId } of listedRuns(runs, { job: networkPipesJobName, states: ['queued', 'running'] })) {
    const { shared: file } = filesOfPush((await runs.readHead(runId))?.params);
    if (file !== undefined) locations.push(file.place);
  }
  return locations;
}
