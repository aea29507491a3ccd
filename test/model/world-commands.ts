/** What may happen in any world: commands of people and of fate, each at any moment, after which every guarantee is asked. */
import fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../src/core/time/window.ts';
import type { Asked, World, WorldProcess } from './world.ts';

export const actor = 'tester@host';

export interface Scene {
  readonly world: World;
  /** What does not hold now, a sentence each. */
  readonly violations: () => Promise<readonly string[]>;
  /** As {@link violations}, of a copy of the warehouse. */
  readonly violationsOfCopy: (copy: Asked) => Promise<readonly string[]>;
}

/** Throws with what does not hold, if anything. */
async function requireNone({ violations }: Scene): Promise<void> {
  const found = await violations();
  if (found.length > 0) throw new Error(found.join('\n'));
}

/** A command that is possible at any moment. */
export class Act<Of extends Scene> implements fc.AsyncCommand<object, Of> {
  readonly #name: string;
  readonly #act: (scene: Of) => unknown;

  constructor(name: string, act: (scene: Of) => unknown) {
    this.#name = name;
    this.#act = act;
  }

  check = (): boolean => true;

  async run(_: object, scene: Of): Promise<void> {
    await this.#act(scene);
    // What stood still goes on without a step once it is resumed.
    await scene.world.settled();
    await requireNone(scene);
  }

  toString = (): string => this.#name;
}

/** Stands for one of those that there are, whatever their number. */
export const someIndex = fc.nat({ max: 5 });

export function oneOf<Value>(all: readonly Value[], index: number): Value | undefined {
  return all[index % Math.max(1, all.length)];
}

export function working({ world }: Scene, index: number): WorldProcess | undefined {
  return oneOf(
    world.processes.filter((each) => each.isWorking()),
    index,
  );
}

/** The next steps of whoever the scheduler picks. */
export function steps(most: number) {
  return fc.integer({ min: 1, max: most }).map(
    (many) =>
      new Act<Scene>(`${many} steps`, async ({ world }) => {
        for (let step = 0; step < many && (await world.step()); step += 1);
      }),
  );
}

/** What a person asks about a run that was requested. */
function asked(what: 'cancel' | 'retry') {
  return fc.tuple(someIndex, someIndex).map(
    ([run, by]) =>
      new Act<Scene>(`${what} run ${run}`, (scene) => {
        const [runId, process] = [oneOf(scene.world.requested, run), working(scene, by)];
        if (runId !== undefined && process !== undefined) scene.world.tell(process.runs[what](runId, actor));
      }),
  );
}

export const cancelled = asked('cancel');
export const retried = asked('retry');

export const started = fc.constantFrom<0 | 1>(0, 0, 0, 1).map(
  (queue) =>
    new Act<Scene>(`start a process of queue ${queue}`, ({ world }) => {
      if (world.processes.filter(({ own }) => !own.isDead).length < 3) world.start(queue);
    }),
);

function living({ world }: Scene, index: number) {
  return oneOf(
    world.processes.filter(({ own }) => !own.isDead),
    index,
  )?.own;
}

export const killed = someIndex.map(
  (index) => new Act<Scene>(`kill process ${index}`, (scene) => living(scene, index)?.kill()),
);

export const suspended = fc.tuple(someIndex, fc.boolean()).map(
  ([index, goesOn]) =>
    new Act<Scene>(`${goesOn ? 'resume' : 'suspend'} process ${index}`, (scene) => {
      const own = living(scene, index);
      if (goesOn) own?.goOn();
      else own?.suspend();
    }),
);

/** All stand still for so long that another queue may take the warehouse over: they go on later, or are killed. */
export const takenOver = fc.constantFrom<0 | 1>(0, 1).map(
  (queue) =>
    new Act<Scene>(`queue ${queue} finds nobody alive, and takes over`, async ({ world }) => {
      for (const { own } of world.processes) if (!own.isDead) own.suspend();
      await world.pass(60_000);
      world.start(queue);
    }),
);

/** Each process looks for runs that its queue has lost, as it does by itself from time to time. */
export const passed = fc.constantFrom(1_000, 5_000, 15_000, 60_000, DAY_MS).map(
  (ms) =>
    new Act<Scene>(`${ms / 1_000} s pass`, async ({ world }) => {
      await world.pass(ms);
      for (const each of world.processes) if (each.isWorking()) world.tell(each.revive());
    }),
);

export const lost = fc.tuple(fc.constantFrom<0 | 1>(0, 0, 1), fc.boolean()).map(
  ([queue, isAll]) =>
    new Act<Scene>(`Redis ${queue} loses ${isAll ? 'everything' : 'its items'}`, ({ world }) => {
      if (isAll) world.queues[queue].lose();
      else world.queues[queue].loseItems();
    }),
);

/** What a process does beside its work, if one works. */
function beside(name: string, work: (scene: Scene, process: WorldProcess) => Promise<void>) {
  return someIndex.map(
    (by) =>
      new Act<Scene>(name, (scene) => {
        const process = working(scene, by);
        if (process !== undefined) scene.world.tell(work(scene, process));
      }),
  );
}

export const copied = beside('copy the warehouse', async ({ world, violationsOfCopy }, process) => {
  const found = await world.copy(process, violationsOfCopy);
  if (found.length > 0) throw new Error(`the copy: ${found.join('\n')}`);
});

export const pruned = beside('prune what is an hour old', async ({ world }, { context: { ledger } }) => {
  const ms = world.nowMs - HOUR_MS;
  while (
    (await ledger.retention.step({ unitsMs: ms, runsMs: ms, pushesMs: ms, historyMs: ms, alertsMs: ms })) !== undefined
  );
});

/** Once nothing happens any more, all that was requested ends, by one process that is left. */
export async function endsAll(scene: Scene): Promise<WorldProcess> {
  const { world } = scene;
  for (const { own } of world.processes) own.kill();
  await world.pass(60_000);
  await world.finish();
  await requireNone(scene);
  const process = world.start(0);
  while (!process.isWorking() && (await world.step()));
  return process;
}
