/** What a verification finds of a well: where the warehouse and the service differ, and what would put that right. */
import type { Measure } from '../daily/row.ts';
import { dayText } from '../time/production-day.ts';

/**
 * `differs`: the same record has other values. `replaced`: the record of the day has another xid. `missing-here`: the service
 * has it, and the warehouse neither as a row nor in quarantine. `missing-there`: the warehouse has it, and the service not.
 */
export type DifferenceKind = 'differs' | 'replaced' | 'missing-here' | 'missing-there';

/** One field of one record, or a whole record. */
export interface Difference {
  readonly uwi: string;
  /** YYYY-MM-DD; null where it cannot be read. */
  readonly day: string | null;
  readonly kind: DifferenceKind;
  /** A column of daily_production; null where the whole record is missing. */
  readonly field: string | null;
  /** In the warehouse. */
  readonly here: Measure;
  /** At the service. */
  readonly there: Measure;
}

/** Days as day numbers, `toDay` exclusive: the days of the records on both sides that a backfill has to read. */
export interface DifferingDays {
  readonly fromDay: number;
  readonly toDay: number;
}

/** What was found of one unit that differs. */
export interface UnitFinding {
  /** Absent where no backfill would put it right: the service does not know the well. */
  readonly days?: DifferingDays;
  /** Some of its differences. */
  readonly differences: readonly Difference[];
}

/** What was found of the units of a run. */
export interface RunFindings {
  /** Units that differ. */
  readonly units: number;
  /** Those of them that have days, and the days of all of these. */
  readonly datedUnits: number;
  readonly days: DifferingDays | undefined;
  /** The first of them, by unit. */
  readonly first: ReadonlyArray<UnitFinding & { readonly target: string }>;
}

export const nothingFound: RunFindings = { units: 0, datedUnits: 0, days: undefined, first: [] };

/** In the report of a run. */
export interface ReportedDifferences {
  readonly wells: number;
  /** Some of them: at most {@link mostReported}. */
  readonly samples: readonly Difference[];
  /** The exports that would put them right. */
  readonly backfills: readonly Backfill[];
}

/** An export of some days. */
export interface Backfill {
  /** Null for all wells in the warehouse. */
  readonly uwis: readonly string[] | null;
  /** YYYY-MM-DD; `to` is the first day that is left out. */
  readonly from: string;
  readonly to: string;
}

/** Differences that are kept of one unit, and shown of a run. */
export const mostOfUnit = 4;
export const mostReported = 40;
/** Units of which the findings are read for a report: as many as give their differences, and are named in a backfill. */
export const mostUnitsRead = 40;

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
