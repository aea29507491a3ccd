/** Deletions at the service against plans and audit (G6, decision 6). */
import type { Evidence, ServiceRequest, TableRow, Violation } from '../evidence.ts';
import { checkChain } from './audit-chain.ts';
import { disturbancesIn, type Ledger } from './ledger.ts';
import type { CheckRules } from './rules.ts';
import { groupedBy, msOf, numberOf, rowsOf, textOf, violated } from './tables.ts';

const kinds: Readonly<Record<string, string>> = {
  'delete-time-series': 'time-series',
  'delete-micro-string': 'micro-strings',
  'delete-wellbore': 'wellbores',
};

/** A target of a plan as one text: of a request, or of a row of targets or of the audit. */
function targetOfRequest({ endpoint, target, sourceId = '' }: ServiceRequest): string {
  return JSON.stringify([kinds[endpoint], target, sourceId]);
}

function targetOfRow(row: TableRow): string {
  return JSON.stringify([textOf(row, 'kind'), textOf(row, 'owner_id'), textOf(row, 'source_id')]);
}

interface AuditRow {
  readonly seq: number;
  readonly notedMs: number;
  readonly event: string;
  readonly runId: string;
  readonly planId: string;
  readonly unit: number;
  readonly target: string;
  readonly outcome: string;
  readonly verification: string;
}

interface Context {
  readonly evidence: Evidence;
  readonly ledger: Ledger;
  readonly rules: CheckRules;
  readonly audit: ReadonlyMap<string, readonly AuditRow[]>;
  /** Requests of deletions by target, in the order of their arrival. */
  readonly requests: ReadonlyMap<string, readonly ServiceRequest[]>;
}

/** Requests of deletions, whether they were applied or not. */
export function deletionsOf({ service }: Evidence): readonly ServiceRequest[] {
  return service.requests.filter(({ endpoint }) => kinds[endpoint] !== undefined);
}

export function checkDeletions(evidence: Evidence, ledger: Ledger, rules: CheckRules): readonly Violation[] {
  const audit = rowsOf(evidence, 'deletion_audit')
    .map(auditRow)
    .toSorted((left, right) => left.seq - right.seq);
  const requests = groupedBy(deletionsOf(evidence), targetOfRequest);
  const context = { evidence, ledger, rules, requests, audit: groupedBy(audit, ({ target }) => target) };
  return [
    ...checkChain(evidence),
    ...violationsOfIntents(context, audit),
    ...deletionsOf(evidence).flatMap((request) => violationsOfRequest(context, request)),
    ...audit.filter(({ event }) => event === 'outcome').flatMap((row) => violationsOfOutcome(context, row)),
    ...[...requests].flatMap(([target, those]) => violationsOfRepeats(context, target, those)),
    ...violationsOfUnits(context, audit),
    ...violationsOfStanding(context),
  ];
}

function auditRow(row: TableRow): AuditRow {
  return {
    seq: numberOf(row, 'seq') ?? 0,
    notedMs: msOf(row, 'noted_at') ?? 0,
    event: textOf(row, 'event'),
    runId: textOf(row, 'run_id'),
    planId: textOf(row, 'plan_id'),
    unit: numberOf(row, 'unit') ?? -1,
    target: targetOfRow(row),
    outcome: textOf(row, 'outcome'),
    verification: textOf(row, 'verification'),
  };
}

/** An intent is of a target of a plan that was applied, once, by the run of the intent. */
function violationsOfIntents({ evidence, ledger, rules }: Context, audit: readonly AuditRow[]): readonly Violation[] {
  const plans = new Map(rowsOf(evidence, 'cleanup_plan').map((row) => [textOf(row, 'plan_id'), row]));
  const targets = groupedBy(rowsOf(evidence, 'cleanup_target'), (row) => textOf(row, 'plan_id'));
  const targetsByPlan = new Map([...targets].map(([id, rows]) => [id, new Set(rows.map(targetOfRow))]));
  return audit
    .filter(({ event }) => event === 'intent')
    .flatMap(({ planId, runId, target, notedMs: atMs }) => {
      const plan = plans.get(planId);
      const appliedMs = plan === undefined ? undefined : msOf(plan, 'applied_at');
      const isApplied =
        plan !== undefined &&
        textOf(plan, 'run_id') === runId &&
        appliedMs !== undefined &&
        appliedMs <= atMs + rules.clocksApartMs;
      const isPlanned = targetsByPlan.get(planId)?.has(target) === true;
      if (isApplied && isPlanned && ledger.runs.get(runId)?.job === 'cleanup') return [];
      return [
        violated('G6', `an intent to delete ${target} is of no plan that was confirmed before`, {
          atMs,
          runId,
          planId,
        }),
      ];
    });
}

/** Each request follows an intent that is open, and comes before the end of its run. */
function violationsOfRequest({ audit, ledger, rules }: Context, request: ServiceRequest): readonly Violation[] {
  const target = targetOfRequest(request);
  const atMs = request.arrivedMs;
  const rows = audit.get(target) ?? [];
  const intents = rows.filter(({ event, notedMs }) => event === 'intent' && notedMs <= atMs + rules.clocksApartMs);
  const detail = { atMs, request: request.no };
  if (intents.length === 0) return [violated('G6', `${target} was to be deleted before an intent was written`, detail)];
  const isOpen = (intent: AuditRow): boolean =>
    !rows.some(({ event, runId, unit, seq, notedMs }) => {
      const isOf = runId === intent.runId && unit === intent.unit && seq > intent.seq;
      return isOf && event !== 'intent' && notedMs + rules.lateRequestMs < atMs;
    });
  const open = intents.filter(isOpen);
  if (open.length === 0) return [violated('G6', `${target} was to be deleted after its outcome was written`, detail)];
  const isOver = open.every(
    ({ runId }) => (ledger.runs.get(runId)?.finishedMs ?? Infinity) + rules.lateRequestMs < atMs,
  );
  return isOver ? [violated('G6', `${target} was to be deleted after its run had ended`, detail)] : [];
}

/** `deleted` and `already gone` are answers of the service, after the intent and before the outcome. */
function violationsOfOutcome({ audit, requests, rules }: Context, row: AuditRow): readonly Violation[] {
  const { target, runId, unit, outcome, seq, notedMs: atMs } = row;
  if (outcome !== 'deleted' && outcome !== 'already gone') return [];
  const intents = (audit.get(target) ?? []).filter((each) => {
    return each.event === 'intent' && each.runId === runId && each.unit === unit && each.seq < seq;
  });
  const [first] = intents;
  if (first === undefined) return [violated('G6', `the outcome of ${target} has no intent before it`, { atMs, runId })];
  const answered = (requests.get(target) ?? []).filter(({ arrivedMs }) => {
    return arrivedMs + rules.clocksApartMs >= first.notedMs && arrivedMs <= atMs + rules.clockSlackMs;
  });
  // A slow answer is whole; what there is nothing of any more is answered with 0, and not applied.
  const isDone = ({ isApplied, status, fault }: ServiceRequest): boolean =>
    isApplied === true || (status >= 200 && status < 300 && (fault === undefined || fault.startsWith('slow-')));
  const isBorneOut = answered.some(
    (request) => isDone(request) || (outcome === 'already gone' && request.status === 404),
  );
  if (isBorneOut) return [];
  return [
    violated('G6', `the audit has ${target} as ${outcome}, and the service has no such request`, { atMs, runId }),
  ];
}

/** A run does not delete twice what was answered well, unless something was disturbed before the outcome was written. */
function violationsOfRepeats(
  { evidence, ledger, audit, rules }: Context,
  target: string,
  requests: readonly ServiceRequest[],
) {
  const intents = (audit.get(target) ?? []).filter(({ event }) => event === 'intent');
  const runIds = [...new Set(intents.map(({ runId }) => runId))];
  return requests.slice(1).flatMap((second, index): readonly Violation[] => {
    const first = requests[index];
    if (first?.answeredMs === undefined || first.fault !== undefined || first.status !== 200) return [];
    const span = { fromMs: first.arrivedMs, toMs: second.arrivedMs };
    const isOfOne = runIds.some((id) => {
      const { requestedMs = Infinity, finishedMs = Infinity } = ledger.runs.get(id) ?? {};
      return requestedMs - rules.clockSlackMs <= span.fromMs && finishedMs + rules.lateRequestMs >= span.toMs;
    });
    if (!isOfOne || runIds.length > 1 || disturbancesIn(evidence, span).length > 0) return [];
    return [violated('G6', `${target} was to be deleted twice by one run`, { atMs: span.toMs, request: second.no })];
  });
}

const countOf: Readonly<Record<string, string>> = {
  deleted: 'deleted',
  'already gone': 'alreadyGone',
  refused: 'refused',
};

/** Each settled target of a cleanup has its outcome in the audit, the same one as in the ledger. */
function violationsOfUnits({ ledger }: Context, audit: readonly AuditRow[]): readonly Violation[] {
  const last = new Map(
    audit.flatMap((row) => (row.event === 'outcome' ? [[`${row.runId} ${row.unit}`, row] as const] : [])),
  );
  const cleanups = [...ledger.runs.values()].filter(({ job }) => job === 'cleanup');
  return cleanups.flatMap(({ id, finishedMs: atMs }) =>
    (ledger.unitsByRun.get(id) ?? []).flatMap(({ unit, target, state, counts }) => {
      const outcome = last.get(`${id} ${unit}`)?.outcome ?? '';
      const isSettled = state === 'done' || state === 'held';
      if (!isSettled || counts[countOf[outcome] ?? ''] === 1) return [];
      return [violated('G6', `the audit and the ledger differ about ${target}`, { runId: id, atMs, outcome })];
    }),
  );
}

/** A time series that was found gone does not stand at the end. */
function violationsOfStanding({ evidence, audit }: Context): readonly Violation[] {
  return [...audit].flatMap(([target, rows]) => {
    const last = rows.findLast(({ event }) => event === 'outcome');
    const [kind, owner, sourceId] = JSON.parse(target) as readonly string[];
    if (kind !== 'time-series' || last?.verification !== 'gone') return [];
    const stands = (evidence.service.timeSeries[owner ?? ''] ?? []).some((body) => body['sourceId'] === sourceId);
    return stands
      ? [violated('G6', `${target} counts as gone, and stands at the service`, { atMs: last.notedMs })]
      : [];
  });
}
