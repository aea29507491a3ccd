/** Works the items of an embedded queue in its process, as soon as they are due. Nothing is polled. */
import type { Logger } from 'pino';
import { faultOf, holdDelayMs, outagePartOf, type OutageRecord, TransientError } from '../../core/base/errors.ts';
import { type ChunkDecision, decideUnit } from '../../core/run/retry-decision.ts';
import { after, sleep, type Timer } from '../../timers/sleep.ts';
import {
  coordinatorConcurrency,
  type QueueHandlers,
  type RunningWorkers,
  runsQueueName,
  type WorkerSettings,
} from '../port.ts';
import type { Item } from './lane.ts';
import { type EmbeddedQueue, lanesOfQueue, runsLane, ticksLane } from './run-queue.ts';

/** How long running work may take to hand itself back after a stop. */
const handBackMs = 5_000;

/** The pause of a lane after a fault that may pass. */
const troubledMs = 5_000;

type Outcome = ChunkDecision | { readonly kind: 'failed'; readonly error: unknown };

interface UnderWay {
  readonly item: Item;
  readonly lane: string;
  readonly stopping: AbortController;
}

interface EmbeddedWorkersOptions {
  readonly queue: EmbeddedQueue;
  readonly settings: WorkerSettings;
  readonly handlers: QueueHandlers;
  readonly log: Logger;
  readonly outages: OutageRecord;
  readonly now: () => number;
}

/** Takes items at once. A queue has workers once. */
export function startEmbeddedWorkers(options: EmbeddedWorkersOptions): RunningWorkers {
  return new EmbeddedWorkers(options);
}

class EmbeddedWorkers implements RunningWorkers {
  readonly #options: EmbeddedWorkersOptions;
  readonly #concurrency = new Map<string, number>([[runsLane, coordinatorConcurrency]]);
  readonly #underWay = new Map<UnderWay, Promise<void>>();
  #isStopping = false;
  #isSoon = false;
  #timer: Timer | undefined;

  constructor(options: EmbeddedWorkersOptions) {
    this.#options = options;
    const { queue, settings, handlers } = options;
    if (handlers.ticks !== undefined) this.#concurrency.set(ticksLane, 1);
    for (const name of settings.queues) {
      for (const lane of lanesOfQueue(name)) this.#concurrency.set(lane, settings.chunkConcurrency(name));
    }
    queue.listen([runsQueueName, ...settings.queues], () => this.#dispatchSoon());
    this.#dispatchSoon();
  }

  async stop(graceMs = this.#options.settings.graceMs): Promise<void> {
    this.#isStopping = true;
    this.#timer?.cancel();
    if (!(await this.#isOver(graceMs))) {
      for (const { stopping } of this.#underWay.keys()) stopping.abort('the worker stops');
      if (!(await this.#isOver(handBackMs))) {
        this.#options.log.warn('the work in flight could not be handed back: the next process begins it again');
      }
    }
    this.#options.queue.listen([], () => {});
  }

  async #isOver(withinMs: number): Promise<boolean> {
    const ended = Promise.all(this.#underWay.values()).then(() => true);
    return Promise.race([ended, sleep(withinMs, { ref: false }).then(() => false)]);
  }

  /** What changes in one turn of the event loop is looked at once. */
  #dispatchSoon(): void {
    if (this.#isSoon || this.#isStopping) return;
    this.#isSoon = true;
    setImmediate(() => {
      this.#isSoon = false;
      if (!this.#isStopping) this.#dispatch();
    });
  }

  #dispatch(): void {
    const { queue, now } = this.#options;
    let nextMs = Infinity;
    for (const [lane, most] of this.#concurrency) {
      const items = queue.lane(lane);
      let busy = [...this.#underWay.keys()].filter((each) => each.lane === lane).length;
      for (; busy < most; busy += 1) {
        const item = items.take(now());
        if (item === undefined) break;
        const entry = { item, lane, stopping: new AbortController() };
        this.#underWay.set(entry, this.#work(entry));
      }
      // A lane without a free place is looked at when an item ends.
      if (busy < most) nextMs = Math.min(nextMs, items.nextDueMs(now()));
    }
    this.#timer?.cancel();
    this.#timer = nextMs === Infinity ? undefined : after(Math.max(0, nextMs - now()), () => this.#dispatchSoon());
  }

  async #work(entry: UnderWay): Promise<void> {
    const outcome = await this.#outcomeOf(entry);
    this.#apply(entry, outcome);
    this.#underWay.delete(entry);
    this.#dispatchSoon();
  }

  async #outcomeOf({ item: { work, attemptsMade }, stopping: { signal } }: UnderWay): Promise<Outcome> {
    const { handlers } = this.#options;
    try {
      if (work.kind === 'chunk') return await handlers.work(work.item, attemptsMade + 1, signal);
      if (work.kind === 'tick') return await this.#takeTick(work.name, work.dueMs);
      const step = await handlers.coordinate(work.runId, signal);
      return step.kind === 'finished' ? { kind: 'settled' } : { kind: 'wait', delayMs: step.delayMs };
    } catch (error) {
      if (decideUnit(error) === 'hand-back') return { kind: 'hand-back' };
      return this.#outcomeOfTrouble(error);
    }
  }

  async #takeTick(name: string, dueMs: number): Promise<Outcome> {
    const { queue, handlers } = this.#options;
    if (handlers.ticks !== undefined) {
      queue.tickTaken(name, dueMs, handlers.ticks.next);
      await handlers.ticks.take(name, dueMs);
    }
    return { kind: 'settled' };
  }

  /** The decision on a fault outside any unit: waits for one that may pass, and gives up on a bug. */
  #outcomeOfTrouble(error: unknown): Outcome {
    const { log, outages } = this.#options;
    const part = outagePartOf(error);
    if (part !== undefined) return { kind: 'hold', delayMs: holdDelayMs(outages.down(part, faultOf(error).message)) };
    if (!(error instanceof TransientError)) return { kind: 'failed', error };
    log.warn({ because: error.message }, 'the queue waits');
    return { kind: 'hold', delayMs: troubledMs };
  }

  #apply({ item, lane }: UnderWay, outcome: Outcome): void {
    const { queue, now, log } = this.#options;
    const items = queue.lane(lane);
    switch (outcome.kind) {
      case 'settled':
        return items.remove(item.id);
      case 'retry':
        item.attemptsMade += 1;
        return items.delay(item, now() + outcome.delayMs);
      case 'wait':
        return items.delay(item, now() + Math.max(0, outcome.delayMs));
      case 'hold':
        items.heldUntilMs = now() + Math.max(1, Math.round(outcome.delayMs));
        return items.putBack(item, 'front');
      case 'hand-back':
        return items.putBack(item, 'front');
      case 'failed': {
        const { error } = outcome;
        log.error({ item: item.id, err: error }, 'an item was given up');
        // That of a run is removed, so that the run gets another one.
        if (item.work.kind !== 'chunk') return items.remove(item.id);
        return items.fail(item, error instanceof Error ? (error.stack ?? error.message) : String(error));
      }
    }
  }
}
