/** Daily production from an NDJSON file: one object per line, with `uwi` and the fields of DailyProduction. */
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { dailyProductionSchema } from '../../service/contract.ts';
import { rowFromText, type WellRow } from './daily-row.ts';
import { type DailySource, sourceOf } from './daily-source.ts';

/** A file that cannot be served. The message names file, line and fault. */
export class DailyFileError extends Error {
  override readonly name: string = 'DailyFileError';
}

/**
 * Reads the file once. Every value is served as written. A missing `xid` is derived from uwi and date, always the same;
 * blank lines are skipped. Throws DailyFileError for the first line that is not a daily production record of a well,
 * and for a file without any.
 */
export async function loadDailyFile(path: string): Promise<DailySource> {
  const rows: WellRow[] = [];
  let lineNumber = 0;
  for await (const line of linesOf(path)) {
    lineNumber += 1;
    if (line.trim() !== '') rows.push(checkedRow(line, `${path}, line ${lineNumber}`));
  }
  if (rows.length === 0) throw new DailyFileError(`${path} holds no daily production record`);
  return sourceOf(rows);
}

async function* linesOf(path: string): AsyncGenerator<string> {
  try {
    await using file = await open(path);
    for await (const line of file.readLines()) yield line.replace(/^\uFEFF/, '');
  } catch (error) {
    throw new DailyFileError(`${path} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

function checkedRow(line: string, place: string): WellRow {
  const given = givenRow(line, place);
  const checked = dailyProductionSchema.safeParse(JSON.parse(given.row.text));
  if (!checked.success) throw new DailyFileError(`${place}: ${z.prettifyError(checked.error).replaceAll(/\s+/g, ' ')}`);
  return given;
}

function givenRow(line: string, place: string): WellRow {
  try {
    return rowFromText(line);
  } catch (error) {
    throw new DailyFileError(`${place}: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
