/**
 * The windows and rows of a batch in temporary tables of the merge's transaction, which end with it: a pooler may give the
 * connection to another client then.
 *
 *   merge_window   the windows of known wells, by number; `is_stored`: rows are stored in a window of its well
 *   staged_row     their rows, numbered
 */
import type { Noticed, WellWindow } from '../../sql/daily/daily-tables.ts';
import { jsonText } from '../../sql/session.ts';
import { declared, named } from '../../sql/daily/row-fields.ts';
import { serviceColumns } from '../schema.ts';
import type { PostgresSession } from '../server/postgres-session.ts';
import { type CopiedWindow, copiedRows } from './row-copy.ts';

/** A batch is compared again without the windows that have to be read again. */
const dropped = 'DROP TABLE IF EXISTS pg_temp.merge_window, pg_temp.staged_row, pg_temp.compared';

const mergeWindow = `CREATE TEMP TABLE merge_window (window_no INTEGER, well_id INTEGER, uwi TEXT COLLATE "C",
  from_at TIMESTAMPTZ, to_at TIMESTAMPTZ, is_verified BOOLEAN, is_stored BOOLEAN) ON COMMIT DROP`;

const dayMs = 86_400_000;

/**
 * SQL of an instant that JSON holds as milliseconds since 1970. A product with an interval is one of doubles, which hold the
 * microseconds of a day, and not those of all years.
 */
export function instant(name: string): string {
  return `timestamptz 'epoch' + (${name} / ${dayMs}) * interval '1 day' + (${name} % ${dayMs}) * interval '1 millisecond'`;
}

/**
 * All windows of a well count as stored if one of them is: a row may have moved from one to another. The window of each
 * probe is a condition with constants for the planner, which knows nothing of the rows of a list.
 */
const windows = `
  INSERT INTO merge_window
    SELECT window_no, well_id, uwi, ${instant('from_ms')}, ${instant('to_ms')}, is_verified,
      EXISTS (SELECT 1 FROM internal.daily_production d WHERE d.well_id = w.well_id
        AND d.date >= ${instant('first_ms')} AND d.date < ${instant('last_ms')})
    FROM (
      SELECT *, min(from_ms) OVER (PARTITION BY well_id) AS first_ms, max(to_ms) OVER (PARTITION BY well_id) AS last_ms
      FROM json_to_recordset($1) AS read (window_no INTEGER, well_id INTEGER, uwi TEXT, from_ms BIGINT, to_ms BIGINT,
        is_verified BOOLEAN)) w
  RETURNING window_no AS "windowNo", is_stored AS "isStored"`;

/** Its fields stand in the order of {@link stagedRow}. */
const stagedRow = `CREATE TEMP TABLE staged_row
  (window_no INTEGER, row_no INTEGER, well_id INTEGER, ${declared(serviceColumns)}) ON COMMIT DROP`;

/** Returns the numbers of the windows of whose well something is stored in the batch's windows. */
export async function stageWindows(
  session: PostgresSession,
  batch: readonly WellWindow[],
): Promise<ReadonlySet<number>> {
  await session.run(dropped);
  await session.run(mergeWindow);
  const probed = await session.rows<{ windowNo: number; isStored: boolean }>(windows, [jsonText(windowRows(batch))]);
  await session.run(stagedRow);
  await session.copy(`COPY staged_row FROM STDIN (FORMAT binary)`, copiedRows(stagedWindows(batch)));
  return new Set(probed.flatMap(({ windowNo, isStored }) => (isStored ? [windowNo] : [])));
}

function windowRows(batch: readonly WellWindow[]): readonly object[] {
  return batch.flatMap(({ wellId, uwi, window, isNew, isVerified }, index) => {
    const own = { from_ms: window.fromMs, to_ms: window.toMs, is_verified: isVerified };
    return isNew ? [] : [{ window_no: index, well_id: wellId, uwi, ...own }];
  });
}

function* stagedWindows(batch: readonly WellWindow[]): Generator<CopiedWindow> {
  for (const [index, { wellId, isNew, rows }] of batch.entries()) {
    if (!isNew) yield { rows, before: [{ int4: index }, 'rowNumber', { int4: wellId }], after: [] };
  }
}

/** Adds the rows of wells of which nothing is stored: they need no comparison. */
export async function copyNewRows(
  session: PostgresSession,
  batch: readonly WellWindow[],
  { runId, atMs }: Noticed,
): Promise<void> {
  const after = [{ text: runId }, { text: runId }, { timestamptzMs: atMs }];
  const rowsOf = batch.flatMap(({ wellId, isNew, rows }): readonly CopiedWindow[] =>
    isNew ? [{ rows, before: [{ int4: wellId }], after }] : [],
  );
  const columns = `well_id, ${named(serviceColumns)}, inserted_run_id, changed_run_id, changed_at`;
  await session.copy(`COPY internal.daily_production (${columns}) FROM STDIN (FORMAT binary)`, copiedRows(rowsOf));
}
