/** Owns which wells a command means: from flags, from a CSV file with the column uwi, or from the configuration. */
import type { Readable } from 'node:stream';
import { UsageError } from '../core/errors.ts';
import { columnOf, readCsv, type CsvUse } from './csv-file.ts';

export interface Wells {
  /** Distinct, in the order in which they were named first. */
  readonly uwis: readonly string[];
  /** How many more times wells were named that were named before. */
  readonly repeatedCount: number;
}

export interface WellSources {
  readonly uwis: readonly string[];
  /** CSV; `-` is standard input. */
  readonly file: string | undefined;
}

/** Flags win over the configuration as a whole. Throws UsageError where nothing names a well, or a name is empty. */
export async function wellsFrom(flags: WellSources, configured: WellSources, stdin: Readable): Promise<Wells> {
  const sources = isNaming(flags) ? flags : configured;
  if (!isNaming(sources)) {
    throw new UsageError('no wells are named', {
      hint:
        'Name them by --uwi "15/9-F-1 C" (repeatable), by --wells FILE.csv with the column uwi, ' +
        'or by export.wells or export.wellsFile in the configuration.',
    });
  }
  const named = sources.uwis.map((uwi) => uwi.trim());
  if (named.includes('')) throw new UsageError('--uwi is empty', { hint: 'Give the well as --uwi "15/9-F-1 C".' });
  const read = sources.file === undefined ? [] : await readWells(sources.file, stdin);
  const uwis = [...new Set([...named, ...read])];
  return { uwis, repeatedCount: named.length + read.length - uwis.length };
}

function isNaming(sources: WellSources): boolean {
  return sources.uwis.length > 0 || sources.file !== undefined;
}

const use: CsvUse = {
  called: 'the wells file',
  pathHint: 'Check the path given by --wells or export.wellsFile.',
  headerHint: 'The first line must name the columns, one of them uwi, and every other line a well.',
};

async function readWells(file: string, stdin: Readable): Promise<readonly string[]> {
  return columnOf(await readCsv(file, stdin, use), 'uwi', use);
}
