/**
 * Makes the plan of a cleanup and checks it again before it is applied: reads, stores and compares what the service
 * shows of every target. Targets are processed in slices, so that memory does not grow with the size of the snapshots
 * (G8).
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  changeSince,
  type CleanupCaps,
  type CleanupPlan,
  countsLine,
  countsOf,
  isWarned,
  otherCaps,
  passedCaps,
  type PlanCounts,
  planIdOf,
  planLine,
  type PlannedTarget,
  targetLine,
  type TargetSnapshot,
} from '../../src/core/cleanup/plan.ts';
import {
  type DeletionTarget,
  equipmentOf,
  findingOf,
  isTimeSeries,
  noFinding,
  orderTargets,
  type ProductionFinding,
  reasonToKeep,
  uwisOfWell,
  wellsOf,
} from '../../src/core/cleanup/target.ts';
import { faultOf, NotFoundError, PermanentError, UsageError } from '../../src/core/base/errors.ts';
import type { Ledger } from '../../src/warehouse/port/warehouse.ts';
import { timeSeries, type TimeSeriesRecord } from '../../src/core/definitions/record-list.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';
import type { JobContext } from '../../src/runs/job.ts';
import { grouped, mapConcurrent, readAhead } from '../../src/core/base/lists.ts';
import type { WellBody } from '../../src/core/definitions/well-body.ts';
import { DAY_MS } from '../../src/core/time/window.ts';

/** Targets per slice. */
const sliceTargets = 500;

/** Number of targets with a warning that a plan shows. */
export const maxWarningsShown = 20;

/** Number of changes in an error; further ones are only counted. */
const maxChangesShown = 20;

export interface PlanRequest {
  /** In the order of the request; repeated ones are dropped. */
  readonly targets: readonly DeletionTarget[];
  readonly selection: string | null;
  /** Hash of the selection's file; null without one. Stored beside the plan, and not part of its digest. */
  readonly selectionSha256: string | null;
  readonly createdBy: string;
  readonly caps: CleanupCaps;
  /** If true, a cap that cannot be checked counts as exceeded: nobody reads a warning. */
  readonly isUnattended: boolean;
  /** If false, nothing is written: the plan is only shown. */
  readonly keep: boolean;
  /** If true, the targets of producing wells are to be deleted too. */
  readonly includesProducing: boolean;
}

export interface MadePlan {
  readonly plan: CleanupPlan;
  /** The first targets that deserve a warning. */
  readonly warned: readonly PlannedTarget[];
}

export interface ReadOptions {
  /** Concurrent requests. */
  readonly concurrency: number;
  readonly signal?: AbortSignal;
}

/** How a plan is made: how the service is asked, and how wells that produce are found. */
export type PlanOptions = ReadOptions & ProducingSettings;

/**
 * Throws UsageError if nothing is to be deleted or a cap is exceeded, and the service's error if it does not answer.
 */
export async function makePlan(request: PlanRequest, context: JobContext, how: PlanOptions): Promise<MadePlan> {
  const { ledger, service, now } = context;
  const targets = orderTargets(request.targets);
  if (targets.length === 0) {
    throw new UsageError('nothing is to be deleted: no target is named', {
      hint: 'An empty selection never means everything. Name targets, or see why the file or the query has none.',
    });
  }
  const knownWells = await ledger.cleanupPlans.knownWells();
  const named = countsOf(targets, request.targets.length, knownWells);
  refusePassedCaps(named, request);

  const { selection, selectionSha256, createdBy, includesProducing, caps } = request;
  const head = { serviceUrl: service.baseUrl, createdAtMs: now(), createdBy, selection, includesProducing };
  const draftId = `draft ${new Date(head.createdAtMs).toISOString()} ${randomUUID()}`;
  const totals = new PlanTotals(planLine(head));
  for (let from = 0; from < targets.length; from += sliceTargets) {
    const planned = await planSlice(targets.slice(from, from + sliceTargets), from, context, how);
    totals.add(planned);
    if (request.keep) await ledger.cleanupPlans.draft(draftId, planned);
  }
  const { warned } = totals;
  const counts: PlanCounts = { ...named, ...totals.counts };
  const digest = totals.digest(counts);
  const plan: CleanupPlan = {
    ...head,
    selectionSha256,
    planId: planIdOf(digest),
    digest,
    counts,
    caps: { maxTargets: caps.maxTargets, maxShareOfWellsPercent: caps.maxShareOfWellsPercent },
    applied: undefined,
  };
  if (request.keep) await ledger.cleanupPlans.keep(draftId, plan);
  return { plan, warned };
}

function refusePassedCaps(counts: ReturnType<typeof countsOf>, { caps, isUnattended }: PlanRequest): void {
  const { knownWells, wells } = counts;
  const issues = [...passedCaps(counts, knownWells, caps)];
  if (isUnattended && knownWells === 0 && wells > 0) {
    issues.push('the warehouse knows no wells, so that nobody can say which share of them this is');
  }
  if (issues.length === 0) return;
  throw new UsageError('the cleanup exceeds its caps: nothing was planned and nothing was deleted', {
    issues,
    hint: 'Look at the targets once more. If they are right, raise the cap in the configuration or take fewer at a time.',
  });
}

/**
 * Throws UsageError if a kept plan exceeds the caps that are in force now (G6). `by`: whose configuration they are of; a
 * worker has read its own when it was started.
 */
export async function refuseOverCaps(
  plan: CleanupPlan,
  { caps, by }: { readonly caps: CleanupCaps; readonly by: 'worker' | 'command' },
  { cleanupPlans }: Ledger,
): Promise<void> {
  const issues = passedCaps(plan.counts, await cleanupPlans.knownWells(), caps);
  if (issues.length === 0) return;
  const other = otherCaps(plan, caps, by === 'worker' ? 'the worker' : 'this configuration');
  throw new UsageError(`plan ${plan.planId} exceeds the caps: nothing was deleted`, {
    issues: [...issues, ...(other === undefined ? [] : [other])],
    hint:
      other !== undefined && by === 'worker'
        ? 'Restart the worker, which then reads the configuration again, and make the plan again.'
        : 'Look at the targets once more. If they are right, raise the cap in the configuration or take fewer at a time.',
  });
}

/** Running totals and digest of a plan while its targets arrive. */
class PlanTotals {
  readonly #hash = createHash('sha256');
  readonly warned: PlannedTarget[] = [];
  readonly #counts = { unknown: 0, unreadable: 0, producing: 0, unread: 0, unmapped: 0 };

  constructor(head: string) {
    this.#hash.update(head);
  }

  add(targets: readonly PlannedTarget[]): void {
    for (const target of targets) {
      this.#hash.update(targetLine(target));
      if (isWarned(target) && this.warned.length < maxWarningsShown) this.warned.push(target);
      for (const name of remarksOf(target)) this.#counts[name] += 1;
    }
  }

  get counts(): Pick<PlanCounts, Remark> {
    const { unread, unmapped, ...counts } = this.#counts;
    return { ...counts, ...(unread > 0 && { unread }), ...(unmapped > 0 && { unmapped }) };
  }

  /** Called once, after the last target. */
  digest(counts: PlanCounts): string {
    return this.#hash.update(countsLine(counts)).digest('hex');
  }
}

type Remark = 'unknown' | 'unreadable' | 'producing' | 'unread' | 'unmapped';

/** The counts of a plan to which a target adds; a well that produced adds to no doubt. */
function remarksOf({ snapshot, producedOn, doubt: uncertainty }: PlannedTarget): readonly Remark[] {
  return [
    ...(snapshot.state === 'absent' ? (['unknown'] as const) : []),
    ...(snapshot.state === 'unreadable' ? (['unreadable'] as const) : []),
    ...(producedOn !== null ? (['producing'] as const) : []),
    ...(producedOn === null && uncertainty !== null
      ? ([uncertainty === 'unmapped' ? 'unmapped' : 'unread'] as const)
      : []),
  ];
}

async function planSlice(
  targets: readonly DeletionTarget[],
  from: number,
  context: JobContext,
  how: PlanOptions,
): Promise<readonly PlannedTarget[]> {
  const snapshots = await readTarget(targets, context.service, how);
  const sighted = targets.map((target, index) => ({ ...target, snapshot: snapshots[index] ?? absent }));
  const found = await findingsOf(sighted, context, how);
  return sighted.map((target, index) => ({ ...target, ordinal: from + index, ...(found[index] ?? noFinding) }));
}

const absent: TargetSnapshot = { state: 'absent', contentType: null, body: null };

/** Snapshots of the targets, in order. Each piece of equipment and each well is requested once. */
async function readTarget(
  targets: readonly DeletionTarget[],
  service: ProductionDataService,
  { concurrency, signal }: ReadOptions,
): Promise<readonly TargetSnapshot[]> {
  const options = signal === undefined ? {} : { signal };
  const records = new Map<string, (sourceId: string | null) => TargetSnapshot>();
  await mapConcurrent(equipmentOf(targets), concurrency, async (id) => {
    const found = service.fetchRecords(timeSeries, id, options).then(snapshotsIn, (error: unknown) => {
      const snapshot = snapshotOfError(error);
      return () => snapshot;
    });
    records.set(id, await found);
  });
  const wells = new Map<string, TargetSnapshot>();
  await mapConcurrent(wellsOf(targets), concurrency, async (id) => {
    const found = service.fetchWell(id, options).then((well): TargetSnapshot => ({ state: 'present', ...well }));
    wells.set(id, await found.catch(snapshotOfError));
  });
  return targets.map((target) => {
    const { ownerId, sourceId } = target;
    return (isTimeSeries(target) ? records.get(ownerId)?.(sourceId) : wells.get(ownerId)) ?? absent;
  });
}

/** The snapshot of each of these records, by its source id. */
function snapshotsIn(records: readonly TimeSeriesRecord[]): (sourceId: string | null) => TargetSnapshot {
  return (sourceId) => {
    const record = records.find((candidate) => candidate.sourceId === sourceId);
    if (record === undefined) return absent;
    return { state: 'present', contentType: 'application/json', body: JSON.stringify(record) };
  };
}

/**
 * A record that breaks the contract may be the very reason to delete it. Rethrows anything but an answer about the
 * target.
 */
function snapshotOfError(error: unknown): TargetSnapshot {
  if (error instanceof NotFoundError) return absent;
  if (error instanceof PermanentError && error.code !== 'identifier') {
    return { state: 'unreadable', contentType: null, body: faultOf(error).message };
  }
  throw error;
}

/**
 * Yields the targets of a plan in slices. Throws UsageError at the end if the stored plan is not the one that was made.
 */
async function* checkedSlices(plan: CleanupPlan, { cleanupPlans }: Ledger): AsyncGenerator<readonly PlannedTarget[]> {
  const { planId, counts } = plan;
  const totals = new PlanTotals(planLine(plan));
  for (let from = 0; from < counts.targets; from += sliceTargets) {
    const planned = await cleanupPlans.targets(planId, { from, limit: sliceTargets });
    totals.add(planned);
    yield planned;
  }
  // Targets in no slice (renumbered, or beyond the last) would not be in the digest.
  const isWhole = (await cleanupPlans.targetCount(planId)) === counts.targets;
  if (isWhole && totals.digest(counts) === plan.digest) return;
  throw new UsageError(`plan ${planId} is not as it was made: somebody changed it in the warehouse`, {
    hint: 'Nothing was deleted. Find out who writes to the warehouse, and make a new plan.',
  });
}

/** The targets of each piece of equipment and each well in a slice: what one request shows. */
async function* byOwner(slices: AsyncIterable<readonly PlannedTarget[]>): AsyncGenerator<readonly PlannedTarget[]> {
  for await (const slice of readAhead(slices)) {
    yield* grouped(slice, (target) => `${isTimeSeries(target)} ${target.ownerId}`).values();
  }
}

/** Throws UsageError if the stored plan is not the one that was made. Sends no request to the service. */
export async function refuseTampered(plan: CleanupPlan, { ledger }: Pick<JobContext, 'ledger'>): Promise<void> {
  for await (const _ of checkedSlices(plan, ledger));
}

/**
 * Checks the targets of a plan once more. Throws UsageError with the changes at the service since the plan, and if the
 * stored plan is not the one that was made.
 */
export async function refuseChanged(plan: CleanupPlan, context: JobContext, read: ReadOptions): Promise<void> {
  const changed: { readonly ordinal: number; readonly change: string }[] = [];
  await mapConcurrent(byOwner(checkedSlices(plan, context.ledger)), read.concurrency, async (targets) => {
    const snapshots = await readTarget(targets, context.service, read);
    for (const [index, target] of targets.entries()) {
      const change = changeSince(target, snapshots[index] ?? absent);
      if (change !== undefined) changed.push({ ordinal: target.ordinal, change });
    }
  });
  const changes = changed.toSorted((left, right) => left.ordinal - right.ordinal).map(({ change }) => change);
  if (changes.length === 0) return;
  const more = changes.length - maxChangesShown;
  throw new UsageError(`what plan ${plan.planId} would delete has changed since it was made: nothing was deleted`, {
    issues: [...changes.slice(0, maxChangesShown), ...(more > 0 ? [`and ${more} more`] : [])],
    hint: 'Look at what changed, and make a new plan.',
  });
}

// Finds out which wells of a cleanup produce, when it is planned and again before each deletion.

export interface ProducingSettings {
  /** Production within so many days keeps a well. */
  readonly producingDays: number;
  /** Path of the uwi in the body of a well; without one the source id is the uwi. */
  readonly uwiField: string | undefined;
}

type SightedTarget = DeletionTarget & { readonly snapshot: TargetSnapshot };

/**
 * The findings for targets, in order. The uwi of a well is taken from what the service showed of it, and from the table
 * `well`. Equipment cannot be mapped to a well: its time series have no finding.
 */
async function findingsOf(
  targets: readonly SightedTarget[],
  { warehouse, ledger, now }: Pick<JobContext, 'warehouse' | 'ledger' | 'now'>,
  { producingDays, uwiField }: ProducingSettings,
): Promise<readonly ProductionFinding[]> {
  const wells = wellsOf(targets);
  const stored = uwiField === undefined ? noBodies : await warehouse.wells.bodies(wells);
  const uwis = new Map<string, readonly string[]>();
  for (const target of targets) {
    if (isTimeSeries(target)) continue;
    const bodies = [...bodyOf(target.snapshot), ...[stored.get(target.ownerId) ?? []].flat()];
    uwis.set(target.ownerId, uwisOfWell(target.ownerId, bodies, uwiField));
  }
  const asked = [...new Set([...uwis.values()].flat())];
  const nowMs = now();
  const known = await ledger.cleanupPlans.recentProduction(asked, { sinceMs: nowMs - producingDays * DAY_MS, nowMs });
  return targets.map((target) => (isTimeSeries(target) ? noFinding : findingOf(uwis.get(target.ownerId) ?? [], known)));
}

const noBodies: ReadonlyMap<string, WellBody> = new Map();

/** What an unreadable snapshot holds is no body but its fault. */
function bodyOf({ state, contentType, body }: TargetSnapshot): readonly WellBody[] {
  return state === 'present' && body !== null ? [{ contentType, body }] : [];
}

/**
 * Checks targets of a plan again: by ordinal, why one is `kept`, and the `warnings` of one in the report. A target is kept
 * where it produced when it was planned, or produces by now; a plan that includes producing wells keeps none.
 */
export async function checkProducing(
  plan: CleanupPlan,
  targets: readonly PlannedTarget[],
  context: Pick<JobContext, 'warehouse' | 'ledger' | 'now'>,
  settings: ProducingSettings,
) {
  const found = await findingsOf(targets, context, settings);
  const rule = { days: settings.producingDays, isUnattended: plan.selection !== null };
  const kept = new Map<number, string>();
  const warnings = new Map<number, readonly string[]>();
  for (const [index, target] of targets.entries()) {
    const reason = [found[index] ?? noFinding, target].map((finding) => reasonToKeep(finding, rule)).find(Boolean);
    if (reason !== undefined && !plan.includesProducing) kept.set(target.ordinal, reason);
    const warning = warningsOf(target, reason !== undefined && plan.includesProducing);
    if (warning.length > 0) warnings.set(target.ordinal, warning);
  }
  return { kept, warnings };
}

/** As the plan warns. A target that is kept has its reason in the report already. */
function warningsOf({ snapshot }: PlannedTarget, isProducingIncluded: boolean): readonly string[] {
  return [
    ...(isProducingIncluded ? ['to be deleted although the well produces, or counts as producing: {targets}'] : []),
    ...(snapshot.state === 'absent' ? ['not known to the service when the plan was made: {targets}'] : []),
    ...(snapshot.state === 'unreadable' ? ['shown by the service in a form that breaks its contract: {targets}'] : []),
  ];
}
