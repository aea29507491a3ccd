/** The days of one well to today, each in the one state that says most of it, and the gaps among them. Pure. */
import type { DayInterval } from './coverage.ts';

/**
 * `held`: its row stays although the service no longer has it. `restated`: its row was once another one. `undecided`: reads
 * that were not verified found nothing; the next verified read decides. `quarantined-kept`: its record is in quarantine, and
 * an earlier row stays and counts.
 */
export type DayState =
  | 'present'
  | 'restated'
  | 'held'
  | 'quarantined'
  | 'quarantined-kept'
  | 'missing'
  | 'undecided'
  | 'never-read';

/** In the order in which one state hides another on the same day: the later one is the state of the day. */
const statesByWeight: readonly DayState[] = [
  'never-read',
  'undecided',
  'missing',
  'present',
  'restated',
  'held',
  'quarantined',
  'quarantined-kept',
];

export interface DayStretch extends DayInterval {
  readonly state: DayState;
}

/** What is known of the days of a well, as intervals of day numbers, in order. */
export interface KnownDays {
  readonly read: readonly DayInterval[];
  readonly present: readonly DayInterval[];
  readonly quarantined: readonly DayInterval[];
  readonly held: readonly DayInterval[];
  /** Day numbers. */
  readonly restated: readonly number[];
  /** Up to which day, exclusive, unverified reads have come; undefined for a well without a watermark. */
  readonly askedTo: number | undefined;
}

/** From the first known day to `today`, which is not over and is left out. Empty for a well without a known day. */
export function dayStretches(known: KnownDays, today: number): readonly DayStretch[] {
  const stored = [known.present, known.quarantined].filter((days) => days.length > 0);
  if (stored.length === 0) return [];
  const first = Math.min(...stored.map((days) => days[0]?.fromDay ?? today));
  const behindLast = Math.max(...stored.map((days) => days.at(-1)?.toDay ?? first));
  const end = Math.max(today, behindLast);
  const states = new Uint8Array(end - first);
  const fill = ({ fromDay, toDay }: DayInterval, state: DayState, onlyOver?: DayState, upTo?: DayState): void => {
    const weight = statesByWeight.indexOf(state);
    const over = onlyOver === undefined ? 0 : statesByWeight.indexOf(onlyOver);
    const most = upTo === undefined ? statesByWeight.length : statesByWeight.indexOf(upTo);
    for (let day = Math.max(fromDay, first); day < Math.min(toDay, end); day += 1) {
      const index = day - first;
      const before = states[index] ?? 0;
      if (before >= over && before <= most) states[index] = weight;
    }
  };
  const readTo = Math.max(behindLast, known.read.at(-1)?.toDay ?? first);
  if (known.askedTo !== undefined) fill({ fromDay: readTo, toDay: known.askedTo }, 'undecided');
  for (const each of known.read) fill(each, 'missing');
  for (const each of known.present) fill(each, 'present');
  // Of a day without a row, neither says anything.
  for (const day of known.restated) fill({ fromDay: day, toDay: day + 1 }, 'restated', 'present');
  for (const each of known.held) fill(each, 'held', 'present');
  for (const each of known.quarantined) fill(each, 'quarantined-kept', 'present');
  for (const each of known.quarantined) fill(each, 'quarantined', undefined, 'missing');
  return runsOf(states, first);
}

function runsOf(states: Uint8Array, first: number): readonly DayStretch[] {
  const stretches: DayStretch[] = [];
  let from = 0;
  for (let index = 1; index <= states.length; index += 1) {
    if (index < states.length && states[index] === states[from]) continue;
    const state = statesByWeight[states[from] ?? 0] ?? 'never-read';
    stretches.push({ fromDay: first + from, toDay: first + index, state });
    from = index;
  }
  return stretches;
}

export type DayCounts = Readonly<Record<DayState, number>>;

export function dayCounts(stretches: readonly DayStretch[]): DayCounts {
  const counts = Object.fromEntries(statesByWeight.map((state) => [state, 0])) as Record<DayState, number>;
  for (const { state, fromDay, toDay } of stretches) counts[state] += toDay - fromDay;
  return counts;
}

/** Days in a row without a row and without a quarantined record. */
export interface DayGap extends DayInterval {
  /** Those of them that no read has covered. */
  readonly neverRead: number;
  /** Those of which only reads that were not verified found nothing. */
  readonly undecided: number;
  /** Whether it lasts to today. */
  readonly isOpen: boolean;
}

const isGap = ({ state }: DayStretch): boolean =>
  state === 'missing' || state === 'undecided' || state === 'never-read';

/** The latest first. Their days are the missing, undecided and never read ones of the stretches. */
export function gapsOf(stretches: readonly DayStretch[]): readonly DayGap[] {
  const gaps: DayGap[] = [];
  const end = stretches.at(-1)?.toDay;
  for (const stretch of stretches.filter(isGap)) {
    const { fromDay, toDay, state } = stretch;
    const last = gaps.at(-1);
    const daysIf = (other: DayState): number => (state === other ? toDay - fromDay : 0);
    const [neverRead, undecided] = [daysIf('never-read'), daysIf('undecided')];
    const isOpen = toDay === end;
    if (last?.toDay === fromDay) {
      const sum = { neverRead: last.neverRead + neverRead, undecided: last.undecided + undecided };
      gaps[gaps.length - 1] = { fromDay: last.fromDay, toDay, ...sum, isOpen };
    } else gaps.push({ fromDay, toDay, neverRead, undecided, isOpen });
  }
  return gaps.toReversed();
}
