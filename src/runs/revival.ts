/** Queues runs again that the queue has lost, or that a command which died left behind (G7). */
import type { Logger } from 'pino';
import { faultOf, outagePartOf, type OutageRecord } from '../core/base/errors.ts';
import { decideUnit } from '../core/run/retry-decision.ts';
import type { RunQueue } from '../queue/port.ts';
import { sleep } from '../timers/sleep.ts';
import type { Ledger } from '../warehouse/port/warehouse.ts';

/** A run that the queue has lost continues within a minute (G7). */
const reviveEveryMs = 30_000;

interface RevivalContext {
  readonly ledger: Pick<Ledger, 'runs'>;
  readonly queue: Pick<RunQueue, 'isSubmitted' | 'submit'>;
}

/**
 * Queues every unfinished run that the queue does not know: after the queue was lost, or after a command died halfway (G7).
 * Returns the ids of these runs.
 */
export async function reviveRuns({ ledger, queue }: RevivalContext): Promise<readonly string[]> {
  const revived: string[] = [];
  for (const { runId, generation } of await ledger.runs.unfinished()) {
    if (await queue.isSubmitted(runId, generation)) continue;
    await queue.submit(runId, generation);
    revived.push(runId);
  }
  return revived;
}

/**
 * Revives runs at once and then every half minute, until the signal aborts. Logs a failed attempt; the next may
 * succeed.
 */
export async function keepReviving(
  context: RevivalContext & { readonly outages: OutageRecord },
  signal: AbortSignal,
  log: Logger,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const revived = await reviveRuns(context);
      if (revived.length > 0) log.warn({ runs: revived }, 'runs that the queue did not know go on');
    } catch (error) {
      if (!signal.aborted && decideUnit(error) !== 'hand-back') recordFault(error, context.outages, log);
    }
    await sleep(reviveEveryMs, { signal }).catch(() => {});
  }
}

function recordFault(error: unknown, outages: OutageRecord, log: Logger): void {
  const part = outagePartOf(error);
  if (part !== undefined) outages.down(part, faultOf(error).message);
  else log.warn({ err: error }, 'runs could not be looked after');
}
