/**
 * The work of one start of an item: all its open units together, or one by one where starts of it died
 * (core/run/retry-decision.ts). Each start is noted until it ends, so that the next one knows of a worker that died.
 */
import { isForAll, isWorkedSingly, judgeUnits, workerDied } from '../core/run/retry-decision.ts';
import type { PlannedUnit } from '../core/run/run.ts';
import type { ChunkItem, ItemStartStore, StartedWork } from '../queue/port.ts';
import { sleep } from '../timers/sleep.ts';
import type { UnsettledUnit } from './job.ts';

interface ItemWorkContext {
  readonly starts: ItemStartStore;
  readonly gate: WorkGate;
  /** Works units of the item, and never rejects. Returns those that did not settle. */
  readonly work: (
    units: readonly PlannedUnit[],
    recordProgress: () => Promise<void>,
  ) => Promise<readonly UnsettledUnit[]>;
  readonly onSingly: (deaths: number) => void;
}

/** Works the open units of an item. Returns those that did not settle, with their errors. */
export async function workItem(
  { runId, chunk }: ChunkItem,
  units: readonly PlannedUnit[],
  context: ItemWorkContext,
): Promise<readonly UnsettledUnit[]> {
  const { starts, gate, work, onSingly } = context;
  const deaths = await starts.begin(runId, { chunk });
  try {
    if (isWorkedSingly(deaths)) {
      onSingly(deaths);
      return await workSingly(runId, units, context);
    }
    return await gate.together(() => work(units, progressOf(runId, { chunk }, starts)));
  } finally {
    await forget(runId, { chunk }, starts);
  }
}

async function workSingly(
  runId: string,
  units: readonly PlannedUnit[],
  { starts, gate, work }: ItemWorkContext,
): Promise<readonly UnsettledUnit[]> {
  const { toTry, guilty } = judgeUnits(units, await starts.ofUnits(runId));
  const left: UnsettledUnit[] = guilty.map((unit) => ({ unit, error: workerDied(runId) }));
  for (const [position, unit] of toTry.entries()) {
    const started = { unit: unit.unit };
    const unsettled = await gate.alone(async () => {
      await starts.begin(runId, started);
      try {
        return await work([unit], progressOf(runId, started, starts));
      } finally {
        await forget(runId, started, starts);
      }
    });
    left.push(...unsettled);
    const forAll = unsettled.find(({ error }) => isForAll(error));
    if (forAll === undefined) continue;
    return [...left, ...toTry.slice(position + 1).map((later) => ({ unit: later, error: forAll.error }))];
  }
  return left;
}

/** To be called when a unit settled or advanced: a start that got somewhere did not die of what it was given. */
function progressOf(runId: string, work: StartedWork, starts: ItemStartStore): () => Promise<void> {
  let isRecorded = false;
  return async () => {
    if (isRecorded) return;
    isRecorded = true;
    await forget(runId, work, starts);
  };
}

/** During an outage of Redis the start stays noted: one that did not die is counted then, and several are needed. */
async function forget(runId: string, work: StartedWork, starts: ItemStartStore): Promise<void> {
  await starts.end(runId, work).catch(() => undefined);
}

// Keeps the work of a process apart from work that may kill it, whose death would count against both.

/** How long either kind waits for the other: some work takes hours. */
const defaultPatienceMs = 60_000;

export class WorkGate {
  readonly #patienceMs: number;
  readonly #together = new Set<Promise<unknown>>();
  /** Settles when all work that asked to be alone has ended. */
  #alone: Promise<unknown> = Promise.resolve();

  constructor(patienceMs = defaultPatienceMs) {
    this.#patienceMs = patienceMs;
  }

  /** Runs the work beside other work, and after work that is alone. */
  async together<T>(work: () => Promise<T>): Promise<T> {
    await this.#afterAlone();
    const running = work();
    this.#together.add(running);
    try {
      return await running;
    } finally {
      this.#together.delete(running);
    }
  }

  /** Runs the work after all other work of the process, and before work that comes later. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#alone;
    const running = this.#patiently(before).then(async () => {
      await this.#patiently(Promise.allSettled(this.#together));
      return work();
    });
    this.#alone = running.catch(() => undefined);
    return running;
  }

  async #afterAlone(): Promise<void> {
    const sinceMs = performance.now();
    for (;;) {
      const last = this.#alone;
      await this.#patiently(last);
      // More may have asked meanwhile.
      if (last === this.#alone || performance.now() - sinceMs >= this.#patienceMs) return;
    }
  }

  async #patiently(others: Promise<unknown>): Promise<void> {
    const ended = new AbortController();
    const late = sleep(this.#patienceMs, { signal: ended.signal, ref: false }).catch(() => undefined);
    await Promise.race([others, late]);
    ended.abort();
  }
}
