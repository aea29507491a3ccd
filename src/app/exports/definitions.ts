/** Requests for time series definitions and for wells: converts names and files to the checked parameters of a run. */
import type { Readable } from 'node:stream';
import { timeSeriesJobName, wellsJobName } from '../../../jobs/definitions/exports.ts';
import type { DefinitionParams } from '../../../jobs/definitions/job.ts';
import type { App } from '../app.ts';
import type { JobRequest } from '../runs/start-run.ts';
import {
  equipmentKind,
  type InputNames,
  namesFor,
  sourceWellKind,
  type TargetInputKind,
  targetsFrom,
  type TargetSources,
} from './target-input.ts';

export interface DefinitionInput {
  /** Source ids of equipment or of wells. */
  readonly names?: readonly string[] | undefined;
  /** Path of a CSV file with the column equipment, or well; `-` is `stdin`. */
  readonly file?: string | undefined;
  /** Whether the file may name none; EmptyListError tells it where nothing else names one. */
  readonly allowEmpty?: boolean | undefined;
  /** All targets in the warehouse. */
  readonly fromWarehouse?: boolean | undefined;
  readonly allowShrink?: boolean | undefined;
}

/** The checked request, for an answer or a title. */
export interface DefinitionsSummary {
  readonly kind: 'time-series' | 'wells';
  /** Number of distinct pieces of equipment, or wells. */
  readonly targets: number;
  /** Number of names given more than once. */
  readonly repeatedTargets: number;
}

export interface DefinitionContext {
  readonly stdin: Readable;
  /** Names of the members of the input in messages. */
  readonly names?: InputNames<DefinitionInput>;
}

export interface DefinitionRequest extends JobRequest {
  readonly params: DefinitionParams;
  readonly targets: readonly string[];
  readonly summary: DefinitionsSummary;
}

/**
 * Names in the input replace the configuration as a whole. Throws UsageError if none is given, or a file cannot be
 * read.
 */
export function requestTimeSeries(
  app: App,
  input: DefinitionInput,
  context: DefinitionContext,
): Promise<DefinitionRequest> {
  const { config, warehouse } = app;
  return definitionRequest(input, context, {
    kind: 'time-series',
    job: timeSeriesJobName,
    targetKind: equipmentKind,
    configured: { names: config.export.equipment, file: config.export.equipmentFile },
    known: async () => ((await warehouse.isStored()) ? warehouse.timeSeries.equipment() : []),
  });
}

/**
 * Names in the input replace the configuration as a whole. Throws UsageError if none is given, or a file cannot be
 * read.
 */
export function requestWells(app: App, input: DefinitionInput, context: DefinitionContext): Promise<DefinitionRequest> {
  const { config } = app;
  return definitionRequest(input, context, {
    kind: 'wells',
    job: wellsJobName,
    targetKind: sourceWellKind,
    configured: { names: config.export.sourceWells, file: config.export.sourceWellsFile },
    known: () => knownSourceIds(app),
  });
}

/** The wells of the table of wells, and the wells with daily production as long as the uwi serves as the source id. */
async function knownSourceIds({ config, warehouse }: App): Promise<readonly string[]> {
  if (!(await warehouse.isStored())) return [];
  const ofWells = await warehouse.wells.known();
  const ofDailyProduction = config.wells.uwiField === undefined ? await warehouse.dailyProduction.uwis() : [];
  return [...ofWells.map(({ sourceId }) => sourceId), ...ofDailyProduction];
}

async function definitionRequest(
  { names: targets, file, allowEmpty: mayBeEmpty, fromWarehouse, allowShrink = false }: DefinitionInput,
  { stdin, names: given }: DefinitionContext,
  of: {
    readonly kind: DefinitionsSummary['kind'];
    readonly job: string;
    readonly targetKind: TargetInputKind;
    readonly configured: TargetSources;
    /** Makes no warehouse where there is none. */
    readonly known: () => Promise<readonly string[]>;
  },
): Promise<DefinitionRequest> {
  const called = namesFor(['names', 'file', 'fromWarehouse'], given);
  const calledBy = { names: called.names, file: called.file, known: called.fromWarehouse };
  const sources = { names: targets, file, mayBeEmpty, known: fromWarehouse ? of.known : undefined, calledBy };
  const { names, repeatedCount } = await targetsFrom(of.targetKind, sources, of.configured, stdin);
  return {
    job: of.job,
    params: { allowShrink },
    targets: names,
    summary: { kind: of.kind, targets: names.length, repeatedTargets: repeatedCount },
  };
}
