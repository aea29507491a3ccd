/**
 * What becomes of runs, as it happens: one look a second for all who listen, and none while nobody does. Changes are found
 * by comparing what a list of runs shows, so that none is lost to a restart of Redis or of a worker.
 */
import { randomBytes } from 'node:crypto';
import { faultOf } from '../../core/base/errors.ts';
import { sleep } from '../../timers/sleep.ts';
import type { App } from '../app.ts';
import type { LedgerReader } from '../warehouse/last-known.ts';
import type { RunDocument } from './run-document.ts';
import { type KeptRuns, readKeptRuns, withLiveFigures } from './run-status.ts';

export type RunEvent =
  /** The state of a run, or its figures, have changed. */
  | { readonly id: string; readonly kind: 'run'; readonly data: RunDocument }
  /** What keeps events from coming; null when it is over. */
  | { readonly id: string; readonly kind: 'fault'; readonly data: { readonly message: string | null } }
  /** Every run that has not ended: the first event, and where what came since is no longer known. */
  | { readonly id: string; readonly kind: 'runs'; readonly data: { readonly runs: readonly RunDocument[] } };

export type RunListener = (event: RunEvent) => void;

/** Live figures are read every second; the ledger, whose reads keep writers waiting, less often. */
const pollEveryMs = 1_000;
const ledgerEveryMs = 2_000;
/** The newest runs, of which a short one may begin and end between two looks; and all that have not ended. */
const newestRuns = 100;
const unfinishedRuns = 200;
/** Events that a listener who comes back can still be told. */
const mostKept = 1_000;

export class RunEvents {
  readonly #app: App;
  readonly #reader: LedgerReader;
  /** Tells events of this process from those of an earlier one. */
  readonly #boot = randomBytes(4).toString('hex');
  readonly #listeners = new Set<RunListener>();
  /** Listeners that wait for the first look, with the id of the last event that they know. */
  readonly #waiting = new Map<RunListener, string | undefined>();
  readonly #kept: RunEvent[] = [];
  /** By run id, as it was last told. */
  #known: ReadonlyMap<string, RunDocument> | undefined;
  #kepts: readonly KeptRuns[] = [];
  #ledgerReadAtMs = -Infinity;
  #fault: string | null = null;
  #last = 0;
  #isLooking = false;

  constructor(app: App, reader: LedgerReader) {
    this.#app = app;
    this.#reader = reader;
  }

  /**
   * Calls the listener with every event behind the one with the id `lastId`, where these are still known; else first with
   * all runs that have not ended. Returns the function that ends it.
   */
  listen(listener: RunListener, lastId: string | undefined): () => void {
    this.#waiting.set(listener, lastId);
    if (!this.#isLooking) {
      this.#isLooking = true;
      void this.#pollOn();
    }
    return () => {
      this.#waiting.delete(listener);
      this.#listeners.delete(listener);
    };
  }

  async #pollOn(): Promise<void> {
    while (this.#waiting.size + this.#listeners.size > 0) {
      await this.#poll();
      await sleep(pollEveryMs, { ref: false });
    }
    this.#isLooking = false;
  }

  async #poll(): Promise<void> {
    try {
      await this.#readLedger();
      const runs: RunDocument[] = [];
      let liveFault: string | null = null;
      for (const kept of this.#kepts) {
        const list = await withLiveFigures(this.#app, kept);
        runs.push(...list.runs);
        liveFault ??= list.liveFault;
      }
      this.#sendChanged(new Map(runs.map((run) => [run.runId, run])));
      this.#sendFault(liveFault);
    } catch (error) {
      this.#sendFault(faultOf(error).message);
    }
    // Those who came during the look are told what it found.
    if (this.#known !== undefined) this.#beginWaiting(this.#known);
  }

  async #readLedger(): Promise<void> {
    const now = performance.now();
    if (now - this.#ledgerReadAtMs < ledgerEveryMs) return;
    const read = async (): Promise<readonly KeptRuns[]> => [
      await readKeptRuns(this.#app, { limit: unfinishedRuns, states: ['queued', 'running'] }),
      await readKeptRuns(this.#app, { limit: newestRuns }),
    ];
    this.#kepts = (await this.#reader.read(['events'], read)).value;
    this.#ledgerReadAtMs = now;
  }

  #sendChanged(found: ReadonlyMap<string, RunDocument>): void {
    const before = this.#known;
    this.#known = found;
    if (before === undefined) return;
    for (const [runId, document] of found) {
      const sent = before.get(runId);
      if (sent !== undefined && JSON.stringify(sent) === JSON.stringify(document)) continue;
      this.#send({ id: this.#nextId(), kind: 'run', data: document });
    }
  }

  #sendFault(message: string | null): void {
    if (message === this.#fault) return;
    this.#fault = message;
    this.#send({ id: this.#nextId(), kind: 'fault', data: { message } });
  }

  #nextId(): string {
    this.#last += 1;
    return `${this.#boot}-${this.#last}`;
  }

  #send(event: RunEvent): void {
    this.#kept.push(event);
    if (this.#kept.length > mostKept) this.#kept.shift();
    for (const listener of this.#listeners) listener(event);
  }

  #beginWaiting(known: ReadonlyMap<string, RunDocument>): void {
    for (const [listener, lastId] of this.#waiting) {
      this.#waiting.delete(listener);
      this.#listeners.add(listener);
      const missed = this.#behind(lastId) ?? [this.#snapshot(known)];
      for (const event of missed) listener(event);
    }
  }

  /** Undefined where what came since is not known. */
  #behind(lastId: string | undefined): readonly RunEvent[] | undefined {
    const isCurrent = lastId === `${this.#boot}-${this.#last}`;
    if (isCurrent) return [];
    const index = lastId === undefined ? -1 : this.#kept.findIndex(({ id }) => id === lastId);
    return index === -1 ? undefined : this.#kept.slice(index + 1);
  }

  #snapshot(known: ReadonlyMap<string, RunDocument>): RunEvent {
    const runs = [...known.values()].filter(({ finishedAt }) => finishedAt === null);
    return { id: `${this.#boot}-${this.#last}`, kind: 'runs', data: { runs } };
  }
}
