/** The days of which a commit has changed rows. */
import type { DayRange } from '../../../core/checks/evaluate.ts';
import { ended } from '../daily/comparison.ts';
import type { CountedWindow, DailyTables } from '../daily/daily-tables.ts';
import { numberOfDay } from '../session.ts';

/** A well and the days of which rows changed. */
export interface TouchedWell extends DayRange {
  readonly wellId: number;
  readonly uwi: string;
  /** Of these days, where that is known; else one for each. */
  readonly rows?: number;
}

/** By what the comparison of the batch found (../daily/comparison.ts): from the first changed day of a well to its last. */
const changedRange = `
  SELECT well_id AS "wellId", min(${numberOfDay('day')}) AS "fromDay", max(${numberOfDay('day')}) AS "toDay"
  FROM (SELECT well_id, production_day AS day FROM compared WHERE change IN ('fresh', 'updated', 'replaced', 'successor')
    UNION ALL SELECT well_id, stored_day FROM compared WHERE change IN ${ended}) changed
  WHERE day IS NOT NULL GROUP BY well_id`;

/** Of the wells of which something was stored before. Nothing changed costs no statement. */
export async function touchedWells(
  { session }: DailyTables,
  windows: readonly CountedWindow[],
): Promise<readonly TouchedWell[]> {
  const known = windows.filter(({ isNew }) => !isNew);
  if (!known.some(({ inserted, updated, removed }) => inserted + updated + removed > 0)) return [];
  const touched = new Map<number, DayRange>();
  const touch = (wellId: number, fromDay: number, toDay: number): void => {
    const before = touched.get(wellId) ?? { fromDay, toDay };
    touched.set(wellId, { fromDay: Math.min(before.fromDay, fromDay), toDay: Math.max(before.toDay, toDay) });
  };
  for (const { wellId, fromDay, toDay } of await session.rows<DayRange & { readonly wellId: number }>(changedRange)) {
    touch(wellId, fromDay, toDay);
  }
  // Rows of a window of which nothing was stored are in no comparison, but for those that moved into it.
  for (const { wellId, rows, inserted, updated } of known) {
    if (inserted + updated !== rows.length) continue;
    for (const day of rows.days) touch(wellId, day, day);
  }
  const uwis = new Map(known.map(({ wellId, uwi }) => [wellId, uwi]));
  return [...touched].flatMap(([wellId, range]) => {
    const uwi = uwis.get(wellId);
    return uwi === undefined ? [] : [{ wellId, uwi, ...range }];
  });
}
