/** The port to daily production, and a source of rows made by a test. */
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { dailyProductionSchema } from '../../service/contract.ts';
import { type DailyRow, type GivenRecord, rowFromText, type WellRow, WellRows } from './rows.ts';

/**
 * Wells by uwi with their rows. A source never changes: edits while the server runs are kept over it ({@link DailyStore}).
 */
export interface DailySource {
  readonly uwis: readonly string[];
  rowCount(uwi: string): number;
  /** Rows of a uwi of {@link uwis}; cheap to call again. */
  rows(uwi: string): WellRows;
}

/**
 * A source of the given rows, valid or not; `uwis` adds wells without rows. Throws TypeError for a record without a
 * uwi.
 */
export function givenDaily(records: Iterable<GivenRecord>, uwis: Iterable<string> = []): DailySource {
  const rows = Array.from(records, (record) => rowFromText(JSON.stringify(record)));
  return sourceOf(rows, uwis);
}

function sourceOf(rows: Iterable<WellRow>, uwis: Iterable<string> = []): DailySource {
  const wells = new Map(Array.from(uwis, (uwi) => [uwi, new WellRows([])]));
  for (const [uwi, ofWell] of grouped(rows, (row) => row.uwi))
    wells.set(uwi, new WellRows(ofWell.map(({ row }) => row)));
  const rowsOf = (uwi: string): WellRows => wells.get(uwi) ?? new WellRows([]);
  return { uwis: [...wells.keys()], rows: rowsOf, rowCount: (uwi) => rowsOf(uwi).count };
}

function grouped<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

// Daily production from an NDJSON file: one object per line, with `uwi` and the fields of DailyProduction.

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

function checkedRow(line: string, where: string): WellRow {
  const given = givenRow(line, where);
  const checked = dailyProductionSchema.safeParse(JSON.parse(given.row.text));
  if (!checked.success) throw new DailyFileError(`${where}: ${z.prettifyError(checked.error).replaceAll(/\s+/g, ' ')}`);
  return given;
}

function givenRow(line: string, where: string): WellRow {
  try {
    return rowFromText(line);
  } catch (error) {
    throw new DailyFileError(`${where}: ${reasonOf(error)}`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// The current daily production: its source, and the changes made while the server runs.

/** A row to insert or replace by its xid, or an xid to remove. */
export type DailyChange =
  | { readonly uwi: string; readonly row: DailyRow }
  | { readonly uwi: string; readonly remove: string };

export interface ChangeCounts {
  readonly upserted: number;
  readonly removed: number;
  readonly unknown: number;
}

/** A change as a JSON line: a record with its `uwi`, or `{"uwi":…,"remove":xid}`. Throws SyntaxError or TypeError. */
export function changeFromText(text: string): DailyChange {
  const change = JSON.parse(text) as Partial<Record<string, unknown>> | null;
  if (typeof change?.['uwi'] === 'string' && typeof change['remove'] === 'string') {
    return { uwi: change['uwi'], remove: change['remove'] };
  }
  return rowFromText(text);
}

export class DailyStore {
  readonly #source: DailySource;
  readonly #known: ReadonlySet<string>;
  readonly #changed = new Map<string, WellRows>();

  constructor(source: DailySource) {
    this.#source = source;
    this.#known = new Set(source.uwis);
  }

  uwis(): string[] {
    return [...new Set([...this.#known, ...this.#changed.keys()])];
  }

  rows(uwi: string): WellRows | undefined {
    return this.#changed.get(uwi) ?? (this.#known.has(uwi) ? this.#source.rows(uwi) : undefined);
  }

  rowCount(): number {
    return this.uwis().reduce((sum, uwi) => sum + (this.#changed.get(uwi)?.count ?? this.#source.rowCount(uwi)), 0);
  }

  /** Applies the changes in order. A row of an unknown well adds the well. */
  change(changes: readonly DailyChange[]): ChangeCounts {
    const counts = { upserted: 0, removed: 0, unknown: 0 };
    for (const [uwi, ofWell] of grouped(changes, (change) => change.uwi)) {
      const byXid = grouped(this.rows(uwi)?.rows() ?? [], (row) => row.xid);
      const untouched = counts.upserted + counts.removed;
      for (const change of ofWell) {
        if ('row' in change) {
          byXid.set(change.row.xid, [change.row]);
          counts.upserted += 1;
        } else if (byXid.delete(change.remove)) counts.removed += 1;
        else counts.unknown += 1;
      }
      if (counts.upserted + counts.removed > untouched)
        this.#changed.set(uwi, new WellRows([...byXid.values()].flat()));
    }
    return counts;
  }

  reset(): void {
    this.#changed.clear();
  }
}
