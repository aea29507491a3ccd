/** Requests to the service that need no run: those of a probe and of a plan, and one that tells whether it answers. */
import { Readable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { AbortedError } from '../../core/base/errors.ts';
import { DAY_MS } from '../../core/time/window.ts';
import type { JobContext } from '../../runs/job.ts';
import { after } from '../../timers/sleep.ts';
import type { App, AskService } from '../app.ts';
import { targetsFrom, uwiKind } from '../exports/target-input.ts';

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
  try {
    return await app.withService(log, (service) =>
      ask({ service, warehouse, ledger, now: Date.now }, { concurrency: config.service.concurrency, signal }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new AbortedError('stopped before the service was asked to the end: nothing was kept');
  }
}

// One request beside all work.

/** One attempt, which may have to wait for its turn among the requests of workers. */
export const askPatienceMs = 20_000;

/** A name that no well has: the answer to it still tells whether the token is taken. */
const unknownWell = 'wellsync-doctor';

/**
 * Asks for a day of the well, or of a made-up one. `onAsking` is called with the process that sends the request. Throws what
 * the request met, and AbortedError where nothing came within {@link askPatienceMs}.
 */
export async function tryService(
  app: App,
  uwi: string | undefined,
  onAsking: (sender: 'this' | 'worker') => void = () => {},
): Promise<void> {
  const endMs = Date.now();
  const query = { uwi: uwi ?? unknownWell, startMs: endMs - DAY_MS, endMs, limit: 5 };
  const given = new AbortController();
  const timer = after(askPatienceMs, () => given.abort());
  try {
    const ask: AskService<unknown> = (service, sender) => {
      onAsking(sender);
      return service.fetchDailyProductionPage(query, { signal: given.signal });
    };
    await app.withService(pino({ level: 'silent' }), ask, { patienceMs: askPatienceMs });
  } finally {
    timer.cancel();
  }
}

/** The named well, or one of the warehouse or of the configuration. */
export async function knownWell(app: App, uwi: string | undefined): Promise<string | undefined> {
  const { warehouse, config } = app;
  if (uwi !== undefined) return uwi;
  // Another check tells why the warehouse cannot be read.
  const known = await wellsOf(warehouse).catch(() => []);
  if (known[0] !== undefined) return known[0];
  const { wells: names, wellsFile: file } = config.export;
  if (names.length === 0 && file === undefined) return undefined;
  const calledBy = { names: 'uwi', file: 'uwi', known: 'uwi' };
  const none = { names: undefined, file: undefined, calledBy };
  return (await targetsFrom(uwiKind, none, { names, file }, Readable.from([]))).names[0];
}

async function wellsOf(warehouse: App['warehouse']): Promise<readonly string[]> {
  return (await warehouse.isStored()) ? warehouse.dailyProduction.uwis() : [];
}
