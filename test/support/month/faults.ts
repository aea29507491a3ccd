/**
 * A month of nights over a field of twelve wells: what goes wrong on which nights, and what people should hear of it. Night 0
 * is the first export; a person acts in the morning after a night. The rules: docs/operating.md (Alerts), docs/design.md
 * sections 8 and 11.
 */
import type { AlertKind } from '../../../src/core/alerts/kinds.ts';

export const nights = 30;
/** Morning of the first export, by the moved clock. */
export const firstNightMs = Date.parse('2027-03-01T03:00:00Z');
export const warnAfterDays = 5;

const wells = (...numbers: readonly number[]): readonly string[] =>
  numbers.map((number) => `W${String(number).padStart(2, '0')}`);
export const [first, renamed] = [wells(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 'W13'];

/** What a well answers in the place of its rows. */
export type Answer = 'not-found' | 'failed' | 'sign-in page';

export interface Fault {
  readonly words: string;
  readonly from: number;
  /** The first night without it; undefined where it stays. */
  readonly until?: number;
  readonly wells: readonly string[];
  readonly answer: Answer;
}

/** Wells that answer otherwise than with their rows. What happens to rows and lists is in service.ts and nights.ts. */
export const faults: readonly Fault[] = [
  { words: 'a well answers 500', from: 3, until: 5, wells: wells(1), answer: 'failed' },
  { words: 'a well is unknown for a week', from: 5, until: 12, wells: wells(4), answer: 'not-found' },
  { words: 'a well was renamed, and its old name is gone', from: 2, wells: wells(11), answer: 'not-found' },
  {
    words: 'four wells answer with a sign-in page',
    from: 23,
    until: 24,
    wells: wells(1, 2, 3, 4),
    answer: 'sign-in page',
  },
  { words: 'a well answers 500 while the receiver is away', from: 26, until: 27, wells: wells(8), answer: 'failed' },
  { words: 'a well is unknown, and acknowledged for two days', from: 28, wells: wells(10), answer: 'not-found' },
];

/** What stands open, and for how long. */
export interface Matter {
  readonly words: string;
  readonly kind: AlertKind;
  readonly targets: readonly string[];
  /** The night that opens it. */
  readonly from: number;
  /** The first morning on which it is open no more. */
  readonly until: number;
  /** The night of the message that it is over, where a person ends it in the morning before: by default that of `until`. */
  readonly overOn?: number;
  /** Nights that tell of it once more, and how. */
  readonly again?: readonly { readonly night: number; readonly change: 'reminded' | 'reopened' }[];
  /** Nights on which it is acknowledged. */
  readonly silent?: readonly number[];
}

/** Written before the first run of it. Reminders come after `alerts.remindAfterDays` (7). */
export const matters: readonly Matter[] = [
  {
    words: 'the list has the new name of a well',
    kind: 'wells-left-out',
    targets: wells(11),
    from: 2,
    until: 12,
    overOn: 11,
    again: [{ night: 9, change: 'reminded' }],
  },
  { words: 'a well answers 500 for two nights', kind: 'well-failed', targets: wells(1), from: 3, until: 5 },
  { words: 'a well is unknown for a week', kind: 'well-unknown', targets: wells(4), from: 5, until: 12 },
  {
    words: 'a record without an oil rate comes right',
    kind: 'record-quarantined',
    targets: wells(2),
    from: 6,
    until: 9,
  },
  {
    words: 'a record that nobody corrects is accepted',
    kind: 'record-quarantined',
    targets: wells(3),
    from: 10,
    until: 13,
    overOn: 12,
  },
  {
    words: 'a well has no new day',
    kind: 'well-silent',
    targets: wells(5),
    from: 12,
    until: 20,
    again: [{ night: 19, change: 'reminded' }],
  },
  {
    words: 'the list is cut to eight wells',
    kind: 'wells-left-out',
    targets: [...wells(9, 10, 12), renamed],
    from: 13,
    until: 15,
  },
  {
    words: 'two months are restated',
    kind: 'rows-restated',
    targets: ['2026-12', '2027-01'],
    from: 16,
    until: 19,
    overOn: 18,
  },
  {
    words: 'the rows of a week are gone, and released',
    kind: 'rows-held',
    targets: wells(7),
    from: 18,
    until: 21,
    overOn: 20,
  },
  { words: 'the service is away for a night', kind: 'service-down', targets: ['service'], from: 21, until: 22 },
  {
    words: 'four wells answer with a sign-in page',
    kind: 'well-failed',
    targets: wells(1, 2, 3, 4),
    from: 23,
    until: 24,
  },
  {
    words: 'rows of a pushed file are rejected, and corrected',
    kind: 'rows-rejected',
    targets: ['pipes.csv'],
    from: 25,
    until: 26,
    overOn: 25,
  },
  {
    words: 'a well answers 500 while the receiver is away',
    kind: 'well-failed',
    targets: wells(8),
    from: 26,
    until: 27,
  },
  {
    words: 'a well is unknown, and acknowledged for two days',
    kind: 'well-unknown',
    targets: wells(10),
    from: 28,
    until: Infinity,
    silent: [29],
    again: [{ night: 30, change: 'reopened' }],
  },
];

/** Exit codes of the nights that are not 0: cron mails what they said. */
export const mailed: ReadonlyMap<number, number> = new Map([
  [2, 3],
  [3, 1],
  [4, 1],
  [5, 3],
  [6, 3],
  [9, 3],
  [10, 3],
  [12, 3],
  [13, 3],
  [16, 3],
  [18, 3],
  [19, 3],
  [21, 5],
  [23, 1],
  [26, 1],
  [28, 3],
  [30, 3],
]);

/** Nights after which the receiver hears nothing, and what waits comes with the next one. */
export const receiverAway: readonly number[] = [26, 27];

/** This night reads all days by --from: it is no night of the list of wells as a whole. */
export const wholeReadOn = 16;

/** Nights that send the heartbeat: done, over the whole list, and no error opened. */
export function hasHeartbeat(night: number): boolean {
  return ![1, 5].includes(mailed.get(night) ?? 0) && night !== wholeReadOn;
}
