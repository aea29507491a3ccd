/** The differences that the report of a run has, and the exports that would put them right. */
import { dayText } from '../time/production-day.ts';
import type { Backfill, DifferingDays, ReportedDifferences, RunFindings } from './difference.ts';

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
