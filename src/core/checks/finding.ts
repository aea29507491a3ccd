/** What checks find. */
import type { CheckName } from './settings.ts';

/** Of one day; a check has one a day. */
export interface Finding {
  readonly check: CheckName;
  /** Days since 1970-01-01. */
  readonly day: number;
  /** The column of daily_production, or `gas_oil_ratio`, `water_cut` or `record`. */
  readonly field: string;
  /** Null where no number says it. */
  readonly value: number | null;
  /** What the value should be, or its bound; null where that is not known. */
  readonly expected: number | null;
}

/** The first finding of a day counts. */
export class Findings {
  readonly #check: CheckName;
  readonly #days = new Set<number>();
  readonly list: Finding[] = [];

  constructor(check: CheckName) {
    this.#check = check;
  }

  add(day: number, field: string, value: number, expected: number | null): void {
    if (this.#days.has(day)) return;
    this.#days.add(day);
    this.list.push({ check: this.#check, day, field, value: known(value), expected: expected && known(expected) });
  }
}

/** -0 is 0, and what is no number is not known. */
function known(value: number): number | null {
  return Number.isFinite(value) ? value + 0 : null;
}
