/** Why a well has no data of yesterday, or what else is to be known of it first: a rule over the facts. Pure. */
import { severityOf } from '../alerts/kinds.ts';
import { counted, listed, printable } from '../base/text.ts';
import { dayText } from '../time/production-day.ts';
import { type DayInterval, type DayStretch, gapsOf } from './coverage.ts';

/** The last read of a well that came to an end. */
interface SettledRead {
  readonly runId: string;
  readonly atMs: number;
  readonly state: 'done' | 'held' | 'failed' | 'unknown';
  /** Why it failed, in one sentence. */
  readonly fault: string | undefined;
}

/** A read that failed, and whose days no later read has covered. */
interface OpenFailure extends Pick<SettledRead, 'runId' | 'atMs' | 'fault'> {
  /** Those that it was to read, where they are known. */
  readonly days: DayInterval | undefined;
}

/** Records that may stay in quarantine, by a person's word. */
interface Acceptance {
  readonly day: string | null;
  readonly by: string;
  readonly atMs: number;
  readonly because: string;
}

export interface WellFacts {
  readonly stretches: readonly DayStretch[];
  /** Milliseconds since 1970; undefined for a well that the service knows. */
  readonly unknownSinceMs: number | undefined;
  readonly holds: ReadonlyArray<
    Readonly<Record<'rows' | 'firstDay' | 'lastDay' | 'sinceMs', number>> & { readonly runId: string }
  >;
  /** Those that nobody accepted; `day`: YYYY-MM-DD. */
  readonly quarantined: ReadonlyArray<Readonly<Record<'reason' | 'runId', string>> & { readonly day: string | null }>;
  readonly quarantinedRecords: number;
  readonly quarantinedDays: readonly DayInterval[];
  /** The latest one first. */
  readonly accepted: readonly Acceptance[];
  readonly acceptedRecords: number;
  /** Undefined for a well that was never read, or long ago. */
  readonly lastRead: SettledRead | undefined;
  /** When the last complete read of the newest days came to its end: what the service has not, it alone says. */
  readonly askedAtMs: number | undefined;
  /** What stands as failed although it may not be the last read. */
  readonly failure: OpenFailure | undefined;
  /** What else stands as an error of the well, in sentences. */
  readonly errors: readonly string[];
  /** The first day that was read, where no export has read the history before it; undefined where one has. */
  readonly readOnlyFrom: number | undefined;
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
    | 'error'
    | 'held'
    | 'quarantined'
    | 'accepted'
    | 'partial'
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
    failed(facts),
    ...facts.errors.map((error): Standing => ({ kind: 'error', severity: 'error', sentence: [error] })),
    unknown(facts),
    ...held(facts),
    quarantined(facts, 'newest'),
    openGap(facts),
    quarantined(facts, 'older'),
    closedGaps(facts),
    readInPart(facts),
    accepted(facts),
  ].flatMap((standing) => standing ?? []);
  return found.length > 0 ? found : [nothingToSay(facts)];
}

function lastStored({ stretches }: WellFacts): number | undefined {
  const stored = stretches.filter(({ state }) => !['missing', 'undecided', 'never-read'].includes(state));
  const last = stored.at(-1);
  return last === undefined ? undefined : last.toDay - 1;
}

function unknown(facts: WellFacts): Standing | undefined {
  const { unknownSinceMs: atMs, lastRead } = facts;
  if (atMs === undefined) return undefined;
  // A later answer was another one: whether the service knows the well now, nobody has seen.
  const answered = lastRead?.state === 'failed' ? 'answered 404 then' : 'answers 404';
  const rows = lastStored(facts) === undefined ? 'The warehouse has no row of it.' : 'The rows stay.';
  return {
    kind: 'unknown',
    severity: severityOf['well-unknown'],
    sentence: ['Unknown to the service since ', { atMs }, `: it ${answered}. ${rows}`],
  };
}

function failed({ lastRead, failure }: WellFacts): Standing | undefined {
  const { runId, atMs, fault } = (lastRead?.state === 'failed' ? lastRead : failure) ?? {};
  if (runId === undefined || atMs === undefined) return undefined;
  const reason = fault === undefined ? '' : `: ${fault.replace(/\.$/, '')}`;
  const days = failure?.runId === runId ? failure.days : undefined;
  const which = days === undefined ? 'read' : `read, of ${daysText(days)},`;
  return {
    kind: 'failed',
    severity: severityOf['well-failed'],
    sentence:
      lastRead?.state === 'failed'
        ? [`The last ${which} failed `, { atMs }, `${reason}.`]
        : [`A ${which} failed `, { atMs }, `${reason}. No later read has covered what it was to read.`],
    runId,
    ...(days === undefined || lastRead?.state === 'failed' ? {} : { days }),
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
      severity: severityOf['rows-held'],
      sentence: [
        `Held: ${would}, since the service no longer has them; the first of them by run `,
        { runId },
        ', since ',
        { atMs },
        '.',
      ],
      runId,
    };
  });
}

/** Records of newer days than any row are why no data come; older ones are something to know beside. */
function quarantined(facts: WellFacts, which: 'newest' | 'older'): Standing | undefined {
  const { quarantined: records, quarantinedRecords, lastRead } = facts;
  if (quarantinedRecords === 0) return undefined;
  const rows = facts.stretches.filter(({ state }) =>
    ['present', 'restated', 'held', 'quarantined-kept'].includes(state),
  );
  const lastRow = rows.at(-1);
  // One without a day is news of the last read alone.
  const comesLate = records.some(({ day, runId }) => {
    return day === null ? runId === lastRead?.runId : lastRow === undefined || day >= dayText(lastRow.toDay);
  });
  if (comesLate !== (which === 'newest')) return undefined;
  const days = facts.quarantinedDays;
  const [first, last] = [days[0], days.at(-1)];
  const count = daysIn(days);
  const kept = daysIn(facts.stretches.filter(({ state }) => state === 'quarantined-kept'));
  const what = count === 0 ? counted(quarantinedRecords, 'record') : counted(count, 'day');
  const when =
    first === undefined || last === undefined
      ? ' without a day'
      : ` (${first === last ? '' : 'the latest '}${daysText(last)})`;
  return {
    kind: 'quarantined',
    severity: severityOf['record-quarantined'],
    sentence: [`${what} quarantined${when}: ${reasonsText(records)}.${keptText(kept)}`],
    ...(last === undefined ? {} : { days: { fromDay: last.fromDay, toDay: last.toDay } }),
  };
}

function keptText(days: number): string {
  if (days === 0) return '';
  return ` The earlier row of ${counted(days, 'quarantined day')} stays and counts.`;
}

/** What a person accepted needs nobody, and is not forgotten. */
function accepted({ accepted: acceptances, acceptedRecords: records }: WellFacts): Standing | undefined {
  const [latest] = acceptances;
  if (latest === undefined) return undefined;
  const { day, by, atMs, because } = latest;
  const which = day === null ? '' : records === 1 ? ` of ${day}` : `, the latest of ${day},`;
  const what =
    records === 1 ? `1 quarantined record${which} was` : `${counted(records, 'quarantined record')}${which} were`;
  return {
    kind: 'accepted',
    severity: 'info',
    sentence: [`${what} accepted by ${printable(by)}, `, { atMs }, `: ${printable(because.replace(/\.$/, ''))}.`],
  };
}

/** Of days before the first one that a backfill read, nobody knows anything. */
function readInPart({ readOnlyFrom: day }: WellFacts): Standing | undefined {
  if (day === undefined) return undefined;
  const text = `Read from ${dayText(day)} on alone: no export has read its history, and what the service has of earlier days is not known.`;
  return { kind: 'partial', severity: 'warning', sentence: [text] };
}

function daysIn(days: readonly DayInterval[]): number {
  return days.reduce((sum, { fromDay, toDay }) => sum + toDay - fromDay, 0);
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
  const { isPlugged, warnAfterDays } = facts;
  const asked = askedText(facts);
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

function askedText({ askedAtMs: atMs }: WellFacts): readonly SentencePart[] {
  return atMs === undefined ? [] : [', asked last ', { atMs }];
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
  const sentence = ['The service has never had a day of it', ...askedText(facts), '.'];
  return { kind: 'empty', severity: 'info', sentence };
}

/** `2024-01-03`, `2024-01-03 to 2024-01-09`. */
export function daysText({ fromDay, toDay }: DayInterval): string {
  return toDay - fromDay === 1 ? dayText(fromDay) : `${dayText(fromDay)} to ${dayText(toDay - 1)}`;
}
