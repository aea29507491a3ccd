/** The shown counts of a run, in order: those that its job describes, then any others by name. Pure. */
import type { CountDescription, JobDescription } from '../../core/run/job-description.ts';
import { figure, spacedName } from '../../core/base/text.ts';
import type { Balance, Counts } from '../../core/run/run.ts';

export interface ShownCount {
  readonly name: string;
  readonly count: number;
  /** Explanation beside the name; empty if it needs none. */
  readonly remark: string;
}

export function shownCounts(
  counts: Counts,
  { counts: described }: Pick<JobDescription, 'counts'>,
): readonly ShownCount[] {
  const names = new Set(described.map(({ name }) => name));
  const others = Object.keys(counts)
    .filter((name) => !names.has(name))
    .toSorted((left, right) => left.localeCompare(right))
    .map((name): CountDescription => ({ name }));
  return [...described, ...others].flatMap(({ name, remark = '', isAlwaysShown, isHidden }) => {
    const count = counts[name];
    const isShown = count !== undefined && !isHidden && (count !== 0 || isAlwaysShown);
    return isShown ? [{ name, count, remark }] : [];
  });
}

/** Every record is accounted for, or not (G2): the sum in words, with the figures and the names of the counts. */
export function balanceSentence({ balanced, statement }: Balance): string {
  const readable = spacedName(statement).replaceAll(/\d+/g, (digits) => figure(Number(digits)));
  return `${balanced ? 'Reconciled' : 'Not reconciled'}: ${readable}`;
}
