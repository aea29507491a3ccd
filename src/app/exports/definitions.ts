/** Requests for lists of records and for wells: converts names and files to the checked parameters of a run. */
import type { Readable } from 'node:stream';
import { type DefinitionParams, describeList, wells } from '../../../jobs/definitions.ts';
import { counted } from '../../core/base/text.ts';
import { type KnownList, recordLists } from '../../core/definitions/record-list.ts';
import type { App } from '../app.ts';
import type { JobRequest } from '../runs/start-run.ts';
import { type InputNames, namesFor, type TargetInputKind, targetsFrom } from './target-input.ts';

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

/** An export of definitions, as every face offers it. */
export interface DefinitionExport {
  readonly name: DefinitionName;
  readonly job: string;
  readonly targets: TargetInputKind;
  /** The list of targets in the API and in schedules. */
  readonly member: NamesMember;
  /** What is read of so many targets. */
  title(targets: number): string;
  /** The targets in the warehouse. Makes no warehouse where there is none. */
  known(app: App): Promise<readonly string[]>;
}

export type DefinitionName = 'wells' | KnownList['name'];
export type NamesMember = 'wells' | KnownList['targets']['column'];

const wellsExport: DefinitionExport = {
  name: 'wells',
  job: wells.name,
  targets: { one: 'well', many: 'wells', column: 'well', setting: 'sourceWells' },
  member: 'wells',
  title: (targets) => `the bodies of ${counted(targets, 'well')}`,
  known: knownSourceIds,
};

function exportOf(list: KnownList): DefinitionExport {
  const { name, title, targets } = list;
  return {
    name,
    job: describeList(list).name,
    targets,
    member: targets.column,
    title: (count) => `${title} of ${counted(count, targets.one, targets.many)}`,
    known: async ({ warehouse }) => ((await warehouse.isStored()) ? warehouse.records(list).targets() : []),
  };
}

export const definitionExports: readonly DefinitionExport[] = [...recordLists.map(exportOf), wellsExport];

/** Throws an Error where there is none. */
export function definitionExport(is: (exported: DefinitionExport) => boolean): DefinitionExport {
  const found = definitionExports.find(is);
  if (found === undefined) throw new Error('there is no such export');
  return found;
}

export interface DefinitionRequest extends JobRequest {
  readonly params: DefinitionParams;
  readonly targets: readonly string[];
  /** The checked request, for an answer or a title. */
  readonly summary: {
    readonly title: string;
    /** Number of distinct targets. */
    readonly targets: number;
    /** Number of names given more than once. */
    readonly repeatedTargets: number;
  };
}

/**
 * Names in the input replace the configuration as a whole. `names`: of the members of the input in messages. Throws
 * UsageError if none is given, or a file cannot be read.
 */
export async function requestDefinitions(
  app: App,
  exported: DefinitionExport,
  { names, file, allowEmpty: mayBeEmpty, fromWarehouse, allowShrink = false }: DefinitionInput,
  context: { readonly stdin: Readable; readonly names?: InputNames<DefinitionInput> },
): Promise<DefinitionRequest> {
  const { targets: kind, job } = exported;
  const called = namesFor(['names', 'file', 'fromWarehouse'], { names: exported.member, ...context.names });
  const calledBy = { names: called.names, file: called.file, known: called.fromWarehouse };
  const known = fromWarehouse ? () => exported.known(app) : undefined;
  const settings = app.config.export;
  const targets = await targetsFrom(
    kind,
    { names, file, mayBeEmpty, known, calledBy },
    { names: settings[kind.setting], file: settings[`${kind.setting}File`] },
    context.stdin,
  );
  const count = targets.names.length;
  return {
    job,
    params: { allowShrink },
    targets: targets.names,
    summary: { title: exported.title(count), targets: count, repeatedTargets: targets.repeatedCount },
  };
}

/** The wells of the table of wells, and the wells with daily production as long as the uwi serves as the source id. */
async function knownSourceIds({ config, warehouse }: App): Promise<readonly string[]> {
  if (!(await warehouse.isStored())) return [];
  const ofWells = await warehouse.wells.known();
  const ofDailyProduction = config.wells.uwiField === undefined ? await warehouse.dailyProduction.uwis() : [];
  return [...ofWells.map(({ sourceId }) => sourceId), ...ofDailyProduction];
}
