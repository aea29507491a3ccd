/** What a benchmark measures, and the figures that follow from it. */
import { z } from 'zod';

const sampleSchema = z.object({
  /** Of the subject's unit. */
  amount: z.number().positive(),
  seconds: z.number().positive(),
  /** Of all threads of all processes that the subject started, and of Redis. */
  cpuSeconds: z.number().nonnegative(),
  /** High-water marks of the processes together; null where the subject shares a process. */
  peakMegabytes: z.number().nullable(),
  /** Cores that processes outside the benchmark kept busy meanwhile. */
  otherLoad: z.number().nonnegative(),
});
/** One run of a subject or of its baseline. */
export type Sample = z.output<typeof sampleSchema>;

export const measurementSchema = z.object({
  subject: z.string(),
  unit: z.string(),
  baseline: z.string(),
  /** The two of a round ran one right after the other. */
  rounds: z.array(z.object({ baseline: sampleSchema, subject: sampleSchema })).min(1),
});
export type Measurement = z.output<typeof measurementSchema>;

/** A value of several rounds, with the smallest and the largest. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** A measurement in the figures that are shown: medians of the rounds. */
export interface Figures {
  readonly subject: string;
  readonly unit: string;
  readonly baseline: string;
  /** Rate of the subject by the rate of its baseline, round by round. */
  readonly ratio: Spread;
  readonly amount: number;
  readonly seconds: number;
  readonly rate: number;
  readonly baselineRate: number;
  readonly cpuMicros: number;
  readonly baselineCpuMicros: number;
  /** The most of all rounds. */
  readonly peakMegabytes: number | null;
  readonly otherLoad: number;
}

/** The median: of an even number of values the mean of the middle two. Throws RangeError for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (low === undefined || high === undefined) throw new RangeError('there is no median of no values');
  return (low + high) / 2;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

export function figuresOf({ subject, unit, baseline, rounds }: Measurement): Figures {
  const subjects = rounds.map((round) => round.subject);
  const baselines = rounds.map((round) => round.baseline);
  const peaks = subjects.flatMap(({ peakMegabytes }) => (peakMegabytes === null ? [] : [peakMegabytes]));
  return {
    subject,
    unit,
    baseline,
    ratio: spreadOf(rounds.map((round) => rateOf(round.subject) / rateOf(round.baseline))),
    amount: median(subjects.map(({ amount }) => amount)),
    seconds: median(subjects.map(({ seconds }) => seconds)),
    rate: median(subjects.map(rateOf)),
    baselineRate: median(baselines.map(rateOf)),
    cpuMicros: median(subjects.map(cpuMicrosOf)),
    baselineCpuMicros: median(baselines.map(cpuMicrosOf)),
    peakMegabytes: peaks.length === 0 ? null : Math.max(...peaks),
    otherLoad: median(rounds.flatMap((round) => [round.subject.otherLoad, round.baseline.otherLoad])),
  };
}

function rateOf({ amount, seconds }: Sample): number {
  return amount / seconds;
}

function cpuMicrosOf({ amount, cpuSeconds }: Sample): number {
  return (cpuSeconds / amount) * 1e6;
}
