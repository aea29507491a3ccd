/**
 * The common part of the exports of time series definitions and of wells: one request a target, answers merged in
 * batches, each target settled by itself (docs/design.md section 4.2).
 */
import { z } from 'zod';
import type { JobDescription } from '../../src/core/run/job-description.ts';
import type { PlannedUnit } from '../../src/core/run/run.ts';
import { judgeRemoved, type ShrinkSettings } from '../export-description.ts';
import { readInBatches } from '../batching-reader.ts';
import { planTargets } from '../target-plan.ts';
import { noteUnknown, settleUnknown } from '../unknown-targets.ts';
import type { ChunkOfWork, Job, JobContext, UnsettledUnit } from '../../src/runs/job.ts';
import type { CommitDefinitions } from '../../src/warehouse/port/definitions.ts';
import type { HeldKind } from '../../src/core/run/held-rows.ts';
import type { SettleUnknown } from '../../src/warehouse/port/unknown-targets.ts';
import type { Warehouse } from '../../src/warehouse/port/warehouse.ts';

export interface DefinitionSettings {
  readonly shrink: ShrinkSettings;
  /** Targets in a queue item. */
  readonly chunkTargets: number;
  /** Targets of a chunk that are read concurrently. */
  readonly concurrency: number;
}

const paramsSchema = z.strictObject({
  allowShrink: z.boolean(),
  /** The run whose held records this one releases. */
  releaseOf: z.string().optional(),
});
export type DefinitionParams = z.output<typeof paramsSchema>;

/** How one kind is read and stored. */
export interface DefinitionKind<Reading> {
  readonly description: JobDescription;
  readonly heldAs: HeldKind;
  read(unit: PlannedUnit, context: JobContext, signal: AbortSignal): Promise<Reading>;
  /** Number of its records. */
  records(reading: Reading): number;
  /** Approximate memory of a reading, in bytes. */
  weigh(reading: Reading): number;
  storeOf(warehouse: Warehouse): { readonly commit: CommitDefinitions<Reading>; readonly settleUnknown: SettleUnknown };
}

/** Limit of a batch before it is committed: bodies of wells may be large. */
const gatheredBytes = 4_000_000;

export function createDefinitionJob<Reading>(
  kind: DefinitionKind<Reading>,
  settings: DefinitionSettings,
): Job<DefinitionParams> {
  return {
    ...kind.description,
    queue: 'export',
    params: paramsSchema,
    takesTargets: true,
    plan: (_, { ledger }, runId) => planTargets(ledger.runs.targets(runId), settings.chunkTargets),
    work: (chunk, context) => workTargets(kind, settings, chunk, context),
    judge: ({ allowShrink, releaseOf }, counts) =>
      judgeRemoved(counts, allowShrink || releaseOf !== undefined, settings.shrink.maxRowsPerRun),
    release: { kind: kind.heldAs, params: (releaseOf) => ({ allowShrink: false, releaseOf }) },
  };
}

async function workTargets<Reading>(
  kind: DefinitionKind<Reading>,
  { shrink, concurrency }: DefinitionSettings,
  chunk: ChunkOfWork<DefinitionParams>,
  context: JobContext,
): Promise<readonly UnsettledUnit[]> {
  const { runId, params, units, signal, read, settled } = chunk;
  const store = kind.storeOf(context.warehouse);
  const left = await readInBatches<Reading>(units, {
    concurrency,
    async read(unit) {
      try {
        const reading = await kind.read(unit, context, signal);
        read({ unit: unit.unit, rows: kind.records(reading), isRead: true });
        return reading;
      } catch (error) {
        noteUnknown(error, unit, chunk);
        throw error;
      }
    },
    weigh: (reading) => kind.weigh(reading),
    maxWeight: gatheredBytes,
    commit: async (readings) => {
      const guard = { ...shrink, allow: params.allowShrink };
      await settled(await store.commit({ runId, readings, shrink: guard, committedAtMs: context.now() }));
    },
  });
  return settleUnknown(left, store.settleUnknown, chunk, context);
}
