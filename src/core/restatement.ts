/** Decides what was restated between two versions of a row: which fields, and what they said before and say since (DESIGN.md section 4.1). */
import { measureFields, type Measure } from './daily-production.ts';

/** A row as the warehouse had it for some time. */
export interface RowVersion {
  readonly xid: string;
  /** The instant, ISO text. */
  readonly date: string;
  /** YYYY-MM-DD. */
  readonly day: string;
  /** By position, as in a DailyProductionRow. */
  readonly measures: readonly Measure[];
  readonly extras: string | null;
}

/**
 * `updated`: the same record says something else. `replaced`: the record has a new xid, and may say something else too.
 * `removed`: the service has it no more.
 */
export type Change = 'updated' | 'replaced' | 'removed';

/** A version that ended, and the one that came in its place. */
export interface RestatedVersion {
  readonly uwi: string;
  readonly change: Change;
  readonly runId: string;
  /** When the run noticed it, ISO text. */
  readonly noticedAt: string;
  readonly old: RowVersion;
  /** Undefined where the row was removed. */
  readonly next: RowVersion | undefined;
}

/** One field that was restated. */
export interface Restatement {
  /** The day of the old version. */
  readonly day: string;
  readonly uwi: string;
  readonly change: Change;
  /** A column of daily_production; null where the whole row went. */
  readonly field: string | null;
  readonly old: Measure;
  readonly new: Measure;
  readonly runId: string;
  readonly noticedAt: string;
}

type Field = readonly [name: string, of: (version: RowVersion) => Measure];

/** Every column that a version may differ in, in the order of the table. */
const fields: readonly Field[] = [
  ['xid', ({ xid }) => xid],
  ['date', ({ date }) => date],
  ['production_day', ({ day }) => day],
  ...measureFields.map(({ column }, position): Field => [column, ({ measures }) => measures[position] ?? null]),
  ['extras', ({ extras }) => extras],
];

/** One for each field that differs, in the order of the table; a single one for a row that was removed. */
export function restatementsOf({ uwi, change, runId, noticedAt, old, next }: RestatedVersion): readonly Restatement[] {
  const where = { day: old.day, uwi, change };
  const when = { runId, noticedAt };
  if (next === undefined) return [{ ...where, field: null, old: null, new: null, ...when }];
  return fields.flatMap(([field, of]) =>
    of(old) === of(next) ? [] : [{ ...where, field, old: of(old), new: of(next), ...when }],
  );
}
