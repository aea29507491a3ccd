/**
 * The job that deletes what a plan says: time series records, micro strings and wellbores, each with its intent in the audit
 * before its request and its outcome after (DESIGN.md section 4.4). A unit is a target of the plan.
 */
import { z } from 'zod';
import { refuseStale, refuseUnfit, type CleanupCaps, type CleanupPlan } from '../src/core/cleanup-plan.ts';
import {
  balanceCleanup,
  endingOf,
  mayHaveTakenEffect,
  refusal,
  type DeletionEnding,
  type DeletionResult,
  type Verification,
} from '../src/core/deletion-outcome.ts';
import {
  chunkTargets,
  equipmentOf,
  isTimeSeries,
  targetKinds,
  targetText,
  type DeletionTarget,
} from '../src/core/deletion-target.ts';
import { AbortedError, NotFoundError, UsageError, WellsyncError } from '../src/core/errors.ts';
import type { PlannedUnit } from '../src/core/run.ts';
import { isForAll } from '../src/core/verdict.ts';
import { makePlan, refuseChanged, refuseTampered } from '../src/runs/cleanup-planner.ts';
import type { ChunkOfWork, Job, JobParts, Leftover } from '../src/runs/job.ts';
import { sideBySide } from '../src/runs/side-by-side.ts';
import type { CallOptions, ProductionDataService } from '../src/service/production-data-service.ts';
import type { BegunDeletion } from '../src/warehouse/cleanup.ts';
import type { Warehouse } from '../src/warehouse/warehouse.ts';

export const cleanupJobName = 'cleanup';

/** What a saved selection comes to when it is looked up. */
export interface ResolvedSelection {
  readonly targets: readonly DeletionTarget[];
  readonly caps: CleanupCaps;
}

export interface CleanupSettings {
  readonly planMaxAgeMs: number;
  readonly chunkTargets: number;
  /** Requests of a chunk at one time. */
  readonly concurrency: number;
  /** Finds the targets of a saved selection. Throws UsageError for one that is not known or cannot be read. */
  readonly resolveSelection: (name: string, warehouse: Warehouse) => Promise<ResolvedSelection>;
}

/**
 * Either a plan that an operator confirmed, looked at last at `checkedAtMs`, or a saved selection that is planned and
 * applied in this one run. `requestedBy` goes into the audit.
 */
const paramsSchema = z.union([
  z.strictObject({ planId: z.string(), checkedAtMs: z.number(), requestedBy: z.string() }),
  z.strictObject({ selection: z.string(), requestedBy: z.string() }),
]);
export type CleanupParams = z.output<typeof paramsSchema>;

/** A run that waited longer for a worker has its plan looked at once more. */
const lookAgainAfterMs = 600_000;

export function createCleanupJob(settings: CleanupSettings): Job<CleanupParams> {
  return {
    name: cleanupJobName,
    queue: 'cleanup',
    params: paramsSchema,
    exceptions: ['refused', 'stillThere'],
    balance: balanceCleanup,
    plan: (params, parts, runId) => planUnits(params, settings, parts, runId),
    work: (chunk, parts) => new ChunkDeletion(settings, chunk, parts).run(),
    atEnd: (runId, { warehouse, now }) => warehouse.deletions.closeFailed(runId, now()),
    checkRetry: async (runId, { warehouse, now }) => {
      const plan = await warehouse.cleanupPlans.ofRun(runId);
      if (plan !== undefined) refuseStale(plan, { atMs: now(), maxAgeMs: settings.planMaxAgeMs });
    },
  };
}

async function planUnits(
  params: CleanupParams,
  settings: CleanupSettings,
  parts: JobParts,
  runId: string,
): Promise<readonly PlannedUnit[]> {
  const { cleanupPlans } = parts.warehouse;
  const plan =
    'planId' in params
      ? await confirmedPlan(params, settings, parts, runId)
      : // After a crash the run may have its plan already.
        ((await cleanupPlans.ofRun(runId)) ?? (await planOfSelection(params, settings, parts)));
  const holder = await cleanupPlans.claim(plan.planId, { runId, atMs: parts.now(), by: params.requestedBy });
  if (holder !== runId) {
    throw new UsageError(`plan ${plan.planId} was applied by run ${holder} in the meantime`, {
      hint: `See what it did: wellsync runs show ${holder}.`,
    });
  }
  const targets = await cleanupPlans.ids(plan.planId);
  const chunks = chunkTargets(targets, settings.chunkTargets);
  return targets.map((target, unit) => ({ unit, chunk: chunks[unit] ?? 0, target: targetText(target), spec: null }));
}

/** The plan is held to its rules once more: nobody knows how long the run has waited for a worker, nor for which one. */
async function confirmedPlan(
  { planId, checkedAtMs }: Extract<CleanupParams, { readonly planId: string }>,
  { planMaxAgeMs, concurrency }: CleanupSettings,
  parts: JobParts,
  runId: string,
): Promise<CleanupPlan> {
  const { warehouse, service, now } = parts;
  const plan = await warehouse.cleanupPlans.read(planId);
  if (plan === undefined) throw new UsageError(`there is no plan ${planId}`);
  refuseUnfit(plan, { serviceUrl: service.baseUrl, atMs: now(), maxAgeMs: planMaxAgeMs, runId });
  if (now() - checkedAtMs > lookAgainAfterMs) await refuseChanged(plan, parts, { concurrency });
  else await refuseTampered(plan, parts);
  return plan;
}

async function planOfSelection(
  { selection, requestedBy: createdBy }: Extract<CleanupParams, { readonly selection: string }>,
  { resolveSelection, concurrency }: CleanupSettings,
  parts: JobParts,
): Promise<CleanupPlan> {
  const { targets, caps } = await resolveSelection(selection, parts.warehouse);
  const request = { targets, caps, selection, createdBy, isUnattended: true, keep: true };
  return (await makePlan(request, parts, { concurrency })).plan;
}

/** The work on one chunk: all intents first, then the requests kind by kind, a look at what is gone, and all endings. */
class ChunkDeletion {
  readonly #settings: CleanupSettings;
  readonly #chunk: ChunkOfWork<CleanupParams>;
  readonly #parts: JobParts;
  readonly #endings = new Map<number, DeletionEnding>();
  readonly #errors = new Map<number, unknown>();
  readonly #withdrawn: number[] = [];
  /** An error that every further target would meet as well: none is begun any more. */
  #forAll: unknown;

  constructor(settings: CleanupSettings, chunk: ChunkOfWork<CleanupParams>, parts: JobParts) {
    this.#settings = settings;
    this.#chunk = chunk;
    this.#parts = parts;
  }

  async run(): Promise<readonly Leftover[]> {
    const { runId, units } = this.#chunk;
    const { warehouse, service, now } = this.#parts;
    const begun = await warehouse.deletions.begin({
      runId,
      units: units.map(({ unit }) => unit),
      serviceUrl: service.baseUrl,
      atMs: now(),
    });
    for (const kind of targetKinds) {
      const ofKind = begun.filter((target) => target.kind === kind);
      await sideBySide(ofKind, this.#settings.concurrency, (target) => this.#deleteInOrder(target, begun));
    }
    await this.#verify(begun);
    const endings = [...this.#endings].map(([unit, ending]) => ({ unit, ending }));
    const outcomes = await warehouse.deletions.conclude({ runId, endings, withdrawn: this.#withdrawn, atMs: now() });
    await this.#chunk.settled(outcomes);
    return units.flatMap((unit) => (this.#errors.has(unit.unit) ? [{ unit, error: this.#errors.get(unit.unit) }] : []));
  }

  /** The wellbores of a well go only after its micro strings: what keeps those keeps these. */
  async #deleteInOrder(target: BegunDeletion, begun: readonly BegunDeletion[]): Promise<void> {
    const before = begun.find(({ kind, ownerId }) => kind === 'micro-strings' && ownerId === target.ownerId);
    if (target.kind !== 'wellbores' || before === undefined) return this.#delete(target);
    if (this.#endings.get(before.unit)?.outcome === 'refused') {
      this.#endings.set(target.unit, refusal('not sent: the micro strings of the well, which go first, were refused'));
      return;
    }
    if (this.#errors.has(before.unit)) return this.#leave(target, this.#errors.get(before.unit), target.isRepeat);
    return this.#delete(target);
  }

  async #delete(target: BegunDeletion): Promise<void> {
    const { signal } = this.#chunk;
    if (signal.aborted) this.#forAll ??= new AbortedError();
    if (this.#forAll !== undefined) return this.#leave(target, this.#forAll, target.isRepeat);
    let isRepeat = target.isRepeat;
    const onRetry = (error: unknown): void => {
      isRepeat ||= mayHaveTakenEffect(error);
    };
    const result = await send(target, this.#parts.service, { signal, onRetry });
    const ending = endingOf(result, isRepeat);
    if (ending !== undefined) {
      this.#endings.set(target.unit, ending);
      return;
    }
    const error = 'error' in result ? result.error : undefined;
    if (isForAll(error)) this.#forAll = error;
    this.#leave(target, error, isRepeat || mayHaveTakenEffect(error));
  }

  /** Leaves a target to the engine. Its intent stays open only where a request of it may have taken effect. */
  #leave(target: BegunDeletion, error: unknown, mayBeDone: boolean): void {
    this.#errors.set(target.unit, error);
    if (!mayBeDone) this.#withdrawn.push(target.unit);
  }

  /** Time series are looked for once more; the other kinds have no documented read (INTERFACE.md section 4). */
  async #verify(begun: readonly BegunDeletion[]): Promise<void> {
    const gone = begun.filter(({ unit }) => {
      const outcome = this.#endings.get(unit)?.outcome;
      return outcome === 'deleted' || outcome === 'already gone';
    });
    for (const target of gone) if (!isTimeSeries(target)) this.#note(target, 'no read');
    await sideBySide(equipmentOf(gone), this.#settings.concurrency, async (equipment) => {
      const targets = gone.filter((target) => isTimeSeries(target) && target.ownerId === equipment);
      const left = await this.#sourceIdsOf(equipment);
      for (const target of targets) this.#note(target, verificationOf(target, left));
    });
  }

  /** What the equipment still has; undefined where that could not be found out, which takes nothing from a deletion that is done. */
  async #sourceIdsOf(equipment: string): Promise<ReadonlySet<string> | undefined> {
    if (this.#chunk.signal.aborted) return undefined;
    try {
      const records = await this.#parts.service.fetchTimeSeries(equipment, { signal: this.#chunk.signal });
      return new Set(records.map(({ sourceId }) => sourceId));
    } catch (error) {
      if (error instanceof NotFoundError) return new Set();
      if (error instanceof WellsyncError) return undefined;
      throw error;
    }
  }

  #note({ unit }: BegunDeletion, verification: Verification): void {
    const ending = this.#endings.get(unit);
    if (ending !== undefined) this.#endings.set(unit, { ...ending, verification });
  }
}

function verificationOf({ sourceId }: DeletionTarget, left: ReadonlySet<string> | undefined): Verification {
  if (left === undefined) return 'not checked';
  return left.has(sourceId ?? '') ? 'still there' : 'gone';
}

async function send(
  target: DeletionTarget,
  service: ProductionDataService,
  options: CallOptions,
): Promise<DeletionResult> {
  try {
    return { answer: await requestOf(target, service, options) };
  } catch (error) {
    return { error };
  }
}

function requestOf(
  { kind, ownerId, sourceId }: DeletionTarget,
  service: ProductionDataService,
  options: CallOptions,
): Promise<number | null> {
  switch (kind) {
    case 'time-series':
      return service.deleteTimeSeries(ownerId, sourceId ?? '', options);
    case 'micro-strings':
      return service.deleteMicroStrings(ownerId, options);
    case 'wellbores':
      return service.deleteWellbores(ownerId, options);
  }
}
