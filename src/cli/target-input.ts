/** Owns which targets a command means: from flags, from a CSV file, from the warehouse, or from the configuration. */
import type { Readable } from 'node:stream';
import { UsageError } from '../core/errors.ts';
import { columnOf, readCsv, type CsvUse } from './csv-file.ts';

/** What kind of targets a command takes, and where an operator may name them. */
export interface TargetKind {
  readonly one: string;
  readonly many: string;
  /** Of the CSV file. */
  readonly column: string;
  readonly flag: string;
  readonly fileFlag: string;
  readonly setting: string;
  readonly fileSetting: string;
}

export const uwiKind: TargetKind = {
  one: 'well',
  many: 'wells',
  column: 'uwi',
  flag: '--uwi',
  fileFlag: '--wells',
  setting: 'export.wells',
  fileSetting: 'export.wellsFile',
};

export const sourceWellKind: TargetKind = {
  one: 'well',
  many: 'wells',
  column: 'well',
  flag: '--well',
  fileFlag: '--wells',
  setting: 'export.sourceWells',
  fileSetting: 'export.sourceWellsFile',
};

export const equipmentKind: TargetKind = {
  one: 'piece of equipment',
  many: 'pieces of equipment',
  column: 'equipment',
  flag: '--equipment',
  fileFlag: '--equipment-file',
  setting: 'export.equipment',
  fileSetting: 'export.equipmentFile',
};

export interface Targets {
  /** Distinct, in the order in which they were named first. */
  readonly names: readonly string[];
  /** How many more times targets were named that were named before. */
  readonly repeatedCount: number;
}

export interface TargetSources {
  readonly names: readonly string[];
  /** CSV; `-` is standard input. */
  readonly file: string | undefined;
  /** The targets that the warehouse knows, by name; asked last, once all else is in order. */
  readonly known?: (() => Promise<readonly string[]>) | undefined;
}

/** Flags win over the configuration as a whole. Throws UsageError where nothing names a target, or a name is empty. */
export async function targetsFrom(
  kind: TargetKind,
  flags: TargetSources,
  configured: TargetSources,
  stdin: Readable,
): Promise<Targets> {
  const sources = isNaming(flags) ? flags : configured;
  if (!isNaming(sources)) throw noTargets(kind);
  const named = sources.names.map((name) => name.trim());
  if (named.includes('')) {
    throw new UsageError(`${kind.flag} is empty`, { hint: `Give the ${kind.one} as ${kind.flag} "15/9-F-1 C".` });
  }
  const read = sources.file === undefined ? [] : await readTargets(kind, sources.file, stdin);
  const known = (await sources.known?.()) ?? [];
  const names = [...new Set([...named, ...read, ...known])];
  if (names.length === 0) {
    throw new UsageError(`the warehouse knows no ${kind.many} yet`, {
      hint: `Name them by ${kind.flag} or ${kind.fileFlag} once; then --from-warehouse has them.`,
    });
  }
  // That the warehouse knows a target that was named is no slip of the operator.
  const repeatedCount = named.length + read.length - new Set([...named, ...read]).size;
  return { names, repeatedCount };
}

function noTargets({ many, column, flag, fileFlag, setting, fileSetting }: TargetKind): UsageError {
  return new UsageError(`no ${many} are named`, {
    hint:
      `Name them by ${flag} "15/9-F-1 C" (repeatable), by ${fileFlag} FILE.csv with the column ${column}, ` +
      `by --from-warehouse, or by ${setting} or ${fileSetting} in the configuration.`,
  });
}

function isNaming({ names, file, known }: TargetSources): boolean {
  return names.length > 0 || file !== undefined || known !== undefined;
}

async function readTargets(kind: TargetKind, file: string, stdin: Readable): Promise<readonly string[]> {
  const { one, column, fileFlag, fileSetting } = kind;
  const use: CsvUse = {
    called: 'the file',
    pathHint: `Check the path given by ${fileFlag} or ${fileSetting}.`,
    headerHint: `The first line must name the columns, one of them ${column}, and every other line a ${one}.`,
    record: one,
  };
  return columnOf(await readCsv(file, stdin, use), column, use);
}
