/** Targets of a request: by name, from a CSV file, from the warehouse, or from the configuration. */
import type { Readable } from 'node:stream';
import { UsageError } from '../../core/base/errors.ts';
import type { KnownList } from '../../core/definitions/record-list.ts';
import { columnOf, type CsvUse, EmptyListError, readCsv } from './csv-list.ts';

/** A kind of targets, with its settings in the configuration. */
export interface TargetInputKind {
  readonly one: string;
  readonly many: string;
  /** Column of the CSV file. */
  readonly column: string;
  /** Below `export`; with `File` appended, that of the CSV file. */
  readonly setting: 'wells' | 'sourceWells' | KnownList['targets']['setting'];
}

export const uwiKind: TargetInputKind = { one: 'well', many: 'wells', column: 'uwi', setting: 'wells' };

/** Names in messages: of the list of targets, of the file, and of the option for all targets in the warehouse. */
export interface SourceNames {
  readonly names: string;
  readonly file: string;
  readonly known: string;
}

export interface Targets {
  /** Distinct, in the order of first mention. */
  readonly names: readonly string[];
  /** Number of names that repeat an earlier one. */
  readonly repeatedCount: number;
}

export interface TargetSources {
  /** Undefined where no list is given, which differs from an empty one. */
  readonly names: readonly string[] | undefined;
  /** CSV; `-` is standard input. */
  readonly file: string | undefined;
  /** Whether the file may hold its header alone, where something else names targets. */
  readonly mayBeEmpty?: boolean | undefined;
  /** Reads the targets in the warehouse, by name; called last, when the rest of the request is valid. */
  readonly known?: (() => Promise<readonly string[]>) | undefined;
}

/**
 * Given names replace the configuration as a whole. Throws NoTargetError for a list that is given and empty, whatever
 * else names targets, and UsageError if nothing names a target, or a name is empty.
 */
export async function targetsFrom(
  kind: TargetInputKind,
  given: TargetSources & { readonly calledBy: SourceNames },
  configured: TargetSources,
  stdin: Readable,
): Promise<Targets> {
  const { calledBy } = given;
  refuseEmpty(given.names, calledBy.names);
  const sources = isNaming(given) ? given : configured;
  if (!isNaming(sources)) throw noTargets(kind, calledBy);
  const called = { ...calledBy, file: `${calledBy.file} or export.${kind.setting}File` };
  const named = await namesOf(kind, sources, called, stdin);
  const known = (await sources.known?.()) ?? [];
  const names = [...new Set([...named, ...known])];
  if (names.length === 0) {
    throw new UsageError(`the warehouse knows no ${kind.many} yet`, {
      hint: `Name them by ${calledBy.names} or ${calledBy.file} once; then ${calledBy.known} has them.`,
    });
  }
  // A target that is also in the warehouse is not a repeated name.
  const repeatedCount = named.length - new Set(named).size;
  return { names, repeatedCount };
}

/**
 * Every given name, trimmed, with repetitions: first the listed ones, then those of the file. Throws UsageError if a
 * name is empty or the file cannot be read, EmptyListError if the file names none.
 */
export async function namesOf(
  kind: Pick<TargetInputKind, 'one' | 'column'>,
  { names = [], file, known, mayBeEmpty = false }: TargetSources,
  calledBy: Pick<SourceNames, 'names' | 'file'>,
  stdin: Readable,
): Promise<readonly string[]> {
  const named = names.map((name) => name.trim());
  if (named.includes('')) {
    const { names: called } = calledBy;
    throw new UsageError(`${called} is empty`, { hint: `Give the ${kind.one} as ${called} "15/9-F-1 C".` });
  }
  if (file === undefined) return named;
  try {
    return [...named, ...(await readNames(kind, file, calledBy.file, stdin))];
  } catch (error) {
    const isNamedOtherwise = named.length > 0 || known !== undefined;
    if (error instanceof EmptyListError && mayBeEmpty && isNamedOtherwise) return named;
    throw error;
  }
}

function noTargets({ many, column, setting }: TargetInputKind, calledBy: SourceNames): UsageError {
  return new UsageError(`no ${many} are named`, {
    hint:
      `Name them by ${calledBy.names} "15/9-F-1 C" (repeatable), by ${calledBy.file} FILE.csv with the column ${column}, ` +
      `by ${calledBy.known}, or by export.${setting} or export.${setting}File in the configuration.`,
  });
}

function isNaming({ names = [], file, known }: TargetSources): boolean {
  return names.length > 0 || file !== undefined || known !== undefined;
}

async function readNames(
  { one, column }: Pick<TargetInputKind, 'one' | 'column'>,
  file: string,
  givenBy: string,
  stdin: Readable,
): Promise<readonly string[]> {
  const use: CsvUse = {
    called: 'the file',
    pathHint: `Check the path given by ${givenBy}.`,
    headerHint: `The first line must name the columns, one of them ${column}, and every other line a value of it.`,
    record: one,
    columns: [column],
  };
  return columnOf(await readCsv(file, stdin, use), column, use);
}

/** A list that was given, and is empty: 422 of the HTTP API, wrong use of a command. */
export class NoTargetError extends UsageError {
  override readonly name = 'NoTargetError';
}

/** Throws NoTargetError for a list without a name; one that is not given at all is another matter. */
export function refuseEmpty(list: readonly unknown[] | undefined, calledBy: string): void {
  if (list === undefined || list.length > 0) return;
  throw new NoTargetError(`${calledBy} is an empty list: it names nothing, and never all`, {
    hint: `Nothing was started. Name at least one, or leave ${calledBy} out.`,
  });
}

/**
 * Names of an input's members in the messages of a face: `--from` on the command line. An absent member goes by its own
 * name.
 */
export type InputNames<Input> = Readonly<Partial<Record<keyof Input, string>>>;

/** The name of every member in the messages of a face. */
export function namesFor<Member extends string>(
  members: readonly Member[],
  given?: Readonly<Partial<Record<Member, string>>>,
): Readonly<Record<Member, string>> {
  const names = members.map((member) => [member, given?.[member] ?? member]);
  return Object.fromEntries(names) as Readonly<Record<Member, string>>;
}
