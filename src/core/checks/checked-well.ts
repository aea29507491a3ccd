/** What a check is given. */
import type { HoursOfDay } from './day-length.ts';
import type { CheckHistory, ReadPartial } from './history.ts';
import type { CheckSettings } from './settings.ts';
import type { WellDays } from './well-days.ts';

/** What the record of the well says (`wells.typeField` and others); what it does not say is undefined. */
export interface WellFacts {
  readonly type?: 'producer' | 'injector' | undefined;
  readonly isIdle?: boolean | undefined;
  readonly lift?: 'gas-lift' | 'esp' | undefined;
  /** The zone of the well's days, where it has one of its own. */
  readonly timeZone?: string | undefined;
  /** The day from which on this was known: what the well was before, nobody says. */
  readonly fromDay: number;
}

export interface CheckedWell {
  /** In a check they reach `reachDays` farther than the days that are evaluated, on both sides, as far as there are rows. */
  readonly days: WellDays;
  readonly facts: WellFacts | undefined;
  readonly history: CheckHistory;
  /** Of the days that are evaluated. */
  readonly partials: readonly ReadPartial[];
  /** Day number: later days are in the future. */
  readonly today: number;
  readonly hoursOf: HoursOfDay;
}

/** Indices of the days that are evaluated: from `from` on, before `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Adds what it finds in the span. */
export type Check = (
  well: CheckedWell,
  span: Span,
  settings: CheckSettings,
  add: (day: number, field: string, value: number, expected: number | null) => void,
) => void;
