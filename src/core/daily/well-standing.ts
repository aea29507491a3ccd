/** Why a well has no data of yesterday, or what else is to be known of it first: a rule over the facts. Pure. */
import { counted, listed } from '../base/text.ts';
import { dayText } from '../time/production-day.ts';
import type { DayInterval } from './coverage.ts';
import { type DayStretch, gapsOf } from './well-days.ts';

/** The last read of a well that came to an end. */
interface SettledRead {
  readonly runId: string;
  readonly atMs: number;
  readonly state: 'done' | 'held' | 'failed' | 'unknown';
  /** Why it failed, in one sentence. */
  readonly fault: string | undefined;
}

export interface WellFacts {
  readonly stretches: readonly DayStretch[];
  /** Milliseconds since 1970; undefined for a well that the service knows. */
  readonly unknownSinceMs: number | undefined;
  readonly holds: ReadonlyArray<
    Readonly<Record<'rows' | 'firstDay' | 'lastDay' | 'sinceMs', number>> & { readonly runId: string }
  >;
  /** `day`: YYYY-MM-DD. */
  readonly quarantined: ReadonlyArray<Readonly<Record<'reason' | 'runId', string>> & { readonly day: string | null }>;
  readonly quarantinedRecords: number;
  /** Undefined for a well that was never read, or long ago. */
  readonly lastRead: SettledRead | undefined;
  /** Whether the well delivers no more, by the configuration or its record. */
  readonly isPlugged: boolean;
  /** Days of silence from which on it is a warning. */
  readonly warnAfterDays: number;
  /** Whether a read of it has come to its end. */
  readonly wasRead: boolean;
}

/** One thing to know of a well. Days are those that it is about, where it is about days. */
export interface Standing {
  readonly kind:
    | 'unknown'
    | 'failed'
    | 'held'
    | 'quarantined'
    | 'not-read'
    | 'silent'
    | 'plugged'
    | 'gaps'
    | 'empty'
    | 'complete';
  readonly severity: 'error' | 'warning' | 'info';
  /** A sentence; instants are apart, for each face to show in the zone of its reader. */
  readonly sentence: readonly SentencePart[];
  /** Present where a backfill of these days is the act. */
  readonly days?: DayInterval;
  /** Present where the act is at a run. */
  readonly runId?: string;
}

export type SentencePart = string | { readonly atMs: number } | { readonly runId: string };

/** What is to be known of a well, the answer to "why no data yesterday" first; at least one. */
export function standingsOf(facts: WellFacts): readonly Standing[] {
  const found = [
    unknown(facts),
    failed(facts),
    ...held(facts),
    quarantined(facts, 'newest'),
    openGap(facts),
    quarantined(facts, 'older'),
    closedGaps(facts),
  ].flatMap((standing) => standing ?? []);
  return found.length > 0 ? found : [nothingToSay(facts)];
}

function lastStored({ stretches }: WellFacts): number | undefined {
  const stored = stretches.filter(({ state }) => !['missing', 'undecided', 'never-read'].includes(state));
  const last = stored.at(-1);
  return last === undefined ? undefined : last.toDay - 1;
}

function unknown(facts: WellFacts): Standing | undefined {
  const { unknownSinceMs: atMs } = facts;
  if (atMs === undefined) return undefined;
  const rows = lastStored(facts) === undefined ? 'The warehouse has no row of it.' : 'The rows stay.';
  return {
    kind: 'unknown',
    severity: 'warning',
    sentence: ['Unknown to the service since ', { atMs }, `: it answers 404. ${rows}`],
  };
}

function failed({ lastRead }: WellFacts): Standing | undefined {
  if (lastRead?.state !== 'failed') return undefined;
  const { runId, atMs, fault } = lastRead;
  const reason = fault === undefined ? '' : `: ${fault.replace(/\.$/, '')}`;
  return {
    kind: 'failed',
    severity: 'error',
    sentence: ['The last read failed ', { atMs }, `${reason}.`],
    runId,
  };
}

function held({ holds }: WellFacts): readonly Standing[] {
  const runs = [...new Set(holds.map(({ runId }) => runId))];
  return runs.map((runId) => {
    const ofRun = holds.filter((hold) => hold.runId === runId);
    const rows = ofRun.reduce((sum, hold) => sum + hold.rows, 0);
    const fromDay = Math.min(...ofRun.map(({ firstDay }) => firstDay));
    const toDay = Math.max(...ofRun.map(({ lastDay }) => lastDay)) + 1;
    const atMs = Math.min(...ofRun.map(({ sinceMs }) => sinceMs));
    const would = `${counted(rows, 'row')} of ${daysText({ fromDay, toDay })} would go`;
    return {
      kind: 'held',
      severity: 'error',
      sentence: [`Held: ${would}, since the service no longer has them; by run `, { runId }, ', since ', { atMs }, '.'],
      runId,
    };
  });
}

/** Records of newer days than any row are why no data come; older ones are something to know beside. */
function quarantined(facts: WellFacts, which: 'newest' | 'older'): Standing | undefined {
  const { quarantined: records, quarantinedRecords, lastRead } = facts;
  if (quarantinedRecords === 0) return undefined;
  const rows = facts.stretches.filter(({ state }) => ['present', 'restated', 'held'].includes(state));
  const lastRow = rows.at(-1);
  // One without a day is news of the last read alone.
  const comesLate = records.some(({ day, runId }) => {
    return day === null ? runId === lastRead?.runId : lastRow === undefined || day >= dayText(lastRow.toDay);
  });
  if (comesLate !== (which === 'newest')) return undefined;
  const days = facts.stretches.filter(({ state }) => state === 'quarantined');
  const [first, last] = [days[0], days.at(-1)];
  const count = days.reduce((sum, { fromDay, toDay }) => sum + toDay - fromDay, 0);
  const what = count === 0 ? counted(quarantinedRecords, 'record') : counted(count, 'day');
  const when =
    first === undefined || last === undefined
      ? ' without a day'
      : ` (${first === last ? '' : 'the latest '}${daysText(last)})`;
  return {
    kind: 'quarantined',
    severity: comesLate ? 'error' : 'warning',
    sentence: [`${what} quarantined${when}: ${reasonsText(records)}.`],
    ...(last === undefined ? {} : { days: { fromDay: last.fromDay, toDay: last.toDay } }),
  };
}

const mostReasons = 3;

/** The commonest reasons first. */
function reasonsText(records: WellFacts['quarantined']): string {
  const counts = new Map<string, number>();
  for (const { reason } of records) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const reasons = [...counts].toSorted((left, right) => right[1] - left[1]).map(([reason]) => reason);
  const more = reasons.length - mostReasons;
  const named = reasons.slice(0, mostReasons).map((reason) => reason.replace(/\.$/, ''));
  return listed(more > 0 ? [...named, counted(more, 'more reason')] : named);
}

function openGap(facts: WellFacts): Standing | undefined {
  const [gap] = gapsOf(facts.stretches);
  if (gap?.isOpen !== true) return undefined;
  const { fromDay, toDay, neverRead, undecided } = gap;
  const days = { fromDay, toDay };
  const long = toDay - fromDay;
  const { isPlugged, warnAfterDays, lastRead } = facts;
  const asked: readonly SentencePart[] = lastRead === undefined ? [] : [', asked last ', { atMs: lastRead.atMs }];
  if (isPlugged) {
    return { kind: 'plugged', severity: 'info', sentence: [`Plugged: no day is due after ${dayText(fromDay - 1)}.`] };
  }
  if (neverRead === long) {
    return {
      kind: 'not-read',
      severity: 'warning',
      sentence: [`Not read since ${dayText(fromDay)}: ${counted(long, 'day')}`, ...asked, '.'],
      days,
    };
  }
  const nothing = `the service has nothing${undecided > 0 ? `, not verified yet for ${counted(undecided, 'day')}` : ''}`;
  const end = neverRead === 0 ? nothing : `${counted(neverRead, 'day')} of them not read yet`;
  return {
    kind: 'silent',
    severity: long >= warnAfterDays ? 'warning' : 'info',
    sentence: [`Silent since ${dayText(fromDay)}, ${counted(long, 'day')}`, ...asked, `: ${end}.`],
    days,
  };
}

function closedGaps(facts: WellFacts): Standing | undefined {
  const gaps = gapsOf(facts.stretches).filter(({ isOpen }) => !isOpen);
  const [newest] = gaps;
  if (newest === undefined) return undefined;
  const days = gaps.reduce((sum, { fromDay, toDay }) => sum + toDay - fromDay, 0);
  const neverRead = gaps.reduce((sum, gap) => sum + gap.neverRead, 0);
  const isAre = days === 1 ? 'has' : 'have';
  const unread = neverRead === 0 ? '' : ` (${counted(neverRead, 'day')} never read)`;
  const isOpen = gapsOf(facts.stretches)[0]?.isOpen === true;
  const before = isOpen ? '' : `Read to ${dayText(lastStored(facts) ?? newest.toDay)}. `;
  const where =
    gaps.length === 1
      ? `, ${daysText(newest)}`
      : `, in ${counted(gaps.length, 'gap')}; the latest is ${daysText(newest)}`;
  const text = `${counted(days, 'earlier day')} ${isAre} no row${unread}${where}.`;
  return {
    kind: 'gaps',
    severity: neverRead > 0 ? 'warning' : 'info',
    sentence: [`${before}${text}`],
    days: { fromDay: newest.fromDay, toDay: newest.toDay },
  };
}

function nothingToSay(facts: WellFacts): Standing {
  const last = lastStored(facts);
  if (last !== undefined) {
    return { kind: 'complete', severity: 'info', sentence: [`Read to ${dayText(last)}, nothing is missing.`] };
  }
  const { lastRead, wasRead } = facts;
  if (!wasRead && lastRead === undefined) {
    return { kind: 'empty', severity: 'info', sentence: ['No read of it has come to its end yet.'] };
  }
  const when: readonly SentencePart[] = lastRead === undefined ? [] : [', asked last ', { atMs: lastRead.atMs }];
  return { kind: 'empty', severity: 'info', sentence: ['The service has never had a day of it', ...when, '.'] };
}

/** `2024-01-03`, `2024-01-03 to 2024-01-09`. */
export function daysText({ fromDay, toDay }: DayInterval): string {
  return toDay - fromDay === 1 ? dayText(fromDay) : `${dayText(fromDay)} to ${dayText(toDay - 1)}`;
}
