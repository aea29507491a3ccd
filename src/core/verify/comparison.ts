/**
 * Compares the verified read of one window of a well with the rows that the warehouse has of it, as the merge of an export
 * would (src/warehouse/sql/daily/daily-tables.ts): what is the same, would be changed, added or removed. Pure; the stored rows
 * come one by one, so that few are in memory (G8).
 */
import { shortened } from '../base/text.ts';
import type { DayInterval } from '../daily/coverage.ts';
import type { ReadingCounts } from '../daily/reading.ts';
import type { RowColumns } from '../daily/row-columns.ts';
import { type Measure, measureFields, type QuarantinedRecord, xidText } from '../daily/row.ts';
import { dayNumber, dayText } from '../time/production-day.ts';
import { DAY_MS } from '../time/window.ts';
import {
  type Backfill,
  type Difference,
  type DifferenceKind,
  type DifferingDays,
  mostOfUnit,
  type ReportedDifferences,
  type RunFindings,
  type UnitFinding,
} from './difference.ts';

/** A row of the warehouse. */
export interface StoredRecord {
  readonly xid: string;
  /** Milliseconds since 1970. */
  readonly instantMs: number;
  /** The production day as a day number; null where the zone of the row was not known. */
  readonly day: number | null;
  /** One value for each of `measureFields`, in that order. */
  readonly measures: readonly Measure[];
  readonly extras: string | null;
}

/** A record that breaks the contract, and whether its content stands in quarantine here, or was accepted by a person. */
export interface BrokenRecord extends Pick<QuarantinedRecord, 'xid' | 'day' | 'reason'> {
  readonly standing: 'quarantined' | 'accepted' | undefined;
}

/** What the warehouse knew of a well when its read began. Days are day numbers. */
export interface ReadSoFar {
  /** The day of its watermark, which was not over then; undefined for a well that no incremental run has read. */
  readonly watermarkDay: number | undefined;
  /** Days that were read or have a row, whatever the watermark. */
  readonly knownDays: readonly DayInterval[];
}

/** What was read. A read of a well that the service does not know has no record. */
export interface VerifiedRead {
  readonly uwi: string;
  readonly rows: RowColumns;
  readonly broken: readonly BrokenRecord[];
  readonly counts: Pick<ReadingCounts, 'read' | 'repeated' | 'outsideWindow'>;
  /** The service answered 404. */
  readonly isUnknown: boolean;
}

/**
 * Of the records of the service: read = same + differing + missingHere + notYetRead + repeated + outsideWindow + quarantined +
 * accepted. Of the stored rows: stored = same + differing + missingThere + held + standing, but for rows that moved into the
 * window, which are differing and not stored in it.
 */
export interface ComparisonCounts {
  readonly read: number;
  readonly same: number;
  /** Same record, other values; a stored row of the day with another xid; a row that is stored outside the window. */
  readonly differing: number;
  readonly missingHere: number;
  /** Of days that were not over when the well was last read, or that nobody has read: no difference. */
  readonly notYetRead: number;
  readonly repeated: number;
  readonly outsideWindow: number;
  readonly quarantined: number;
  readonly accepted: number;
  readonly stored: number;
  readonly missingThere: number;
  /** Missing there, in a month of which rows are held. */
  readonly held: number;
  /** Stored, and the service has a record that breaks the contract in their stead. */
  readonly standing: number;
}

export interface ComparedWindow {
  readonly counts: ComparisonCounts;
  /** Undefined where nothing differs. */
  readonly finding: UnitFinding | undefined;
}

/** What a warehouse keeps of a text and of JSON: an engine may hold no U+0000. */
export interface StoredForms {
  readonly text: (text: string) => string;
  readonly json: (json: string) => string;
}

/** The fields by which records differ that are no measures. */
const dateField = 'date';
const dayField = 'production_day';
const extrasField = 'extras';

type GoneRow = Pick<StoredRecord, 'xid' | 'instantMs' | 'day'>;

export class WindowComparison {
  readonly #read: VerifiedRead;
  readonly #measures: RowColumns['measures'];
  /** The rows that were read and that no stored one has matched yet, by xid. */
  readonly #fresh = new Map<string, number>();
  readonly #gone: GoneRow[] = [];
  readonly #differences: Difference[] = [];
  #days: DifferingDays | undefined;
  #same = 0;
  #differing = 0;
  #stored = 0;
  readonly #dayOf: (instantMs: number) => number;
  readonly #forms: StoredForms;

  /** `dayOf`: the day number of an instant in the zone in which a backfill names its days. */
  constructor(read: VerifiedRead, dayOf: (instantMs: number) => number, forms: StoredForms) {
    this.#forms = forms;
    this.#read = read;
    this.#measures = read.rows.measures;
    this.#dayOf = dayOf;
    for (let row = 0; row < read.rows.length; row += 1) this.#fresh.set(xidText(read.rows.xids, row), row);
  }

  /** To be called for each stored row of the window, in any order. */
  addStored(stored: StoredRecord): void {
    this.#stored += 1;
    if (!this.#match(stored)) this.#gone.push({ xid: stored.xid, instantMs: stored.instantMs, day: stored.day });
  }

  /** Records that are not stored in the window; complete once all of its rows were added. */
  get unmatchedXids(): readonly string[] {
    return [...this.#fresh.keys()];
  }

  /** To be called for each row of the well with one of {@link unmatchedXids}: the record has moved in time. */
  addMoved(stored: StoredRecord): void {
    this.#match(stored);
  }

  #match(stored: StoredRecord): boolean {
    const row = this.#fresh.get(stored.xid);
    if (row === undefined) return false;
    this.#fresh.delete(stored.xid);
    const fields = this.#fieldsThatDiffer(row, stored);
    if (fields.length === 0) {
      this.#same += 1;
      return true;
    }
    this.#differing += 1;
    const instantMs = this.#read.rows.instantsMs[row] ?? stored.instantMs;
    this.#spread(stored.instantMs, instantMs);
    for (const [field, here, there] of fields) this.#sample('differs', stored.day, field, here, there);
    return true;
  }

  /** As an export compares them: every field but the xid. */
  #fieldsThatDiffer(row: number, stored: StoredRecord): ReadonlyArray<readonly [field: string, Measure, Measure]> {
    const { instantsMs, days, extras } = this.#read.rows;
    const fields: [string, Measure, Measure][] = [];
    const compare = (field: string, here: Measure, there: Measure, form: (text: string) => string): void => {
      if (here !== there && !(typeof there === 'string' && here === form(there))) fields.push([field, here, there]);
    };
    const { text, json } = this.#forms;
    const instantMs = instantsMs[row] ?? Number.NaN;
    const day = days[row] ?? Number.NaN;
    if (instantMs !== stored.instantMs) fields.push([dateField, isoOf(stored.instantMs), isoOf(instantMs)]);
    if (day !== stored.day) fields.push([dayField, stored.day === null ? null : dayText(stored.day), dayText(day)]);
    let position = 0;
    for (const { column } of measureFields) {
      compare(column, stored.measures[position] ?? null, measureAt(this.#measures[position], row), text);
      position += 1;
    }
    compare(extrasField, stored.extras, extras.get(row) ?? null, json);
    return fields;
  }

  /** `heldMonths`: the first days of the months of which rows are held, as day numbers. */
  result(known: ReadSoFar, heldMonths: ReadonlySet<number>): ComparedWindow {
    const { broken, counts, isUnknown } = this.#read;
    const { left, standing } = this.#withoutStanding(broken);
    const { gone, fresh } = this.#pairByDay(left);
    const isHeld = ({ day }: GoneRow): boolean => day !== null && heldMonths.has(monthOf(day));
    const missing = gone.filter((row) => !isHeld(row));
    for (const { instantMs, day, xid } of missing) {
      this.#spread(instantMs);
      this.#sample('missing-there', day, null, xid, null);
    }
    const judged = this.#judgeNew(fresh, known);
    const { read, repeated, outsideWindow } = counts;
    const ofService = { read, same: this.#same, differing: this.#differing, repeated, outsideWindow };
    const [missingThere, held] = [missing.length, gone.length - missing.length];
    const ofStored = { stored: this.#stored, missingThere, held, standing };
    return {
      counts: {
        ...ofService,
        ...judged,
        ...ofStored,
      },
      finding: this.#finding(isUnknown),
    };
  }

  #finding(isUnknown: boolean): UnitFinding | undefined {
    if (this.#differences.length === 0) return undefined;
    return { ...(this.#days === undefined || isUnknown ? {} : { days: this.#days }), differences: this.#differences };
  }

  /** Stored rows that a broken record accounts for: by its xid or, without one, by its day; one without both, for all (G4). */
  #withoutStanding(broken: readonly BrokenRecord[]): { readonly left: readonly GoneRow[]; readonly standing: number } {
    if (broken.length === 0) return { left: this.#gone, standing: 0 };
    const xids = new Set(broken.flatMap(({ xid }) => xid?.toLowerCase() ?? []));
    const nameless = broken.filter(({ xid }) => xid === null);
    const days = new Set(nameless.flatMap(({ day }) => (day === null ? [] : dayNumber(day))));
    const isOfAll = nameless.some(({ day }) => day === null);
    const left = this.#gone.filter(({ xid, day }) => !(isOfAll || xids.has(xid) || (day !== null && days.has(day))));
    return { left, standing: this.#gone.length - left.length };
  }

  /** A stored row that was not read and a new one of its day are one record with another xid. */
  #pairByDay(left: readonly GoneRow[]): { readonly gone: readonly GoneRow[]; readonly fresh: readonly number[] } {
    const { days, instantsMs, xids } = this.#read.rows;
    const freshOf = new Map<number, number[]>();
    for (const row of this.#fresh.values()) {
      const day = days[row] ?? Number.NaN;
      const ofDay = freshOf.get(day);
      if (ofDay === undefined) freshOf.set(day, [row]);
      else ofDay.push(row);
    }
    const gone = left.filter(({ xid, day, instantMs }) => {
      const row = day === null ? undefined : freshOf.get(day)?.pop();
      if (row === undefined) return true;
      this.#differing += 1;
      this.#spread(instantMs, instantsMs[row] ?? instantMs);
      this.#sample('replaced', day, 'xid', xid, xidText(xids, row));
      return false;
    });
    return { gone, fresh: [...freshOf.values()].flat() };
  }

  /** Records of the service that the warehouse has no row of. */
  #judgeNew(fresh: readonly number[], known: ReadSoFar) {
    const { rows, broken } = this.#read;
    const count = { missingHere: 0, notYetRead: 0, quarantined: 0, accepted: 0 };
    for (const row of fresh) {
      const day = rows.days[row] ?? Number.NaN;
      if (!isRead(day, known)) {
        count.notYetRead += 1;
        continue;
      }
      count.missingHere += 1;
      this.#spread(rows.instantsMs[row] ?? Number.NaN);
      this.#sample('missing-here', day, null, null, xidText(rows.xids, row));
    }
    for (const { standing, day: text, reason } of broken) {
      const day = text === null ? null : dayNumber(text);
      if (standing !== undefined) count[standing] += 1;
      else if (day !== null && !isRead(day, known)) count.notYetRead += 1;
      else {
        count.missingHere += 1;
        if (day !== null) this.#spreadDays(day - 1, day + 2);
        this.#sample('missing-here', day, null, null, reason);
      }
    }
    return count;
  }

  #spread(...instantsMs: readonly number[]): void {
    for (const instantMs of instantsMs) {
      const day = this.#dayOf(instantMs);
      this.#spreadDays(day, day + 1);
    }
  }

  #spreadDays(fromDay: number, toDay: number): void {
    const { fromDay: first, toDay: last } = this.#days ?? { fromDay, toDay };
    this.#days = { fromDay: Math.min(first, fromDay), toDay: Math.max(last, toDay) };
  }

  #sample(kind: DifferenceKind, day: number | null, field: string | null, here: Measure, there: Measure): void {
    if (this.#differences.length >= mostOfUnit) return;
    const { uwi } = this.#read;
    const shownDay = day === null ? null : dayText(day);
    this.#differences.push({ uwi, day: shownDay, kind, field, here: shown(here), there: shown(there) });
  }
}

/** Whether a record of the day would be here if the service had had it at the last read of the well. */
function isRead(day: number, { watermarkDay, knownDays }: ReadSoFar): boolean {
  if (watermarkDay !== undefined && day < watermarkDay) return true;
  return knownDays.some(({ fromDay, toDay }) => day >= fromDay && day < toDay);
}

/** The first day of the month of a day, as day numbers. */
function monthOf(day: number): number {
  return day - new Date(day * DAY_MS).getUTCDate() + 1;
}

function isoOf(instantMs: number): string {
  return new Date(instantMs).toISOString();
}

function measureAt(column: RowColumns['measures'][number] | undefined, row: number): Measure {
  if (column === undefined) return null;
  if (column.kind === 'string') return column.values[row] ?? null;
  const value = column.values[row];
  if (value === undefined || column.nulls?.[row] === 1) return null;
  return column.kind === 'boolean' ? value === 1 : value;
}

/** A text may take 65,536 characters. */
const mostChars = 200;

function shown(value: Measure): Measure {
  return typeof value === 'string' ? shortened(value, mostChars) : value;
}

// The differences that the report of a run has, and the exports that would put them right.

const mostReported = 40;

/** Undefined where nothing differs. */
export function reportedDifferences(found: RunFindings): ReportedDifferences | undefined {
  if (found.units === 0) return undefined;
  return {
    wells: found.units,
    samples: found.first.flatMap(({ differences }) => differences).slice(0, mostReported),
    backfills: backfillsFor(found),
  };
}

/** Wells that a backfill names; beyond them it reads those of the warehouse. */
export const mostNamed = 20;
/** Ranges of wells with so few days between them are read as one. */
const joinedApartDays = 31;
const mostBackfills = 3;

interface Group extends DifferingDays {
  readonly uwis: readonly string[];
}

/**
 * The fewest exports that read every differing day again: at most three ranges of days, each with its wells, where few wells
 * differ; else one range for all wells in the warehouse. They may read more days than differ.
 */
export function backfillsFor({ datedUnits, days, first }: RunFindings): readonly Backfill[] {
  if (days === undefined) return [];
  if (datedUnits > mostNamed) return [{ uwis: null, ...textOf(days) }];
  const ranges = first
    .flatMap(({ target, days: own }): readonly Group[] => (own === undefined ? [] : [{ uwis: [target], ...own }]))
    .toSorted((left, right) => left.fromDay - right.fromDay || left.toDay - right.toDay);
  let groups: Group[] = [];
  for (const range of ranges) {
    const last = groups.at(-1);
    if (last === undefined || range.fromDay - last.toDay > joinedApartDays) groups.push(range);
    else groups[groups.length - 1] = joinedGroup(last, range);
  }
  while (groups.length > mostBackfills) groups = joinNearest(groups);
  return groups.map(({ uwis, ...range }) => ({ uwis, ...textOf(range) }));
}

function textOf({ fromDay, toDay }: DifferingDays): Pick<Backfill, 'from' | 'to'> {
  return { from: dayText(fromDay), to: dayText(toDay) };
}

/** One group less: the two with the fewest days between them are one. `groups` are in order, and apart. */
function joinNearest(groups: readonly Group[]): Group[] {
  const gaps = groups.slice(1).map(({ fromDay }, index) => fromDay - (groups[index]?.toDay ?? 0));
  const nearest = gaps.indexOf(Math.min(...gaps));
  return groups.flatMap((group, index) => {
    const next = groups[nearest + 1];
    if (index === nearest && next !== undefined) return [joinedGroup(group, next)];
    return index === nearest + 1 ? [] : [group];
  });
}

function joinedGroup(left: Group, right: Group): Group {
  return {
    uwis: [...new Set([...left.uwis, ...right.uwis])],
    fromDay: Math.min(left.fromDay, right.fromDay),
    toDay: Math.max(left.toDay, right.toDay),
  };
}
