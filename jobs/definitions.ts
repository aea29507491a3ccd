/**
 * What the exports of time series definitions and of wells have in common: one request a target, answers gathered and
 * merged, each target settled by itself (DESIGN.md section 4.2).
 */
import { z } from 'zod';
import { balanceDefinitions } from '../src/core/balance.ts';
import { assignChunks } from '../src/core/chunking.ts';
import type { PlannedUnit } from '../src/core/run.ts';
import { workGathered } from '../src/runs/gathered-work.ts';
import type { ChunkOfWork, Job, JobParts, Leftover } from '../src/runs/job.ts';
import type { CommitDefinitions } from '../src/warehouse/definitions.ts';

export interface DefinitionSettings {
  readonly shrink: { readonly maxShare: number; readonly maxRows: number };
  /** Targets in a queue item. */
  readonly chunkTargets: number;
  /** Targets of a chunk that are read at one time. */
  readonly concurrency: number;
}

const paramsSchema = z.strictObject({ targets: z.array(z.string().min(1)).min(1), allowShrink: z.boolean() });
export type DefinitionParams = z.output<typeof paramsSchema>;

/** How one kind is read and kept. */
export interface DefinitionKind<Reading> {
  readonly name: string;
  read(unit: PlannedUnit, parts: JobParts, signal: AbortSignal): Promise<Reading>;
  /** About how many bytes of memory a reading takes. */
  weigh(reading: Reading): number;
  commitWith(parts: JobParts): CommitDefinitions<Reading>;
}

/** What is gathered before it is committed: bodies of wells may be large. */
const gatheredBytes = 4_000_000;

export function createDefinitionJob<Reading>(
  kind: DefinitionKind<Reading>,
  settings: DefinitionSettings,
): Job<DefinitionParams> {
  return {
    name: kind.name,
    queue: 'export',
    params: paramsSchema,
    exceptions: [],
    balance: balanceDefinitions,
    plan: async ({ targets }) => planTargets(targets, settings),
    work: (chunk, parts) => workTargets(kind, settings, chunk, parts),
  };
}

function planTargets(targets: readonly string[], { chunkTargets }: DefinitionSettings): readonly PlannedUnit[] {
  const distinct = [...new Set(targets)];
  const limits = { maxUnits: chunkTargets, maxRows: chunkTargets };
  const chunks = assignChunks(
    distinct.map(() => 1),
    limits,
  );
  return distinct.map((target, unit) => ({ unit, chunk: chunks[unit] ?? 0, target, spec: {} }));
}

function workTargets<Reading>(
  kind: DefinitionKind<Reading>,
  { shrink, concurrency }: DefinitionSettings,
  { runId, params, units, signal, settled }: ChunkOfWork<DefinitionParams>,
  parts: JobParts,
): Promise<readonly Leftover[]> {
  const commit = kind.commitWith(parts);
  return workGathered<Reading>(units, {
    concurrency,
    read: (unit) => kind.read(unit, parts, signal),
    weigh: (reading) => kind.weigh(reading),
    maxWeight: gatheredBytes,
    commit: async (readings) => {
      const guard = { ...shrink, allow: params.allowShrink };
      await settled(await commit({ runId, readings, shrink: guard, committedAtMs: parts.now() }));
    },
  });
}
