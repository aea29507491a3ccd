/** Keeps daily production in order in storage, so that a well is found quickly (docs/design.md section 7). */
import type { Logger } from 'pino';
import { TakenOverError } from '../../core/base/errors.ts';
import { sleep } from '../../timers/sleep.ts';
import type { TableOrder } from '../../warehouse/port/daily-production.ts';
import type { App } from '../app.ts';

export type { TableOrder };

/** A longer tail is rewritten after a run, without being asked. */
const mostTailNights = 30;

/** How often a worker looks whether a run was requested or has ended since the last time. */
const pollEveryMs = 600_000;

/** Called after each step with the rows rewritten so far. */
type OnStep = (rewrittenRows: number) => void;

/**
 * Rewrites what does not lie in order, step by step, until the last well was looked at or the signal aborts; returns the
 * number of rows. Throws OutageError if the disk is full, with all steps before kept.
 */
export async function optimize({ ledger: { order } }: App, signal?: AbortSignal, onStep?: OnStep): Promise<number> {
  for (let rewrittenRows = 0; ;) {
    if (signal?.aborted === true) return rewrittenRows;
    const rows = await order.step();
    if (rows === undefined) return rewrittenRows;
    rewrittenRows += rows;
    onStep?.(rewrittenRows);
  }
}

/**
 * Throws UsageError if a service is configured and the warehouse belongs to another one (G11): it may not be the
 * warehouse that was meant.
 */
export async function measureOwnOrder(app: App): Promise<TableOrder> {
  if (app.config.service.url !== undefined) await app.checkService();
  return app.ledger.order.measure();
}

/** Rewrites where the tail is long, or where a rewriting was begun. To be called when a run has been reported. */
export async function orderLongTail(app: App, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const { tailNights, isUnderWay } = await app.ledger.order.tail();
    if (signal.aborted || (tailNights <= mostTailNights && !isUnderWay)) return;
    log.info({ tailNights }, 'daily production is rewritten by well and date');
    log.info({ rewrittenRows: await optimize(app, signal) }, 'daily production was rewritten');
  } catch (error) {
    // It goes on at its place the next time.
    if (signal.aborted || error instanceof TakenOverError) return;
    log.warn({ err: error }, 'daily production could not be rewritten by well and date');
  }
}

/** Does so after runs, until the signal aborts. */
export async function keepInOrder(app: App, log: Logger, signal: AbortSignal): Promise<void> {
  let seen: string | undefined;
  for (;;) {
    await sleep(pollEveryMs, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    const newest = await newestRun(app).catch(() => seen);
    if (newest === seen) continue;
    seen = newest;
    await orderLongTail(app, log, signal);
  }
}

async function newestRun({ ledger }: App): Promise<string | undefined> {
  const [run] = (await ledger.runs.list({ limit: 1 })).runs;
  return run === undefined ? undefined : `${run.runId} ${run.state}`;
}
