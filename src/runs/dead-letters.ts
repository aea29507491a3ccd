/** Dead letters: units that end as failed, with the reason in the report; `runs retry` takes them up again. */
import type { Logger } from 'pino';
import { type Fault, faultOf, WellsyncError } from '../core/base/errors.ts';
import type { JobDescription } from '../core/run/job-description.ts';
import type { PlannedUnit, UnitOutcome } from '../core/run/run.ts';
import type { ChunkItem, RunQueue } from '../queue/port.ts';
import type { Ledger } from '../warehouse/port/warehouse.ts';
import type { UnsettledUnit } from './job.ts';

interface DeadLetterContext {
  readonly ledger: Pick<Ledger, 'runs'>;
  readonly queue: Pick<RunQueue, 'progress'>;
  readonly log: Logger;
}

/** The target of a unit in a line of the log, and under the name of what it is where that is one word: `well`. */
export function targetField({ units: { one } }: Pick<JobDescription, 'units'>, { target }: PlannedUnit) {
  return { target, ...(one === 'well' ? { well: target } : {}) };
}

/** Fails these units of a chunk, each with its error. A bug of wellsync is logged with its stack. */
export async function deadLetterUnits(
  { runId }: ChunkItem,
  entries: readonly UnsettledUnit[],
  context: DeadLetterContext & { readonly job: Pick<JobDescription, 'units'> },
): Promise<void> {
  if (entries.length === 0) return;
  for (const { unit, error } of entries) {
    const isBug = !(error instanceof WellsyncError);
    const fields = { ...targetField(context.job, unit), ...(isBug ? { err: error } : faultOf(error)) };
    context.log[isBug ? 'error' : 'warn'](fields, 'failed');
  }
  await settleFailed(
    runId,
    entries.map(({ unit, error }) => ({ unit: unit.unit, fault: faultOf(error) })),
    context,
  );
}

/** Fails the open units of a chunk that the queue gave up, because its worker died with it again and again. */
export async function deadLetterChunk(
  { runId, chunk }: Pick<ChunkItem, 'runId' | 'chunk'>,
  reason: string,
  context: DeadLetterContext,
): Promise<void> {
  context.log.error({ reason }, 'the queue gave a chunk up');
  const units = await context.ledger.runs.openUnits(runId, chunk);
  const fault: Fault = {
    code: 'given-up',
    message: `the queue gave this chunk up: ${reason}`,
    hint: 'See the log of the workers for why they died.',
    action: { kind: 'retry-run', runId },
  };
  await settleFailed(
    runId,
    units.map(({ unit }) => ({ unit, fault })),
    context,
  );
  await context.queue.progress.endChunk(runId, chunk);
}

async function settleFailed(
  runId: string,
  failed: ReadonlyArray<{ readonly unit: number; readonly fault: Fault }>,
  { ledger, queue }: DeadLetterContext,
): Promise<void> {
  const outcomes = failed.map(({ unit, fault }): UnitOutcome => ({ unit, state: 'failed', counts: {}, fault }));
  await ledger.runs.settle(runId, outcomes);
  await queue.progress.settle(runId, outcomes);
}
