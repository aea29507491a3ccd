/** The guard on rows that leave (G4, decision 25): what was removed stayed below it, and what is held was above it. */
import type { Evidence, Mutation, TableRow, Violation } from '../evidence.ts';
import { dailyUnits, isApproved, type Ledger } from './ledger.ts';
import { judgeRecord } from './record.ts';
import type { CheckRules } from './rules.ts';
import { dayAt, dayMs, groupedBy, isSame, microsOf, msOf, rowsOf, textOf, violated } from './tables.ts';

/** A version of a row of a well and month, known from one time to another in microseconds. */
interface Stood {
  readonly uwi: string;
  readonly month: string;
  readonly xid: string;
  readonly fromMicros: number;
  readonly toMicros: number;
}

/** Unapproved losses count towards the guard of their month for so many days. */
const lossesCountForDays = 31;

export function checkShrink(evidence: Evidence, ledger: Ledger, rules: CheckRules): readonly Violation[] {
  return [
    ...violationsOfWindows(evidence, ledger),
    ...violationsOfRemovals(evidence, ledger),
    ...violationsOfHolds(evidence, ledger, rules),
  ];
}

/** No window that nobody approved lost more of its rows than the guard allows. */
function violationsOfWindows({ settings }: Evidence, ledger: Ledger): readonly Violation[] {
  const { shrinkRows, shrinkPercent } = settings;
  return dailyUnits(ledger).flatMap(({ runId, target, run, counts: { removed = 0, rowsBefore = 0 } }) => {
    if (isApproved(run) || removed <= shrinkRows || removed * 100 <= rowsBefore * shrinkPercent) return [];
    const what = `a window of ${target} lost ${removed} of its ${rowsBefore} rows, more than the guard allows`;
    return [violated('G4', what, { runId, uwi: target, atMs: run.finishedMs })];
  });
}

/** No run that nobody approved removed more of a month than the guard allows, with what it had lost before. */
function violationsOfRemovals(evidence: Evidence, ledger: Ledger): readonly Violation[] {
  const { shrinkRows, shrinkPercent } = evidence.settings;
  const removals = rowsOf(evidence, 'daily_production_history').filter((row) => {
    const run = ledger.runs.get(textOf(row, 'run_id'));
    return textOf(row, 'change') === 'removed' && run !== undefined && !isApproved(run);
  });
  const stoodRows = versionsOf(evidence);
  const [stoodByMonth, stoodByWell] = [
    groupedBy(stoodRows, ({ month }) => month),
    groupedBy(stoodRows, ({ uwi }) => uwi),
  ];
  return [...groupedBy(removals, monthKey)].flatMap(([month, ofMonth]) => {
    const stood = stoodByMonth.get(month) ?? [];
    const ofWell = stoodByWell.get(stood[0]?.uwi ?? '') ?? [];
    return [...groupedBy(ofMonth, (row) => textOf(row, 'run_id'))].flatMap(([runId, rows]) => {
      const atMicros = Math.max(...rows.map((row) => microsOf(row, 'noticed_at') ?? 0));
      const gone = lostBefore(ofMonth, ofWell, atMicros);
      const before = standingAt(stood, atMicros);
      const all = new Set([...gone, ...before]).size;
      if (gone.size <= shrinkRows || gone.size * 100 <= all * shrinkPercent) return [];
      const what = `${gone.size} of ${all} rows of ${month} left, more than the guard allows, and nobody let them go`;
      return [violated('G4', what, { runId, month, atMs: atMicros / 1_000 })];
    });
  });
}

function monthKey(row: TableRow): string {
  return `${textOf(row, 'uwi')} ${dayAt(row, 'production_day').slice(0, 7)}`;
}

function versionsOf(evidence: Evidence): readonly Stood[] {
  const current = rowsOf(evidence, 'daily_production').map((row) => {
    return [row, microsOf(row, 'changed_at') ?? 0, Infinity] as const;
  });
  const ended = rowsOf(evidence, 'daily_production_history').map((row) => {
    return [row, microsOf(row, 'known_from') ?? 0, microsOf(row, 'noticed_at') ?? 0] as const;
  });
  return [...current, ...ended].map(([row, fromMicros, toMicros]) => {
    const [uwi, xid] = [textOf(row, 'uwi'), textOf(row, 'xid').toLowerCase()];
    return { uwi, month: monthKey(row), xid, fromMicros, toMicros };
  });
}

/** Records that a commit found, and perhaps some that it brought: all its times are within a microsecond of a millisecond. */
function standingAt(stood: readonly Stood[], atMicros: number): ReadonlySet<string> {
  const commitMicros = Math.floor(atMicros / 1_000) * 1_000;
  const found = stood.filter(({ fromMicros, toMicros }) => fromMicros <= commitMicros && toMicros >= commitMicros);
  return new Set(found.map(({ xid }) => xid));
}

/** Records that left a month unapproved until a time, and had not come back to the well by then, on whichever day. */
function lostBefore(removals: readonly TableRow[], stood: readonly Stood[], atMicros: number): ReadonlySet<string> {
  const sinceMicros = atMicros - lossesCountForDays * dayMs * 1_000;
  const recent = removals.filter((row) => {
    const leftMicros = microsOf(row, 'noticed_at') ?? 0;
    return leftMicros <= atMicros && leftMicros >= sinceMicros;
  });
  const isBack = (xid: string): boolean =>
    stood.some((each) => each.xid === xid && each.fromMicros <= atMicros && each.toMicros > atMicros);
  return new Set(recent.map((row) => textOf(row, 'xid').toLowerCase()).filter((xid) => !isBack(xid)));
}

/**
 * A hold begins with a read that lacked more of a month, or of its window, than the guard allows: until then the service must have
 * taken away more rows of the windows that held some than always may leave, or have answered without content. It names a run that held rows of the well.
 */
function violationsOfHolds(
  { settings, service, ...evidence }: Evidence,
  ledger: Ledger,
  rules: CheckRules,
): readonly Violation[] {
  const leaving = leavingOf(service.mutations, evidence.endedMs);
  const byWell = groupedBy(dailyUnits(ledger), ({ target }) => target);
  return rowsOf(evidence, 'held_month').flatMap((hold) => {
    const [uwi, runId, month] = [textOf(hold, 'uwi'), textOf(hold, 'run_id'), dayAt(hold, 'month').slice(0, 7)];
    const sinceMs = (msOf(hold, 'since') ?? 0) + rules.clockSlackMs;
    const windows = (byWell.get(uwi) ?? []).flatMap(({ run, counts, spec }) => {
      if ((counts['heldRows'] ?? 0) === 0 || run.requestedMs > sinceMs) return [];
      return [{ fromMs: Number(spec['fromMs']), toMs: Number(spec['toMs']) }];
    });
    const ofWindows = leaving.filter(({ atMs, dateMs, ...each }) => {
      const isWithin = windows.some(({ fromMs, toMs }) => dateMs >= fromMs && dateMs < toMs);
      return each.uwi === uwi && atMs <= sinceMs && isWithin;
    });
    const gone = new Set(ofWindows.map(({ xid }) => xid));
    const isEmpty = service.requests.some(({ target, status, arrivedMs }) => {
      return target === uwi && status === 204 && arrivedMs <= sinceMs;
    });
    const detail = { uwi, month, runId, atMs: sinceMs };
    const units = (ledger.unitsByRun.get(runId) ?? []).filter(({ target }) => target === uwi);
    const isHeldBy = units.some(
      ({ counts, fault }) => (counts['heldRows'] ?? 0) > 0 && isSame(fault['code'], 'rows-held'),
    );
    return [
      ...(gone.size > settings.shrinkRows || isEmpty
        ? []
        : [
            violated('G4', `${uwi} is held in ${month}, and the service never lacked more rows than may leave`, detail),
          ]),
      ...(isHeldBy ? [] : [violated('G4', `${uwi} is held in ${month} by a run that held no row of it`, detail)]),
    ];
  });
}

/** The records that left their day, by their removal or by a move. */
function leavingOf(mutations: readonly Mutation[], nowMs: number) {
  return [...groupedBy(mutations, ({ uwi, xid }) => `${uwi} ${xid.toLowerCase()}`).values()].flatMap((ofRecord) =>
    ofRecord.flatMap(({ uwi, xid, atMs, body, what }, index) => {
      const before = ofRecord[index - 1]?.body ?? null;
      if (before === null || (body !== null && what !== 'moved')) return [];
      const { dateMs } = judgeRecord(before, nowMs);
      return dateMs === undefined ? [] : [{ uwi, xid: xid.toLowerCase(), atMs, dateMs }];
    }),
  );
}
