/**
 * Makes the plan of a cleanup and looks at it again before it is applied: what the service shows of every target is read,
 * kept, and compared. Targets are taken slice by slice, so that memory does not grow with what is shown of them (G8).
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  changeSince,
  countsLine,
  countsOf,
  passedCaps,
  planIdOf,
  planLine,
  targetLine,
  type CleanupCaps,
  type CleanupPlan,
  type PlanCounts,
  type PlannedTarget,
  type Sighting,
} from '../core/cleanup-plan.ts';
import { equipmentOf, isTimeSeries, orderTargets, wellsOf, type DeletionTarget } from '../core/deletion-target.ts';
import { faultOf, NotFoundError, PermanentError, UsageError } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { ProductionDataService, TimeSeriesRecord } from '../service/production-data-service.ts';
import type { JobParts } from './job.ts';
import { sideBySide } from './side-by-side.ts';

/** Targets that are looked at together. */
const sliceTargets = 500;

/** How far back a well's production is worth a warning. */
const producingDays = 30;
const dayMs = 86_400_000;

/** How many targets that are worth a warning a plan tells of. */
export const warningsTold = 20;

/** How many changes are told of: more are of the same kind. */
const changesTold = 20;

export interface PlanRequest {
  /** As they were named: repeated ones are left out. */
  readonly targets: readonly DeletionTarget[];
  readonly selection: string | null;
  readonly createdBy: string;
  readonly caps: CleanupCaps;
  /** A cap that cannot be judged counts as passed: nobody is there to read a warning. */
  readonly isUnattended: boolean;
  /** Without it nothing is written: the plan is only shown. */
  readonly keep: boolean;
}

export interface MadePlan {
  readonly plan: CleanupPlan;
  /** The first targets that are worth a warning. */
  readonly warned: readonly PlannedTarget[];
}

export interface LookOptions {
  /** Requests at one time. */
  readonly concurrency: number;
  readonly signal?: AbortSignal;
}

/** Throws UsageError where nothing is to be deleted or a cap is passed, and as the service does where it cannot be asked. */
export async function makePlan(request: PlanRequest, parts: JobParts, look: LookOptions): Promise<MadePlan> {
  const { warehouse, service, now } = parts;
  const targets = orderTargets(request.targets);
  if (targets.length === 0) {
    throw new UsageError('nothing is to be deleted: no target is named', {
      hint: 'An empty selection never means everything. Name targets, or see why the file or the query has none.',
    });
  }
  const knownWells = await warehouse.cleanupPlans.knownWells();
  const named = countsOf(targets, request.targets.length, knownWells);
  refusePassedCaps(named, request);

  const { selection, createdBy } = request;
  const head = { serviceUrl: service.baseUrl, createdAtMs: now(), createdBy, selection };
  const draftId = `draft ${new Date(head.createdAtMs).toISOString()} ${randomUUID()}`;
  const tally = new PlanTally(planLine(head));
  for (let from = 0; from < targets.length; from += sliceTargets) {
    const planned = await planSlice(targets.slice(from, from + sliceTargets), from, parts, look);
    tally.add(planned);
    if (request.keep) await warehouse.cleanupPlans.draft(draftId, planned);
  }
  const { warned } = tally;
  const counts: PlanCounts = { ...named, ...tally.counts };
  const digest = tally.digest(counts);
  const plan: CleanupPlan = {
    ...head,
    planId: planIdOf(digest),
    digest,
    counts,
    applied: undefined,
  };
  if (request.keep) await warehouse.cleanupPlans.keep(draftId, plan);
  return { plan, warned };
}

function refusePassedCaps(counts: ReturnType<typeof countsOf>, { caps, isUnattended }: PlanRequest): void {
  const { knownWells, wells } = counts;
  const issues = [...passedCaps(counts, knownWells, caps)];
  if (isUnattended && knownWells === 0 && wells > 0) {
    issues.push('the warehouse knows no wells, so that nobody can say which share of them this is');
  }
  if (issues.length === 0) return;
  throw new UsageError('the cleanup passes its caps: nothing was planned and nothing was deleted', {
    issues,
    hint: 'Look at the targets once more. If they are right, raise the cap in the configuration or take fewer at a time.',
  });
}

/** What a plan adds up to, while its targets come. */
class PlanTally {
  readonly #hash = createHash('sha256');
  readonly warned: PlannedTarget[] = [];
  readonly counts = { unknown: 0, unreadable: 0, producing: 0 };

  constructor(head: string) {
    this.#hash.update(head);
  }

  add(targets: readonly PlannedTarget[]): void {
    for (const target of targets) {
      this.#hash.update(targetLine(target));
      if (target.sighting.state === 'absent') this.counts.unknown += 1;
      if (target.sighting.state === 'unreadable') this.counts.unreadable += 1;
      if (target.producedOn !== null) this.counts.producing += 1;
      const isWarned = target.sighting.state !== 'present' || target.producedOn !== null;
      if (isWarned && this.warned.length < warningsTold) this.warned.push(target);
    }
  }

  /** Once, when all targets have come. */
  digest(counts: PlanCounts): string {
    return this.#hash.update(countsLine(counts)).digest('hex');
  }
}

async function planSlice(
  targets: readonly DeletionTarget[],
  from: number,
  { service, warehouse, now }: JobParts,
  look: LookOptions,
): Promise<readonly PlannedTarget[]> {
  const sightings = await lookAt(targets, service, look);
  const producing = await warehouse.cleanupPlans.lastProduction(wellsOf(targets), now() - producingDays * dayMs);
  return targets.map((target, index) => ({
    ...target,
    ordinal: from + index,
    sighting: sightings[index] ?? absent,
    producedOn: isTimeSeries(target) ? null : (producing.get(target.ownerId) ?? null),
  }));
}

const absent: Sighting = { state: 'absent', contentType: null, body: null };

/** What the service shows of each, in order. Each piece of equipment and each well is asked for once. */
async function lookAt(
  targets: readonly DeletionTarget[],
  service: ProductionDataService,
  { concurrency, signal }: LookOptions,
): Promise<readonly Sighting[]> {
  const options = signal === undefined ? {} : { signal };
  const records = new Map<string, readonly TimeSeriesRecord[] | Sighting>();
  await sideBySide(equipmentOf(targets), concurrency, async (id) => {
    records.set(id, await service.fetchTimeSeries(id, options).catch(sightingOfError));
  });
  const wells = new Map<string, Sighting>();
  await sideBySide(wellsOf(targets), concurrency, async (id) => {
    const found = service.fetchWell(id, options).then((well): Sighting => ({ state: 'present', ...well }));
    wells.set(id, await found.catch(sightingOfError));
  });
  return targets.map((target) =>
    isTimeSeries(target)
      ? sightingOfRecord(records.get(target.ownerId), target)
      : (wells.get(target.ownerId) ?? absent),
  );
}

function sightingOfRecord(
  found: readonly TimeSeriesRecord[] | Sighting | undefined,
  { sourceId }: DeletionTarget,
): Sighting {
  if (found === undefined) return absent;
  if (!isList(found)) return found;
  const record = found.find((candidate) => candidate.sourceId === sourceId);
  return record === undefined
    ? absent
    : { state: 'present', contentType: 'application/json', body: JSON.stringify(record) };
}

function isList(found: readonly TimeSeriesRecord[] | Sighting): found is readonly TimeSeriesRecord[] {
  return Array.isArray(found);
}

/** A record that breaks the contract may be the very reason to delete it. Anything but an answer about the target is thrown on. */
function sightingOfError(error: unknown): Sighting {
  if (error instanceof NotFoundError) return absent;
  if (error instanceof PermanentError && error.code !== 'identifier') {
    return { state: 'unreadable', contentType: null, body: faultOf(error).message };
  }
  throw error;
}

/** The targets of a plan, slice by slice. Throws UsageError at the end where the warehouse no longer holds the plan as it was made. */
async function* heldToDigest(plan: CleanupPlan, { cleanupPlans }: Warehouse): AsyncGenerator<readonly PlannedTarget[]> {
  const { planId, counts } = plan;
  const tally = new PlanTally(planLine(plan));
  for (let from = 0; from < counts.targets; from += sliceTargets) {
    const planned = await cleanupPlans.targets(planId, { from, limit: sliceTargets });
    tally.add(planned);
    yield planned;
  }
  // Those that no slice has (numbered otherwise, or beyond the last) would not be in the digest.
  const isWhole = (await cleanupPlans.targetCount(planId)) === counts.targets;
  if (isWhole && tally.digest(counts) === plan.digest) return;
  throw new UsageError(`plan ${planId} is not as it was made: somebody changed it in the warehouse`, {
    hint: 'Nothing was deleted. Find out who writes to the warehouse, and make a new plan.',
  });
}

/** Throws UsageError where the warehouse no longer holds the plan as it was made; the service is not asked. */
export async function refuseTampered(plan: CleanupPlan, { warehouse }: Pick<JobParts, 'warehouse'>): Promise<void> {
  for await (const _ of heldToDigest(plan, warehouse));
}

/**
 * Looks at the targets of a plan once more. Throws UsageError with what the service shows otherwise than the plan has it,
 * and where the warehouse no longer holds the plan as it was made.
 */
export async function refuseChanged(plan: CleanupPlan, parts: JobParts, look: LookOptions): Promise<void> {
  const changes: string[] = [];
  for await (const planned of heldToDigest(plan, parts.warehouse)) {
    const sightings = await lookAt(planned, parts.service, look);
    changes.push(...planned.flatMap((target, index) => changeSince(target, sightings[index] ?? absent) ?? []));
  }
  if (changes.length === 0) return;
  const more = changes.length - changesTold;
  throw new UsageError(`what plan ${plan.planId} would delete has changed since it was made: nothing was deleted`, {
    issues: [...changes.slice(0, changesTold), ...(more > 0 ? [`and ${more} more`] : [])],
    hint: 'Look at what changed, and make a new plan.',
  });
}
