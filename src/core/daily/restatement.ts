/** The fields that differ between two versions of a row, with old and new values (docs/design.md section 4.1). */
import { measureFields, type Measure } from './row.ts';

/** A row as the warehouse held it during some period. */
export interface RowVersion {
  readonly xid: string;
  /** Instant of the row, ISO 8601 text. */
  readonly date: string;
  /** YYYY-MM-DD. */
  readonly day: string;
  /** One value for each of `measureFields`, in that order. */
  readonly measures: readonly Measure[];
  readonly extras: string | null;
}

/**
 * `updated`: the record has other values. `replaced`: the record has a new xid, and may have other values too.
 * `removed`: the service no longer has the record.
 */
export type Change = 'updated' | 'replaced' | 'removed';

/** A superseded version of a row, and the version that replaced it. */
export interface RestatedVersion {
  readonly uwi: string;
  readonly change: Change;
  readonly runId: string;
  /** When the run noticed the change, ISO 8601 text. */
  readonly noticedAt: string;
  readonly old: RowVersion;
  /** Undefined when the row was removed. */
  readonly next: RowVersion | undefined;
}

/** One restated field of one row. */
export interface Restatement {
  /** Production day of the old version, YYYY-MM-DD. */
  readonly day: string;
  readonly uwi: string;
  readonly change: Change;
  /** Column of daily_production; null when the whole row was removed. */
  readonly field: string | null;
  readonly old: Measure;
  readonly new: Measure;
  readonly runId: string;
  readonly noticedAt: string;
}

type Field = readonly [name: string, of: (version: RowVersion) => Measure];

/** Every column in which two versions may differ, in the order of the table. */
const fields: readonly Field[] = [
  ['xid', ({ xid }) => xid],
  ['date', ({ date }) => date],
  ['production_day', ({ day }) => day],
  ...measureFields.map(({ column }, position): Field => [column, ({ measures }) => measures[position] ?? null]),
  ['extras', ({ extras }) => extras],
];

/**
 * One restatement for each field that differs, in the order of the table; a single one, without a field, for a removed
 * row.
 */
export function restatementsOf({ uwi, change, runId, noticedAt, old, next }: RestatedVersion): readonly Restatement[] {
  const where = { day: old.day, uwi, change };
  const when = { runId, noticedAt };
  if (next === undefined) return [{ ...where, field: null, old: null, new: null, ...when }];
  return fields.flatMap(([field, of]) =>
    of(old) === of(next) ? [] : [{ ...where, field, old: of(old), new: of(next), ...when }],
  );
}
