/** Compares the ratios of two runs of the benchmarks. */
import type { Figures, Spread } from './measurement.ts';

/** Less than this is no change, even if the rounds agree: three of them do not show all the noise there is. */
const leastNoise = 0.05;

export type Verdict = 'quicker' | 'slower' | 'same' | 'new' | 'gone';

export interface Change {
  readonly subject: string;
  readonly before: number | undefined;
  readonly after: number | undefined;
  /** Relative change of the ratio: 0.1 is 10 % quicker. */
  readonly change: number | undefined;
  /** A change of this size or less may be chance. */
  readonly noise: number | undefined;
  readonly verdict: Verdict;
}

/** Every subject of either run, those of `after` first and in its order. */
export function compare(before: readonly Figures[], after: readonly Figures[]): readonly Change[] {
  const old = new Map(before.map((figures) => [figures.subject, figures.ratio]));
  const names = new Set(after.map(({ subject }) => subject));
  const present = after.map(({ subject, ratio }) => changeOf(subject, old.get(subject), ratio));
  const gone = before.filter(({ subject }) => !names.has(subject));
  return [...present, ...gone.map(({ subject, ratio }) => changeOf(subject, ratio, undefined))];
}

function changeOf(subject: string, before: Spread | undefined, after: Spread | undefined): Change {
  const medians = { subject, before: before?.median, after: after?.median };
  if (before === undefined || after === undefined) {
    return { ...medians, change: undefined, noise: undefined, verdict: before === undefined ? 'new' : 'gone' };
  }
  const change = after.median / before.median - 1;
  const noise = Math.max(leastNoise, noiseOf(before) + noiseOf(after));
  return { ...medians, change, noise, verdict: verdictOf(change, noise) };
}

/** How far a median may be off: half of what lies between the smallest and the largest round. */
function noiseOf({ median, least, most }: Spread): number {
  return (most - least) / 2 / median;
}

function verdictOf(change: number, noise: number): Verdict {
  if (Math.abs(change) <= noise) return 'same';
  return change > 0 ? 'quicker' : 'slower';
}
