/** Owns working queues in this process: the workers, and beside them an eye on runs that Redis has lost. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ChunkQueueName } from '../queue/port.ts';
import type { RunDesk } from '../runs/run-desk.ts';
import type { Installation } from './installation.ts';

/** A run that Redis has lost goes on within a minute (G7). */
const reviveEveryMs = 30_000;

/** Works as long as `during` lasts; then work in flight ends within the configured grace, or is handed back. */
export async function workHere<T>(
  work: { readonly installation: Installation; readonly queues: readonly ChunkQueueName[]; readonly log: Logger },
  during: () => Promise<T>,
): Promise<T> {
  const { installation, queues, log } = work;
  await installation.queue('lasting');
  const desk = await installation.desk();
  const workers = await installation.startWorkers(queues, log);
  const ending = new AbortController();
  void reviveUntil(ending.signal, desk, log);
  try {
    return await during();
  } finally {
    ending.abort();
    await workers.stop();
  }
}

/** Looks at once and then again and again; a look that fails is only logged, since the next one may not. */
async function reviveUntil(signal: AbortSignal, desk: RunDesk, log: Logger): Promise<void> {
  while (!signal.aborted) {
    try {
      const revived = await desk.revive();
      if (revived.length > 0) log.warn({ runs: revived }, 'runs that Redis did not know go on');
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'runs could not be looked after');
    }
    await delay(reviveEveryMs, undefined, { signal }).catch(() => {});
  }
}
