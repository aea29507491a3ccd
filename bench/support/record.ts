/** Hands what a benchmark measured to `npm run bench`, which shows it in one table (bench/report/main.ts). */
import { appendFileSync } from 'node:fs';
import { z } from 'zod';
import type { Measurement, Sample } from '../report/measurement.ts';
import { figuresOf } from '../report/measurement.ts';
import { figuresTable } from '../report/table.ts';

/** How often each subject is measured. */
export const rounds = Number(process.env['WELLSYNC_BENCH_ROUNDS'] ?? 3);

/** Address of the Redis that the benchmarks have for themselves. Throws without one. */
export function benchRedis(): string {
  return z
    .string()
    .parse(process.env['WELLSYNC_BENCH_REDIS_URL'], { error: () => 'run it by `npm run bench -- NAME`' });
}

export interface Round {
  readonly baseline: Sample;
  readonly subject: Sample;
}

/** Collects the rounds of the subjects of one benchmark, in the order in which they first come. */
export class Recorder {
  readonly #measured = new Map<string, { unit: string; baseline: string; rounds: Round[] }>();

  /** `baseline` and `unit` name what is compared, the same for all rounds of a subject. */
  add(subject: string, { unit, baseline }: { readonly unit: string; readonly baseline: string }, round: Round): void {
    const known = this.#measured.get(subject) ?? { unit, baseline, rounds: [] };
    known.rounds.push(round);
    this.#measured.set(subject, known);
  }

  /** Writes every subject to the file that `npm run bench` names, or as a table to standard output. */
  finish(): void {
    const measurements: readonly Measurement[] = [...this.#measured].map(([subject, rest]) => ({ subject, ...rest }));
    const file = process.env['WELLSYNC_BENCH_RESULTS'];
    if (file === undefined) console.log(figuresTable(measurements.map(figuresOf)));
    else appendFileSync(file, measurements.map((each) => `${JSON.stringify(each)}\n`).join(''));
  }
}
