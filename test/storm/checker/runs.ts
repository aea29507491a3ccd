/** Runs and schedules after all kills (G7): each that was accepted is there, and has ended for a reason that is allowed. */
import type { Evidence, ServiceRequest, Violation } from '../evidence.ts';
import { disturbancesIn, endStates, isKill, type Ledger, type LedgerRun, type LedgerUnit } from './ledger.ts';
import type { CheckRules } from './rules.ts';
import { groupedBy, objectOf, rowsOf, textOf, violated } from './tables.ts';

export function checkRuns(evidence: Evidence, ledger: Ledger, rules: CheckRules): readonly Violation[] {
  return [
    ...violationsOfCalls(evidence, ledger),
    ...[...ledger.runs.values()].flatMap((run) => [
      ...violationsOfEnd(evidence, { run, units: ledger.unitsByRun.get(run.id) ?? [] }, rules),
      ...violationsOfFailure(evidence, { run, units: ledger.unitsByRun.get(run.id) ?? [] }, rules),
    ]),
    ...violationsOfNumbers(evidence),
    ...violationsOfTicks(evidence),
    ...violationsOfOutcomes(evidence),
    ...violationsOfLostTicks(evidence, ledger, rules),
    ...[...ledger.runs.values()].flatMap((run) => violationsOfReads(evidence, run, ledger, rules)),
    ...violationsOfKeys(evidence, ledger),
  ];
}

/** What answered with a run is a run, and no answer is a fault of wellsync itself. */
function violationsOfCalls({ calls }: Evidence, { runs }: Ledger): readonly Violation[] {
  return calls.flatMap(({ runId, words, atMs, endedMs, document }) => {
    // A command has its error in a member, an answer of the API is a problem itself.
    const { error, ...problem } = objectOf(document);
    const { code, message, detail = message } = error === undefined ? problem : objectOf(error);
    const isLost = runId !== undefined && !runs.has(runId);
    return [
      ...(code === 'bug' ? [violated('G7', `${words[0]} ended by: ${String(detail)}`, { atMs: endedMs, words })] : []),
      ...(isLost ? [violated('G7', `run ${runId} was accepted, and is in no ledger`, { atMs, runId, words })] : []),
    ];
  });
}

/** At the end no run is open, and no unit of one. */
function violationsOfEnd(
  { endedMs }: Evidence,
  { run, units }: { readonly run: LedgerRun; readonly units: readonly LedgerUnit[] },
  { clocksApartMs }: CheckRules,
): Violation[] {
  const { id, state, finishedMs, requestedMs, row } = run;
  const at = { runId: id, atMs: requestedMs };
  if (!endStates.includes(state)) return [violated('G7', `run ${id} is ${state} at the end`, at)];
  const violations: Violation[] = [];
  // The end was written by the clock of a worker.
  if (finishedMs === undefined || finishedMs > endedMs + clocksApartMs)
    violations.push(violated('G7', `run ${id} has no end by the end of the storm`, at));
  const open = units.filter((unit) => unit.state === 'open');
  if (open.length > 0) violations.push(violated('G7', `run ${id} is ${state} with ${open.length} open units`, at));
  const planned = row['unit_count'];
  const isWhole = planned === null || planned === undefined || Number(planned) === units.length;
  if (!isWhole) violations.push(violated('G7', `run ${id} has ${units.length} of its ${Number(planned)} units`, at));
  const distinct = new Set(units.map(({ unit }) => unit)).size;
  if (distinct !== units.length) violations.push(violated('G7', `run ${id} has a unit twice`, at));
  return violations;
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What of a storm makes a run fail, by the code of its failure: it must have happened while the run was under way. */
const causes: Readonly<Record<string, (evidence: Evidence, span: Span) => boolean>> = {
  unauthorized: ({ service }, { fromMs, toMs }) =>
    service.requests.some(({ status, arrivedMs }) => status === 401 && arrivedMs >= fromMs && arrivedMs <= toMs),
  token: (evidence, span) => disturbancesIn(evidence, span).some(({ kind }) => kind === 'token'),
  'worker-died': (evidence, span) =>
    disturbancesIn(evidence, span).filter((event) => isKill(event) || ofDeath.has(event.kind)).length >= fewestDeaths,
};
const ofDeath: ReadonlySet<string> = new Set(['failpoint', 'takeover', 'term']);
/** A unit is given up once it was begun twice, and then alone (docs/design.md). */
const fewestDeaths = 3;

/** A run failed only for what the storm did to it; what was not tried, for another failure of its run. */
function violationsOfFailure(
  evidence: Evidence,
  { run, units }: { readonly run: LedgerRun; readonly units: readonly LedgerUnit[] },
  { clockSlackMs }: CheckRules,
): Violation[] {
  const failed = units.filter(({ state }) => state === 'failed');
  const stopped = objectOf(run.report?.['stopped'])['code'];
  const faults = [
    ...failed.map(({ fault, target }) => ({ code: fault['code'], target })),
    ...(run.state === 'failed' && stopped !== undefined ? [{ code: stopped, target: 'the run' }] : []),
  ];
  const at = { runId: run.id, atMs: run.finishedMs };
  const span = { fromMs: run.requestedMs - clockSlackMs, toMs: (run.finishedMs ?? Infinity) + clockSlackMs };
  const isAllowed = (code: unknown): boolean =>
    code === 'not-tried' ? stopped !== undefined : (causes[String(code)]?.(evidence, span) ?? false);
  const others = faults.filter(({ code }) => !isAllowed(code));
  if (run.state === 'failed' && faults.length === 0)
    return [violated('G7', `run ${run.id} failed without a reason`, at)];
  if (others.length > 0) {
    const codes = [...new Set(others.map(({ code }) => String(code)))].join(', ');
    return [violated('G7', `run ${run.id} failed by ${codes}`, { ...at, faults: others.slice(0, 5) })];
  }
  if (run.state === 'done' && failed.length > 0) return [violated('G7', `run ${run.id} is done with failed units`, at)];
  return [];
}

/** A run is one row. */
function violationsOfNumbers(evidence: Evidence): readonly Violation[] {
  const rows = groupedBy(rowsOf(evidence, 'run'), (row) => textOf(row, 'run_id'));
  return [...rows].flatMap(([runId, those]) => {
    return those.length === 1 ? [] : [violated('G7', `run ${runId} is ${those.length} rows`, { runId })];
  });
}

const runTime = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-/;

/**
 * A tick has one run: the id of a run has the time at which its tick was taken, so that two are of two ticks. Judged for crons
 * of every minute, or of every few.
 */
function violationsOfTicks(evidence: Evidence): readonly Violation[] {
  const byTick = rowsOf(evidence, 'run').filter((row) => textOf(row, 'actor').startsWith('schedule/'));
  const ofSchedules = groupedBy(byTick, (row) => textOf(row, 'schedule'));
  return rowsOf(evidence, 'schedule').flatMap((schedule) => {
    const name = textOf(schedule, 'name');
    const everyMs = periodOf(objectOf(schedule['definition'])['cron']);
    if (everyMs === undefined) return [];
    const ticks = groupedBy(ofSchedules.get(name) ?? [], (row) => {
      const [, year, month, day, hour, minute, second] = runTime.exec(textOf(row, 'run_id')) ?? [];
      return String(Math.floor(Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) / everyMs));
    });
    return [...ticks].flatMap(([tick, rows]) => {
      const runIds = rows.map((row) => textOf(row, 'run_id'));
      const what = `a tick of the schedule ${name} has ${runIds.length} runs`;
      return runIds.length === 1 ? [] : [violated('G7', what, { runIds, atMs: Number(tick) * everyMs })];
    });
  });
}

/** A tick ends as `started`, `skipped`, `missed` or `failed` ("Schedules" of docs/operating.md); nothing of a storm makes one fail. */
function violationsOfOutcomes(evidence: Evidence): readonly Violation[] {
  return rowsOf(evidence, 'schedule').flatMap((row) => {
    const outcome = textOf(row, 'outcome');
    if (outcome !== 'starting' && outcome !== 'failed') return [];
    const what = `the last tick of the schedule ${textOf(row, 'name')} is ${outcome}`;
    return [violated('G7', what, { words: textOf(row, 'words') })];
  });
}

/**
 * A tick of the quiet time has a run of its schedule, unless it is paused or a run of the same job has not ended. Whether it is
 * paused is known from the last call before: only of those that answered.
 */
function violationsOfLostTicks(
  { calls, calmMs, ...evidence }: Evidence,
  { runs }: Ledger,
  rules: CheckRules,
): Violation[] {
  const { tickWaitMs, clockSlackMs } = rules;
  return rowsOf(evidence, 'schedule').flatMap((schedule) => {
    const name = textOf(schedule, 'name');
    const { cron, job } = objectOf(schedule['definition']);
    const everyMs = periodOf(cron);
    const switches = calls.filter(
      ({ words }) => words[0] === 'schedules' && words[2] === name && words[1] !== 'trigger',
    );
    const resumed = switches.findLast(({ words, isCalm, code }) => isCalm && words[1] === 'resume' && code === 0);
    if (everyMs === undefined || resumed === undefined) return [];
    const paused = switches.find(({ words, atMs }) => words[1] === 'pause' && atMs > resumed.atMs);
    const toMs = (paused?.atMs ?? evidence.endedMs) - tickWaitMs;
    const firstMs = Math.ceil(Math.max(resumed.endedMs, calmMs) / everyMs) * everyMs;
    const ticks = Array.from({ length: Math.max(0, Math.floor((toMs - firstMs) / everyMs) + 1) }, (_, index) => {
      return firstMs + index * everyMs;
    });
    return ticks.flatMap((tickMs) => {
      const isTaken = [...runs.values()].some(({ row, requestedMs, finishedMs = Infinity, ...run }) => {
        const isOf = textOf(row, 'schedule') === name || run.job === job;
        return isOf && requestedMs <= tickMs + tickWaitMs && finishedMs >= tickMs - clockSlackMs;
      });
      return isTaken ? [] : [violated('G7', `a tick of the schedule ${name} began no run`, { atMs: tickMs })];
    });
  });
}

/** What a unit of a job asks the service for. */
const endpointOf: Readonly<Record<string, ServiceRequest['endpoint']>> = {
  'export daily-production': 'daily',
  'export daily-production --gaps': 'daily',
  'export time-series': 'time-series',
  'export wells': 'well',
};

/** G4: what a run says it read, the service was asked for meanwhile, and answered. */
function violationsOfReads({ service }: Evidence, run: LedgerRun, ledger: Ledger, rules: CheckRules): Violation[] {
  const { id, job, requestedMs, finishedMs = Infinity } = run;
  const units = (ledger.unitsByRun.get(id) ?? []).filter(({ state }) => state === 'done' || state === 'held');
  const endpoint = endpointOf[job];
  if (endpoint === undefined) return [];
  const answered = service.requests.filter(({ arrivedMs, status, ...request }) => {
    const isWithin = arrivedMs >= requestedMs - rules.clockSlackMs && arrivedMs <= finishedMs + rules.clockSlackMs;
    return request.endpoint === endpoint && isWithin && status >= 200 && status < 300;
  });
  const targets = new Set(answered.map(({ target }) => target));
  const unread = [...new Set(units.map(({ target }) => target))].filter((target) => !targets.has(target));
  if (unread.length === 0) return [];
  const what = `run ${id} says that it read ${unread.length} targets, and the service answered no request for them`;
  return [violated('G4', what, { runId: id, atMs: run.finishedMs, unread })];
}

/** Milliseconds between two ticks; undefined for other crons. */
function periodOf(cron: unknown): number | undefined {
  const every = /^\*(?:\/(\d+))? \* \* \* \*$/.exec(String(cron));
  const minutes = Number(every?.[1] ?? 1);
  return every === null || 60 % minutes !== 0 ? undefined : minutes * 60_000;
}

/** A key of a request has one run, and that run is there ("Runs" of docs/api.md). */
function violationsOfKeys(evidence: Evidence, { runs }: Ledger): readonly Violation[] {
  const keys = groupedBy(rowsOf(evidence, 'idempotency_key'), (row) => {
    return JSON.stringify([textOf(row, 'client'), textOf(row, 'route'), textOf(row, 'key')]);
  });
  const answered = groupedBy(
    evidence.calls.filter(({ key, runId }) => key !== undefined && runId !== undefined),
    ({ key = '' }) => key,
  );
  const apart = [...answered].flatMap(([key, calls]) => {
    const runIds = [...new Set(calls.map(({ runId }) => runId))];
    const what = `requests with the key ${key} were answered by ${runIds.length} runs`;
    return runIds.length === 1 ? [] : [violated('G7', what, { runIds, atMs: calls[0]?.atMs })];
  });
  const made = [...keys].flatMap(([key, rows]) => {
    const runIds = [...new Set(rows.map((row) => textOf(row, 'run_id')))];
    const unknown = runIds.filter((runId) => !runs.has(runId));
    return [
      ...(runIds.length === 1 ? [] : [violated('G7', `the key ${key} made ${runIds.length} runs`, { runIds })]),
      ...unknown.map((runId) => violated('G7', `the key ${key} has a run that is in no ledger`, { runId })),
    ];
  });
  return [...made, ...apart];
}
