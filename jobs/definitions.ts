/**
 * The jobs that read lists of records, and wells, into the warehouse: what each is called, reads and stores, and how.
 */
import { z } from 'zod';
import { mostRereads } from '../src/core/daily/read-order.ts';
import type { KnownList } from '../src/core/definitions/record-list.ts';
import { type CountDescription, isCounted, type JobDescription } from '../src/core/run/job-description.ts';
import { isForAll } from '../src/core/run/retry-decision.ts';
import { type PlannedUnit, type ReadKind, unknownFault } from '../src/core/run/run.ts';
import type { ChunkOfWork, Job, JobContext, UnsettledUnit } from '../src/runs/job.ts';
import type { CommitDefinitions, RecordsReading, SettleUnknown, WellReading } from '../src/warehouse/port/wells.ts';
import type { Warehouse } from '../src/warehouse/port/warehouse.ts';
import {
  judgeRemoved,
  newlyUnknown,
  readInBatches,
  readingUnits,
  ReadNumbers,
  recordUnknown,
  refuseRetryOfRelease,
  releaseSteps,
  removedUnapproved,
  rowsOfTargets,
  settleUnknown,
  type ShrinkSettings,
} from './exports.ts';

/** read = inserted + updated + unchanged + repeated (G2). */
const listCounts: readonly CountDescription[] = [
  { name: 'read', inSum: 'whole', isAlwaysShown: true },
  { name: 'inserted', inSum: 'part', isAlwaysShown: true },
  { name: 'updated', inSum: 'part', isAlwaysShown: true },
  { name: 'unchanged', inSum: 'part', isAlwaysShown: true },
  { name: 'repeated', inSum: 'part' },
  { name: 'removed', isAlwaysShown: true },
  { name: 'heldRows', remark: 'they stay until they are released' },
  removedUnapproved,
  newlyUnknown,
  ...rowsOfTargets,
];

export function describeList({ name, targets: { one, many } }: KnownList): JobDescription {
  return descriptionOf(`export ${name}`, one, many);
}

export const wells = descriptionOf('export wells', 'well', 'wells');

function descriptionOf(name: string, one: string, many: string): JobDescription {
  return {
    name,
    units: readingUnits(one, many),
    record: 'record',
    counts: listCounts,
    failureOf: (report) => unknownFault(report, { one, many }),
    nextSteps: (report) => [
      ...releaseSteps(report),
      ...(isCounted(report.counts, 'newlyUnknown') ? [{ kind: 'show-unknown-definitions' } as const] : []),
    ],
  };
}

/** Approximate size of a record with five texts. */
const recordBytes = 500;

export function createListJob(list: KnownList, settings: DefinitionSettings): Job<DefinitionParams> {
  return createDefinitionJob<RecordsReading>(
    {
      description: describeList(list),
      reads: list.targets.kind,
      read: async ({ unit, target }, { service }, signal) => {
        return { unit, target, records: await service.fetchRecords(list, target, { signal }) };
      },
      records: ({ records }) => records.length,
      weigh: ({ records }) => recordBytes * (1 + records.length),
      storeOf: (warehouse) => warehouse.records(list),
    },
    settings,
  );
}

/** The stored body of a well, of any form, that the service does not know is unchanged (G4). */
export function createWellsJob(settings: DefinitionSettings): Job<DefinitionParams> {
  return createDefinitionJob<WellReading>(
    {
      description: wells,
      reads: 'well',
      read: async ({ unit, target }, { service }, signal) => {
        return { unit, target, well: await service.fetchWell(target, { signal }) };
      },
      records: () => 1,
      // The body exists as text, as JSON in the statement, and again in the document.
      weigh: ({ well }) => 6 * well.body.length,
      storeOf: (warehouse) => warehouse.wells,
    },
    settings,
  );
}

// The common part of the exports of time series definitions and of wells: one request a target, answers merged in
// batches, each target settled by itself (docs/design.md section 4.2).

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
interface DefinitionKind<Reading> {
  readonly description: JobDescription;
  readonly reads: ReadKind;
  read(unit: PlannedUnit, context: JobContext, signal: AbortSignal): Promise<Reading>;
  /** Number of its records. */
  records(reading: Reading): number;
  /** Approximate memory of a reading, in bytes. */
  weigh(reading: Reading): number;
  storeOf(warehouse: Warehouse): { readonly commit: CommitDefinitions<Reading>; readonly settleUnknown: SettleUnknown };
}

/** Limit of a batch before it is committed: bodies of wells may be large. */
const gatheredBytes = 4_000_000;

function createDefinitionJob<Reading extends { readonly unit: number }>(
  kind: DefinitionKind<Reading>,
  settings: DefinitionSettings,
): Job<DefinitionParams> {
  const numbers = new ReadNumbers();
  return {
    ...kind.description,
    queue: 'export',
    params: paramsSchema,
    takesTargets: true,
    plan: (_, { ledger }, runId) => planTargets(ledger.runs.targets(runId), settings.chunkTargets),
    work: (chunk, context) => workTargets(kind, settings, numbers, chunk, context),
    checkRetry: refuseRetryOfRelease,
    judge: ({ allowShrink, releaseOf }, counts) =>
      judgeRemoved(counts, allowShrink || releaseOf !== undefined, settings.shrink.maxRowsPerRun),
    release: { kind: kind.reads, params: (releaseOf) => ({ allowShrink: false, releaseOf }) },
  };
}

/** Reads the targets of a chunk, and again those in which a later read stands, with a later number. */
async function workTargets<Reading extends { readonly unit: number }>(
  kind: DefinitionKind<Reading>,
  settings: DefinitionSettings,
  numbers: ReadNumbers,
  chunk: ChunkOfWork<DefinitionParams>,
  context: JobContext,
): Promise<readonly UnsettledUnit[]> {
  const store = kind.storeOf(context.warehouse);
  const left: UnsettledUnit[] = [];
  let { units } = chunk;
  for (let rereads = 0; units.length > 0; rereads += 1) {
    const work = { kind, settings, chunk, context, isLastRead: rereads === mostRereads };
    const read = { kind: kind.reads, runId: chunk.runId };
    const pass = await numbers.during(read, context.warehouse.readOrder, (readNo) =>
      readTargets(units, { ...work, readNo }),
    );
    left.push(...pass.left);
    units = pass.again;
    const forAll = left.find(({ error }) => isForAll(error));
    if (forAll === undefined) continue;
    left.push(...units.map((unit) => ({ unit, error: forAll.error })));
    break;
  }
  return settleUnknown(left, store.settleUnknown, chunk, context);
}

interface TargetsWork<Reading> {
  readonly kind: DefinitionKind<Reading>;
  readonly settings: DefinitionSettings;
  readonly chunk: ChunkOfWork<DefinitionParams>;
  readonly context: JobContext;
  /** The number of these reads. */
  readonly readNo: number;
  readonly isLastRead: boolean;
}

/** Returns the units that did not settle, and those that have to be read again. */
async function readTargets<Reading extends { readonly unit: number }>(
  units: readonly PlannedUnit[],
  { kind, settings, chunk, context, readNo, isLastRead }: TargetsWork<Reading>,
): Promise<{ readonly left: readonly UnsettledUnit[]; readonly again: readonly PlannedUnit[] }> {
  const { runId, params, signal, read, settled } = chunk;
  const { concurrency, shrink } = settings;
  const store = kind.storeOf(context.warehouse);
  const unsettled = new Set<number>();
  const left = await readInBatches<Reading>(units, {
    concurrency,
    async read(unit) {
      try {
        const reading = await kind.read(unit, context, signal);
        read({ unit: unit.unit, rows: kind.records(reading), isRead: true });
        return reading;
      } catch (error) {
        recordUnknown(error, unit, chunk);
        throw error;
      }
    },
    weigh: (reading) => kind.weigh(reading),
    maxWeight: gatheredBytes,
    commit: async (readings) => {
      const guard = { ...shrink, allow: params.allowShrink };
      const outcomes = await store.commit({ runId, readings, shrink: guard, readNo, isLastRead });
      const done = new Set(outcomes.map(({ unit }) => unit));
      // Or settled before: reading it again is right for both.
      for (const { unit } of readings) if (!done.has(unit) && !isLastRead) unsettled.add(unit);
      await settled(outcomes);
    },
  });
  return { left, again: units.filter(({ unit }) => unsettled.has(unit)) };
}

/**
 * Plans a unit for each target, in order, with at most `chunkTargets` of them in a queue item. `targets` come in
 * slices.
 */
async function planTargets(
  targets: AsyncIterable<readonly string[]>,
  chunkTargets: number,
): Promise<readonly PlannedUnit[]> {
  const units: PlannedUnit[] = [];
  for await (const slice of targets) {
    for (const target of slice) {
      units.push({ unit: units.length, chunk: Math.floor(units.length / chunkTargets), target, spec: {} });
    }
  }
  return units;
}
