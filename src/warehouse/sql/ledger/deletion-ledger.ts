/**
 * Deletions of runs: intents before their requests, outcomes after, each with its row in the audit (G1, G6).
 */
import { AccessError } from '../../../core/base/errors.ts';
import {
  type AuditEntry,
  type AuditEvent,
  type AuditHead,
  type BrokenRow,
  chain,
  ChainCheck,
  type ChainedEntry,
  emptyHead,
} from '../../../core/cleanup/audit-chain.ts';
import { type DeletionOutcome, endsTimeSeries, isOutcomeOf, unitOutcomeOf } from '../../../core/cleanup/outcome.ts';
import { type DeletionTarget, targetText } from '../../../core/cleanup/target.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { AuditVerdict, DeletionFilter, DeletionLedger } from '../../port/cleanup.ts';
import type { QueryResult } from '../../port/query.ts';
import { endDeletedTimeSeries } from '../daily/record-stores.ts';
import { readNames } from './service-claim.ts';
import { settleOpen } from './run-units.ts';
import {
  columnsOf,
  type InSession,
  instantAt,
  membersOf,
  type SqlColumns,
  type SqlDatabase,
  type SqlSession,
  takeTurn,
  transacted,
} from '../session.ts';
import { planOfAudit, type PlanOfAudit } from './cleanup-plans.ts';
import { hash as hashWith } from 'node:crypto';
import type { Counts, UnitState } from '../../../core/run/run.ts';

export function createDeletionLedger(database: SqlDatabase): DeletionLedger {
  return {
    ...transacted<Pick<DeletionLedger, 'conclude' | 'closeFailed' | 'head'>>(database, {
      conclude,
      closeFailed,
      head: readHead,
    }),
    begin: async (batch) => (batch.units.length === 0 ? [] : database.transact((session) => begin(session, batch))),
    list: (filter, use) => database.transactOnce((session) => use(deletionsOf(session, filter))),
    verify: (keptHash) => verifyAudit(database, keptHash),
  };
}

const begin: InSession<DeletionLedger['begin']> = async (session, { runId, units, serviceUrl, atMs }) => {
  await takeTurn(session, 'audit');
  const plan = await claimedPlan(session, runId);
  if (plan.serviceUrl !== serviceUrl && !(await readNames(session, serviceUrl)).includes(plan.serviceUrl)) {
    const message = `the plan is of ${plan.serviceUrl}, and this worker speaks to ${serviceUrl}`;
    throw new AccessError('other-service', message, {
      hint: 'Let workers of the service that the plan was made for take it up.',
    });
  }
  const open = await readOpenTargets(session, runId, plan.planId, units);
  const before = await readBefore(session, runId, plan, units);
  const entryOf = entriesOf(plan, runId, atMs);
  const intents = open.map((target) => entryOf('intent', target));
  await appendEntries(session, intents);
  return open.map((target) => ({
    ...target,
    isRepeat: before.begun.has(target.unit),
    wasDeleted: before.deleted.has(target.unit),
  }));
};

async function claimedPlan(session: SqlSession, runId: string): Promise<PlanOfAudit> {
  const plan = await planOfAudit(session, runId);
  if (plan === undefined) throw new Error(`run ${runId} has claimed no plan: nothing may be deleted`);
  return plan;
}

type OpenTarget = DeletionTarget & { readonly unit: number };
/** An open unit, compared with the target of its number in the plan; `kind` is null if there is none. */
type ComparedUnit = (OpenTarget | { readonly kind: null; readonly unit: number }) & { readonly planned: string };

/** The targets of the open units among the given ones, in order. Throws AccessError if they are not those of the plan. */
async function readOpenTargets(
  session: SqlSession,
  runId: string,
  planId: string,
  units: readonly number[],
): Promise<readonly OpenTarget[]> {
  const rows = await session.rows<ComparedUnit>(
    `SELECT u.unit, u.target AS planned, t.kind, t.owner_id AS "ownerId", t.source_id AS "sourceId"
     FROM run_unit u LEFT JOIN cleanup_target t ON t.plan_id = $2 AND t.ordinal = u.unit AND ${isWithin('t.ordinal', units)}
     WHERE u.run_id = $1 AND u.state = 'open' AND ${isWithin('u.unit', units)}
     ORDER BY u.unit`,
    [runId, planId],
  );
  const wanted = new Set(units);
  const open = rows.filter(({ unit }) => wanted.has(unit));
  const isEachOnce = new Set(open.map(({ unit }) => unit)).size === open.length;
  return open.map((row) => {
    if (isEachOnce && row.kind !== null && targetText(row) === row.planned) {
      const { unit, kind, ownerId, sourceId } = row;
      return { unit, kind, ownerId, sourceId };
    }
    throw new AccessError('plan-changed', `plan ${planId} is not as it was made: it has other targets than its run`, {
      hint: 'Find out who writes to the warehouse, and make a new plan.',
    });
  });
}

/** Constants for the engine to prune with: the units of a group lie together. */
function isWithin(column: string, units: readonly number[]): string {
  const ordered = units.toSorted((left, right) => left - right);
  return units.length === 0 ? 'false' : `${column} BETWEEN ${ordered[0]} AND ${ordered.at(-1)}`;
}

/** The clocks of hosts differ by far less. */
const clockSpreadMs = DAY_MS;

/**
 * What the audit has of units, and of others near them: `begun` are units of which an earlier request of the run may have
 * taken effect, `deleted` those whose targets another run deleted, or found deleted, since their plan was made. What other
 * runs did before the plan was made, the plan has seen: an audit of years costs no more than one of the last days.
 */
async function readBefore(
  session: SqlSession,
  runId: string,
  { planId, createdAtMs }: PlanOfAudit,
  units: readonly number[],
): Promise<Readonly<Record<'begun' | 'deleted', ReadonlySet<number>>>> {
  const isSincePlan = `noted_at >= ${instantAt(createdAtMs - clockSpreadMs)}`;
  // An outcome `failed` does not show the effect of a request: the event before it counts.
  const events = await session.rows<{ unit: number; event: AuditEvent }>(
    `SELECT unit, event FROM deletion_audit
     WHERE run_id = $1 AND ${isSincePlan} AND ${isWithin('unit', units)} AND outcome IS DISTINCT FROM 'failed'
     ORDER BY seq`,
    [runId],
  );
  const last = new Map(events.map(({ unit, event }) => [unit, event]));
  const deleted = await session.rows<{ unit: number }>(
    `SELECT DISTINCT t.ordinal AS unit FROM cleanup_target t JOIN deletion_audit a
       ON a.kind = t.kind AND a.owner_id = t.owner_id AND a.source_id IS NOT DISTINCT FROM t.source_id
     WHERE t.plan_id = $2 AND ${isWithin('t.ordinal', units)}
       AND a.${isSincePlan}
       AND a.run_id <> $1 AND a.outcome IN ('deleted', 'already gone')`,
    [runId, planId],
  );
  return {
    begun: new Set([...last].flatMap(([unit, event]) => (event === 'intent' ? [unit] : []))),
    deleted: new Set(deleted.map(({ unit }) => unit)),
  };
}

const conclude: InSession<DeletionLedger['conclude']> = async (session, { runId, conclusions, withdrawn, atMs }) => {
  await takeTurn(session, 'audit');
  const plan = await claimedPlan(session, runId);
  const units = [...conclusions.map(({ unit }) => unit), ...withdrawn];
  const openTargets = await readOpenTargets(session, runId, plan.planId, units);
  const targets = new Map(openTargets.map((target) => [target.unit, target]));
  const open = conclusions.flatMap(({ unit, ...settled }) => {
    const target = targets.get(unit);
    return target === undefined ? [] : [{ unit, target, ...settled }];
  });
  const outcomes = open.map(({ unit, target, conclusion, warnings }) =>
    unitOutcomeOf(unit, target, conclusion, warnings),
  );
  await settleOpen(session, runId, outcomes);
  const gone = open.flatMap(({ target, conclusion }) => (endsTimeSeries(target, conclusion) ? [target] : []));
  await endDeletedTimeSeries(session, gone, { runId, atMs });
  const undone = withdrawn.flatMap((unit) => targets.get(unit) ?? []);
  const entryOf = entriesOf(plan, runId, atMs);
  await appendEntries(session, [
    ...open.map(({ target, conclusion }) => entryOf('outcome', target, conclusion)),
    ...undone.map((target) => entryOf('withdrawn', target)),
  ]);
  return outcomes;
};

/**
 * Among the units that the engine failed or cancelled: those with an open intent, and failed ones without any row in
 * the audit.
 */
const closeFailed: InSession<DeletionLedger['closeFailed']> = async (session, runId, atMs) => {
  await takeTurn(session, 'audit');
  const plan = await planOfAudit(session, runId);
  if (plan === undefined) return;
  const rows = await session.rows<OpenTarget & { readonly words: string | null }>(
    `SELECT u.unit, t.kind, t.owner_id AS "ownerId", t.source_id AS "sourceId",
       coalesce(u.fault->>'message', 'cancelled before its outcome was known') AS words
     FROM run_unit u JOIN cleanup_target t ON t.plan_id = $2 AND t.ordinal = u.unit
     LEFT JOIN (SELECT unit, (array_agg(event ORDER BY seq DESC))[1] AS event
                FROM deletion_audit WHERE run_id = $1 GROUP BY unit) e ON e.unit = u.unit
     WHERE u.run_id = $1 AND ((u.state IN ('failed', 'cancelled') AND e.event = 'intent')
       OR (u.state = 'failed' AND e.event IS DISTINCT FROM 'outcome'))
     ORDER BY u.unit`,
    [runId, plan.planId],
  );
  const entryOf = entriesOf(plan, runId, atMs);
  const outcomes = rows.map((row) => entryOf('outcome', row, { outcome: 'failed', words: row.words }));
  await appendEntries(session, outcomes);
};

type Result = Partial<Pick<AuditEntry, 'outcome' | 'answer' | 'words' | 'verification'>>;

function entriesOf(plan: PlanOfAudit, runId: string, atMs: number) {
  const { planId, serviceUrl, requestedBy, retriedBy } = plan;
  const noted = { planId, serviceUrl, requestedBy, retriedBy, runId, atMs };
  return (event: AuditEvent, { unit, kind, ownerId, sourceId }: OpenTarget, result: Result = {}): AuditEntry => {
    const { outcome = null, answer = null, words = null, verification = null } = result;
    return { ...noted, event, unit, kind, ownerId, sourceId, outcome, answer, words, verification };
  };
}

const texts = (...names: readonly string[]): QueryResult['columns'] => names.map((name) => ({ name, type: 'VARCHAR' }));

const listedColumns: QueryResult['columns'] = [
  { name: 'noted_at', type: 'TIMESTAMP WITH TIME ZONE' },
  ...texts('outcome', 'kind', 'owner_id', 'source_id'),
  { name: 'answer', type: 'INTEGER' },
  ...texts('verification', 'words', 'requested_by', 'retried_by', 'service_url', 'plan_id', 'run_id'),
  { name: 'seq', type: 'BIGINT' },
];

/**
 * The last row of each deletion. If that is an intent, the deletion is running or its worker died: the outcome is
 * unknown.
 */
const selectDeletions = `
  SELECT noted_at, coalesce(outcome, 'not known') AS outcome, kind, owner_id, source_id, answer, verification, words, requested_by,
    retried_by, service_url, plan_id, run_id, seq
  FROM (SELECT *, row_number() OVER (PARTITION BY run_id, unit ORDER BY seq DESC) AS age FROM deletion_audit) aged
  WHERE age = 1 AND event <> 'withdrawn'
    AND ($1::TIMESTAMPTZ IS NULL OR noted_at >= $1::TIMESTAMPTZ)
    AND ($2::VARCHAR IS NULL OR owner_id = $2::VARCHAR OR source_id = $2::VARCHAR)
    AND ($3::VARCHAR IS NULL OR run_id = $3::VARCHAR)
  ORDER BY seq DESC`;

function deletionsOf(session: SqlSession, { sinceMs, target, runId }: DeletionFilter): QueryResult {
  const values = [sinceMs === undefined ? null : new Date(sinceMs), target ?? null, runId ?? null];
  async function* rows(): QueryResult['rows'] {
    const deletions = session.stream<Record<string, unknown>>(selectDeletions, values);
    for await (const row of deletions) yield listedColumns.map(({ name }) => row[name]);
  }
  return { columns: listedColumns, rows: rows() };
}

// Rows of the deletion audit: appending to the chain, and verifying it.

const sha256 = (text: string): string => hashWith('sha256', text);

/** Appends entries to the chain. Writers of the audit take turns, which keeps the chain in order. */
async function appendEntries(session: SqlSession, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await takeTurn(session, 'audit');
  const head = await readHead(session);
  const linked = chain(head, entries, sha256);
  await session.append('deletion_audit', auditColumns, linked);
  const write =
    head.rows === 0
      ? 'INSERT INTO deletion_audit_head VALUES ($1, $2)'
      : 'UPDATE deletion_audit_head SET rows = $1, hash = $2';
  const last = linked.at(-1);
  if (last !== undefined) await session.run(write, [last.seq, last.hash]);
}

/** Members of an entry in columns of their names, behind its number and its time. */
const members = [
  ...(['event', 'runId', 'planId', 'unit', 'requestedBy', 'serviceUrl', 'kind', 'ownerId', 'sourceId'] as const),
  ...(['outcome', 'answer', 'words', 'verification', 'previousHash', 'hash', 'retriedBy', 'digestVersion'] as const),
];

/** Of the table, in its order. */
const auditColumns: SqlColumns<ChainedEntry> = {
  seq: ({ seq }) => seq,
  noted_at: ({ atMs }) => new Date(atMs),
  ...columnsOf(...members),
};

async function readHead(session: SqlSession): Promise<AuditHead> {
  const [head = emptyHead] = await readHeads(session);
  return head;
}

/** One head, unless another program wrote to the warehouse. */
async function readHeads(session: SqlSession): Promise<readonly AuditHead[]> {
  const heads = await session.rows<AuditHead>('SELECT rows, hash FROM deletion_audit_head');
  return heads.length === 0 ? [emptyHead] : heads;
}

/** Streams the rows: a long audit need not fit into memory. Nobody appends meanwhile. */
async function verifyAudit(database: SqlDatabase, keptHash?: string): Promise<AuditVerdict> {
  let check = new ChainCheck(sha256, keptHash);
  try {
    const broken = await database.transact(async (session) => {
      check = new ChainCheck(sha256, keptHash);
      await takeTurn(session, 'audit');
      return followChain(session, check);
    });
    return { broken, head: check.head, retries: check.retries };
  } catch (error) {
    const fault = database.tableFault(error);
    if (fault === undefined) throw error;
    const reason = `cannot be read: a table was changed (${fault})`;
    return { broken: { seq: check.head.rows + 1, reason }, head: check.head, retries: check.retries };
  }
}

async function followChain(session: SqlSession, check: ChainCheck): Promise<BrokenRow | undefined> {
  // With a duplicate seq the order is arbitrary: the check reports it.
  for await (const row of session.stream<ChainedEntry>(`${selectEntries} ORDER BY seq, hash`)) {
    const broken = check.take(row);
    if (broken !== undefined) return broken;
  }
  const heads = await readHeads(session);
  // An extra head beside the right one would fork the chain at the next deletion.
  const atEnd = heads.map((head) => check.end(head)).find((broken) => broken !== undefined);
  if (atEnd === undefined && heads.length > 1)
    return { seq: check.head.rows, reason: 'is named as the last one twice' };
  return atEnd ?? (await lostOutcome(session, check.head));
}

interface CleanupRun {
  readonly runId: string;
  readonly units: number;
  /** Null if the plan is gone; the units still hold what was done. */
  readonly planId: string | null;
  readonly isOver: boolean;
}

interface SettledUnit extends DeletionTarget {
  readonly target: string;
  readonly state: UnitState;
  readonly counts: string;
  readonly seq: number | null;
  readonly outcome: DeletionOutcome | null;
  readonly planId: string;
}

const cleanupRuns = `SELECT r.run_id AS "runId", max(u.unit) + 1 AS units, max(p.plan_id) AS "planId",
    max(r.finished_at) IS NOT NULL AS "isOver"
  FROM run r JOIN run_unit u USING (run_id) LEFT JOIN cleanup_plan p USING (run_id)
  WHERE r.job = 'cleanup' GROUP BY r.run_id ORDER BY r.run_id`;

/** Units per query: all units of a large run at once would exceed the engine's memory (G8). */
const unitsInSlice = 10_000;

/** The last outcome in the audit of each settled unit; of failed units only once their run is over and closed. */
const settledUnits = `
  WITH aged AS (SELECT *, row_number() OVER (PARTITION BY unit ORDER BY seq DESC) AS age FROM deletion_audit
                WHERE run_id = $1 AND event = 'outcome' AND unit >= $2 AND unit < $3)
  SELECT u.target, u.state, coalesce(u.counts, '{}') AS counts, a.seq, a.outcome, a.kind, a.owner_id AS "ownerId",
    a.source_id AS "sourceId", a.plan_id AS "planId"
  FROM run_unit u LEFT JOIN (SELECT * FROM aged WHERE age = 1) a USING (unit)
  WHERE u.run_id = $1 AND u.unit >= $2 AND u.unit < $3 AND (u.state IN ('done', 'held') OR (u.state = 'failed' AND $4))
  ORDER BY u.unit`;

/**
 * Units are settled in the transaction of their audit rows: a settled unit without a row shows that the end of the
 * chain was rewritten, including its head.
 */
async function lostOutcome(session: SqlSession, { rows }: AuditHead): Promise<BrokenRow | undefined> {
  for (const run of await session.rows<CleanupRun>(cleanupRuns)) {
    for (let from = 0; from < run.units; from += unitsInSlice) {
      const slice = [run.runId, from, from + unitsInSlice, run.isOver];
      const units = await session.rows<SettledUnit>(settledUnits, slice);
      const broken = units.map((unit) => brokenBy(unit, run, rows)).find((row) => row !== undefined);
      if (broken !== undefined) return broken;
    }
  }
  return undefined;
}

function brokenBy(unit: SettledUnit, { runId, planId }: CleanupRun, rows: number): BrokenRow | undefined {
  const { target, seq } = unit;
  if (seq === null) return { seq: rows + 1, reason: `is missing: run ${runId} settled ${target}` };
  const isSame = targetText(unit) === target && (planId ?? unit.planId) === unit.planId;
  const settled = { state: unit.state, counts: JSON.parse(unit.counts) as Counts };
  if (isSame && isOutcomeOf(settled, unit.outcome)) return undefined;
  return { seq, reason: `says otherwise than run ${runId}, which settled ${target}` };
}

/** A time changed by less than a millisecond yields a fraction here, and so another hash. */
const selectEntries = `SELECT ${membersOf('seq', ...members)},
    CAST(CAST(extract(epoch FROM noted_at) * 1000000 AS BIGINT) / 1000.0 AS FLOAT8) AS "atMs"
  FROM deletion_audit`;
