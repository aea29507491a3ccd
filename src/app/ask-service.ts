/** Requests to the service from this process that need no run: a probe, the plan of a cleanup. */
import type { Logger } from 'pino';
import { AbortedError } from '../core/base/errors.ts';
import type { JobContext } from '../runs/job.ts';
import type { App } from './app.ts';

interface AskOptions {
  /** Concurrent requests. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/**
 * Calls `ask` with the service, within the limits that all processes share (G9). Throws AbortedError when the signal
 * aborts, and ServiceHoldError where the service asked all to wait.
 */
export async function askService<T>(
  app: App,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
  ask: (context: JobContext, options: AskOptions) => Promise<T>,
): Promise<T> {
  const { config, warehouse, ledger } = app;
  const service = await app.service('prompt', log);
  try {
    const context = { service, warehouse, ledger, now: Date.now };
    return await ask(context, { concurrency: config.service.concurrency, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new AbortedError('stopped before the service was asked to the end: nothing was kept');
  }
}
