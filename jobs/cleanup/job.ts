/**
 * The job that deletes the targets of a plan: time series records, micro strings and wellbores, each with its intent in
 * the audit before its request and its outcome after (docs/design.md section 4.4). A unit is a target of the plan.
 */
import { z } from 'zod';
import type { NextAction } from '../../src/core/base/action.ts';
import { AbortedError, type Fault, NotFoundError, UsageError, WellsyncError } from '../../src/core/base/errors.ts';
import {
  conclusionOf,
  type DeletionConclusion,
  IntentPace,
  mayHaveTakenEffect,
  refusal,
  type Verification,
  withheld,
} from '../../src/core/cleanup/outcome.ts';
import {
  type CleanupCaps,
  type CleanupPlan,
  type PlannedTarget,
  refuseStale,
  refuseUnfit,
} from '../../src/core/cleanup/plan.ts';
import {
  chunkTargets,
  type DeletionTarget,
  equipmentOf,
  isTimeSeries,
  targetKinds,
  targetText,
} from '../../src/core/cleanup/target.ts';
import { isCounted, type JobDescription } from '../../src/core/run/job-description.ts';
import type { PlannedUnit, RunReport } from '../../src/core/run/run.ts';
import type { ChunkOfWork, Job, JobContext, UnsettledUnit } from '../../src/runs/job.ts';
import {
  checkProducing,
  makePlan,
  type ProducingSettings,
  refuseChanged,
  refuseOverCaps,
  refuseTampered,
} from './planner.ts';
import { refuseOtherFile, resolveSelection, type Selections } from './selection.ts';
import { mapConcurrent } from '../../src/core/base/lists.ts';
import { timeSeries } from '../../src/core/definitions/record-list.ts';
import { isForAll } from '../../src/core/run/retry-decision.ts';
import type { CallOptions, ProductionDataService } from '../../src/service/production-data-service.ts';
import type { BegunDeletion } from '../../src/warehouse/port/cleanup.ts';

/** targets = deleted + alreadyGone + refused + failed, plus cancelled ones if the run was cancelled (G2). */
export const cleanup: JobDescription = {
  name: 'cleanup',
  units: { one: 'target', many: 'targets', failing: 'could not be deleted', held: 'not gone' },
  record: undefined,
  deletes: true,
  counts: [
    { name: 'deleted', inSum: 'part' },
    { name: 'alreadyGone', inSum: 'part' },
    { name: 'refused', inSum: 'part', isException: true },
    { name: 'notSent', isHidden: true },
    { name: 'notFound', isHidden: true },
    { name: 'verifiedGone' },
    { name: 'stillThere', isException: true },
    { name: 'notVerified' },
  ],
  nextSteps,
  failureOf,
};

/** So few targets may have been deleted by others since their plan. */
const fewTargets = 3;

/**
 * An address that is right for reads and wrong for deletions, or a proxy, answers 404 to everything: nobody may take
 * that for a cleanup that found everything gone.
 */
function failureOf({ units, counts }: Pick<RunReport, 'units' | 'counts'>): Fault | undefined {
  const { notFound = 0, notSent = 0 } = counts;
  const answered = units.done + units.held - notSent;
  if (notFound <= fewTargets || notFound < answered) return undefined;
  return {
    code: 'all-unknown',
    message: `the service answered 404 to every deletion (${notFound}), and showed these targets when the plan was made`,
    hint: 'Nothing was deleted. Is the address right, and does nothing stand between that takes deletions away?',
    action: { kind: 'check-address', setting: 'service.url' },
  };
}

function nextSteps({ runId, units, counts }: RunReport): readonly NextAction[] {
  if (units.total === 0) return [];
  const isUndone = isCounted(counts, 'refused') || isCounted(counts, 'stillThere');
  return [{ kind: 'audit-run', runId }, ...(isUndone ? [{ kind: 'plan-cleanup' } as const] : [])];
}

export const cleanupJobName = cleanup.name;

export interface CleanupSettings extends Omit<DeletionSettings, 'pace'> {
  readonly planMaxAgeMs: number;
  readonly chunkTargets: number;
  /** Caps of confirmed plans. */
  readonly caps: CleanupCaps;
  readonly selections: Selections;
}

/**
 * Either a plan that an operator confirmed, last checked at `checkedAtMs`, or a saved selection that this run plans and
 * applies. `selectionSha256`: hash of the selection's file when the run was requested; null for a query. `requestedBy`
 * goes into the audit.
 */
const paramsSchema = z.union([
  z.strictObject({ planId: z.string(), checkedAtMs: z.number(), requestedBy: z.string() }),
  z.strictObject({
    selection: z.string(),
    // Absent from older runs.
    selectionSha256: z.string().nullable().default(null),
    requestedBy: z.string(),
  }),
]);
export type CleanupParams = z.output<typeof paramsSchema>;

/** The plan of a run that waited longer for a worker is checked again. */
const checkAgainAfterMs = 600_000;

export function createCleanupJob(settings: CleanupSettings): Job<CleanupParams> {
  const pace = new IntentPace(settings.concurrency);
  return {
    ...cleanup,
    queue: 'cleanup',
    params: paramsSchema,
    varyingParams: ['checkedAtMs', 'requestedBy'],
    plan: (params, context, runId) => planUnits(params, settings, context, runId),
    work: (chunk, context) => new ChunkDeletion({ ...settings, pace }, chunk, context).run(),
    observe: async () => ({ isCleanup: true }),
    atEnd: (runId, { ledger, now }) => ledger.deletions.closeFailed(runId, now()),
    checkRetry: async (runId, { ledger, now }) => {
      const plan = await ledger.cleanupPlans.ofRun(runId);
      if (plan !== undefined) refuseStale(plan, { atMs: now(), maxAgeMs: settings.planMaxAgeMs });
    },
  };
}

async function planUnits(
  params: CleanupParams,
  settings: CleanupSettings,
  context: JobContext,
  runId: string,
): Promise<readonly PlannedUnit[]> {
  const { cleanupPlans } = context.ledger;
  const plan =
    'planId' in params
      ? await confirmedPlan(params, settings, context, runId)
      : // After a crash the run may already have its plan.
        ((await cleanupPlans.ofRun(runId)) ?? (await planOfSelection(params, settings, context)));
  const holder = await cleanupPlans.claim(plan.planId, { runId, atMs: context.now(), by: params.requestedBy });
  if (holder !== runId) {
    throw new UsageError(`plan ${plan.planId} was applied by run ${holder} in the meantime`, {
      action: { kind: 'show-run', runId: holder },
    });
  }
  const targets = await cleanupPlans.ids(plan.planId);
  const chunks = chunkTargets(targets, settings.chunkTargets);
  return targets.map((target, unit) => ({ unit, chunk: chunks[unit] ?? 0, target: targetText(target), spec: null }));
}

/**
 * Checks the plan against its rules where the guarantee rests (G6): the requester of the run may have checked nothing,
 * and the run may have waited long.
 */
async function confirmedPlan(
  { planId, checkedAtMs }: Extract<CleanupParams, { readonly planId: string }>,
  { planMaxAgeMs, concurrency, caps }: CleanupSettings,
  context: JobContext,
  runId: string,
): Promise<CleanupPlan> {
  const { ledger, service, now } = context;
  const plan = await ledger.cleanupPlans.read(planId);
  if (plan === undefined) throw new UsageError(`there is no plan ${planId}`);
  const serviceNames = await ledger.ownership.namesOf(service.baseUrl);
  refuseUnfit(plan, { serviceUrl: service.baseUrl, serviceNames, atMs: now(), maxAgeMs: planMaxAgeMs, runId });
  await refuseOverCaps(plan, { caps, by: 'worker' }, ledger);
  if (now() - checkedAtMs > checkAgainAfterMs) await refuseChanged(plan, context, { concurrency });
  else await refuseTampered(plan, context);
  return plan;
}

async function planOfSelection(
  {
    selection,
    selectionSha256: expectedSha256,
    requestedBy: createdBy,
  }: Extract<CleanupParams, { readonly selection: string }>,
  settings: CleanupSettings,
  context: JobContext,
): Promise<CleanupPlan> {
  const resolved = await resolveSelection(selection, settings.selections, context.warehouse);
  refuseOtherFile(selection, resolved, expectedSha256);
  const { sha256: selectionSha256, ...limited } = resolved;
  const request = { ...limited, selection, selectionSha256, createdBy, isUnattended: true, keep: true };
  return (await makePlan(request, context, settings)).plan;
}

// The work on one chunk of a cleanup: wells that produce are refused, then slice by slice the intents and their requests,
// a check of what is gone, and all outcomes (docs/design.md section 4.4).

interface DeletionSettings extends ProducingSettings {
  /** Concurrent requests of a chunk. */
  readonly concurrency: number;
  /** Of all chunks of this process: what one learns of the service serves the next. */
  readonly pace: IntentPace;
}

/** How much a kill makes uncertain at a slow service: the outcomes since then. */
const settleEveryMs = 5_000;

class ChunkDeletion {
  readonly #settings: DeletionSettings;
  readonly #chunk: Pick<ChunkOfWork<unknown>, 'runId' | 'units' | 'signal' | 'settled'>;
  readonly #context: JobContext;
  /** The targets of the chunk in the plan, by unit. */
  #planned: ReadonlyMap<number, PlannedTarget> = new Map();
  #warnings: ReadonlyMap<number, readonly string[]> = new Map();
  readonly #begun: BegunDeletion[] = [];
  readonly #conclusions = new Map<number, DeletionConclusion>();
  readonly #errors = new Map<number, unknown>();
  readonly #withdrawn: number[] = [];
  readonly #settled = new Set<number>();
  /** An error that every further target would meet as well: no further deletion is begun. */
  #forAll: unknown;
  #settledAtMs: number;

  constructor(settings: DeletionSettings, chunk: ChunkOfWork<unknown>, context: JobContext) {
    this.#settings = settings;
    this.#chunk = chunk;
    this.#context = context;
    this.#settledAtMs = context.now();
  }

  async run(): Promise<readonly UnsettledUnit[]> {
    const { units } = this.#chunk;
    await this.#refuseProducing();
    for (const kind of [undefined, ...targetKinds]) {
      const ofKind = units.filter(({ unit }) => this.#planned.get(unit)?.kind === kind && !this.#conclusions.has(unit));
      await this.#deleteInGroups(ofKind);
    }
    await this.#settle();
    return units.flatMap((unit) => (this.#errors.has(unit.unit) ? [{ unit, error: this.#errors.get(unit.unit) }] : []));
  }

  /** Checks and stores what was concluded since the last time. */
  async #settle(): Promise<void> {
    const { runId } = this.#chunk;
    const { ledger, now } = this.#context;
    await this.#verify();
    const conclusions = [...this.#conclusions]
      .filter(([unit]) => !this.#settled.has(unit))
      .map(([unit, conclusion]) => ({ unit, conclusion, warnings: this.#warnings.get(unit) ?? [] }));
    const withdrawn = this.#withdrawn.splice(0);
    for (const { unit } of conclusions) this.#settled.add(unit);
    await this.#chunk.settled(await ledger.deletions.conclude({ runId, conclusions, withdrawn, atMs: now() }));
  }

  async #refuseProducing(): Promise<void> {
    const { runId, units } = this.#chunk;
    const { cleanupPlans } = this.#context.ledger;
    const plan = await cleanupPlans.ofRun(runId);
    const [from = 0, to = from] = [units[0]?.unit, units.at(-1)?.unit];
    // Without a plan of the run, nothing can be begun.
    if (plan === undefined) return;
    const targets = await cleanupPlans.targets(plan.planId, { from, limit: to - from + 1 });
    this.#planned = new Map(targets.map((target) => [target.ordinal, target]));
    const { kept, warnings } = await checkProducing(plan, targets, this.#context, this.#settings);
    this.#warnings = warnings;
    for (const { unit } of units) {
      const reason = kept.get(unit);
      if (reason !== undefined) this.#conclusions.set(unit, withheld(reason));
    }
  }

  /** In groups as large as the service is quick (src/core/cleanup/outcome.ts). */
  async #deleteInGroups(units: readonly PlannedUnit[]): Promise<void> {
    const { pace } = this.#settings;
    const { now } = this.#context;
    for (let from = 0; from < units.length;) {
      const group = units.slice(from, from + pace.groupSize);
      pace.record(group.length, await this.#deleteGroup(group));
      from += group.length;
      if (now() - this.#settledAtMs < settleEveryMs) continue;
      await this.#settle();
      this.#settledAtMs = now();
    }
  }

  /** Returns the milliseconds that the requests took. */
  async #deleteGroup(group: readonly PlannedUnit[]): Promise<number> {
    const { runId, signal } = this.#chunk;
    const { ledger, service, now } = this.#context;
    if (signal.aborted) this.#forAll ??= new AbortedError();
    const units = group.map(({ unit }) => unit).filter((unit) => this.#mayBegin(unit));
    const batch = { runId, units, serviceUrl: service.baseUrl, atMs: now() };
    const begun = await ledger.deletions.begin(batch);
    this.#begun.push(...begun);
    const beganMs = now();
    await mapConcurrent(begun, this.#settings.concurrency, (target) => this.#delete(target));
    return now() - beganMs;
  }

  /** The wellbores of a well follow its micro strings: whatever keeps the micro strings keeps the wellbores. */
  #mayBegin(unit: number): boolean {
    const before = this.#unitBefore(unit);
    const error = this.#forAll ?? (before === undefined ? undefined : this.#errors.get(before));
    if (error !== undefined) {
      this.#errors.set(unit, error);
      return false;
    }
    if (before === undefined || this.#conclusions.get(before)?.outcome !== 'refused') return true;
    this.#conclusions.set(unit, refusal('not sent: the micro strings of the well, which go first, were refused'));
    return false;
  }

  /** The unit of the micro strings that go before these wellbores; undefined if there are none. */
  #unitBefore(unit: number): number | undefined {
    const target = this.#planned.get(unit);
    if (target?.kind !== 'wellbores') return undefined;
    const before = this.#chunk.units.find((each) => {
      const planned = this.#planned.get(each.unit);
      return planned?.kind === 'micro-strings' && planned.ownerId === target.ownerId;
    });
    return before?.unit;
  }

  async #delete(target: BegunDeletion): Promise<void> {
    const { signal } = this.#chunk;
    if (signal.aborted) this.#forAll ??= new AbortedError();
    if (this.#forAll !== undefined) return this.#leave(target, this.#forAll, target.isRepeat);
    // An attempt that was never sent has no effect.
    let isSent = false;
    let mayBeDone = target.isRepeat;
    const endAttempt = (error: unknown): void => {
      mayBeDone ||= isSent && mayHaveTakenEffect(error);
      isSent = false;
    };
    const options = { signal, onAttempt: () => (isSent = true), onRetry: endAttempt };
    const result = await requestOf(target, this.#context.service, options).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error }),
    );
    const wasPresent = this.#planned.get(target.unit)?.snapshot.state === 'present';
    const conclusion = conclusionOf(result, mayBeDone, wasPresent && !target.wasDeleted);
    if (conclusion !== undefined) return void this.#conclusions.set(target.unit, conclusion);
    const error = 'error' in result ? result.error : undefined;
    if (isForAll(error)) this.#forAll = error;
    endAttempt(error);
    this.#leave(target, error, mayBeDone);
  }

  /** Leaves a target to the engine. Its intent stays open only if a request of it may have taken effect. */
  #leave(target: BegunDeletion, error: unknown, mayBeDone: boolean): void {
    this.#errors.set(target.unit, error);
    if (!mayBeDone) this.#withdrawn.push(target.unit);
  }

  /** Checks time series once more; the other kinds have no documented read (docs/interface.md section 4). */
  async #verify(): Promise<void> {
    const gone = this.#begun.filter(({ unit }) => {
      if (this.#settled.has(unit)) return false;
      const outcome = this.#conclusions.get(unit)?.outcome;
      return outcome === 'deleted' || outcome === 'already gone';
    });
    for (const target of gone) if (!isTimeSeries(target)) this.#record(target, 'no read');
    await mapConcurrent(equipmentOf(gone), this.#settings.concurrency, async (equipment) => {
      const targets = gone.filter((target) => isTimeSeries(target) && target.ownerId === equipment);
      const left = await this.#sourceIdsOf(equipment);
      for (const target of targets) this.#record(target, verificationOf(target, left));
    });
  }

  /**
   * Source ids of the equipment's remaining records; undefined if they could not be read, which does not affect a
   * finished deletion.
   */
  async #sourceIdsOf(equipment: string): Promise<ReadonlySet<string> | undefined> {
    if (this.#chunk.signal.aborted) return undefined;
    try {
      const records = await this.#context.service.fetchRecords(timeSeries, equipment, { signal: this.#chunk.signal });
      return new Set(records.map(({ sourceId }) => sourceId));
    } catch (error) {
      if (error instanceof NotFoundError) return new Set();
      if (error instanceof WellsyncError) return undefined;
      throw error;
    }
  }

  #record({ unit }: BegunDeletion, verification: Verification): void {
    const conclusion = this.#conclusions.get(unit);
    if (conclusion !== undefined) this.#conclusions.set(unit, { ...conclusion, verification });
  }
}

function verificationOf({ sourceId }: DeletionTarget, left: ReadonlySet<string> | undefined): Verification {
  if (left === undefined) return 'not checked';
  return left.has(sourceId ?? '') ? 'still there' : 'gone';
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
