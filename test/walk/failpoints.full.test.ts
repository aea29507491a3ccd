/**
 * Meets each step of each job before and after it, in one scene, by one of a kill, a hang, an error and a transient error: the
 * work is taken on as an operator would, and the guarantees are asked of what it left. The steps are those that an
 * undisturbed run takes each time. WELLSYNC_TEST_FAILPOINTS=all meets each by all of them, and a name such as
 * `transaction.commit` or `ledger` those that begin with it, by all of them in every scene.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { At } from '../support/failpoint-process.ts';
import { type Scene, scenes } from '../support/failpoint-scenes.ts';
import { unmetSteps } from '../support/failpoint-unmet.ts';
import { Lane, type Left, type Prepared } from '../support/failpoint-walk.ts';

const asked = process.env['WELLSYNC_TEST_FAILPOINTS'];
/** Walks at one time: each waits for its process, for Redis and for the disk. */
const lanes = 8;
const timeoutMs = asked === undefined ? 900_000 : 4 * 3_600_000;
const kinds = ['kill', 'error', 'hang', 'transient'] as const;

interface Recorded {
  readonly scene: Scene;
  readonly prepared: Prepared;
  readonly undisturbed: Left;
  readonly steps: readonly string[];
  readonly existing: readonly string[];
}

async function record(lane: Lane, scene: Scene): Promise<Recorded> {
  const prepared = await lane.prepare(scene);
  const { steps: first, existing, left } = await lane.record(prepared);
  const { steps: second } = await lane.record(prepared);
  return { scene, prepared, undisturbed: left, steps: eachTime(first, second), existing };
}

/** Some steps come by time, and not as often each time. */
function eachTime(first: readonly string[], second: readonly string[]): readonly string[] {
  const left = [...second];
  return first.filter((step) => {
    const at = left.indexOf(step);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

interface Point {
  readonly recorded: Recorded;
  readonly at: At;
}

/** Each step, before and after. Kinds, scenes and the time at which it is met go round. */
function pointsOf(found: readonly Recorded[]): readonly Point[] {
  const scenesOf = new Map<string, Recorded[]>();
  for (const recorded of found) {
    for (const each of new Set(recorded.steps)) scenesOf.set(each, [...(scenesOf.get(each) ?? []), recorded]);
  }
  return [...scenesOf].flatMap(([each, taking], turn) => {
    const [step = '', when = ''] = each.split(' ');
    if (asked !== undefined && asked !== 'all' && !`${step}.`.startsWith(`${asked}.`)) return [];
    const fitting = kinds.filter((kind) => mayMeet(kind, each, scenesOf.has(`${step} after`)));
    // Not in step with before and after, which take turns as well.
    const kindTurn = turn + Math.floor(turn / kinds.length);
    return (asked === undefined ? [pick(fitting, kindTurn)] : fitting).flatMap((what, kind) =>
      (asked === undefined || asked === 'all' ? [pick(taking, turn + kind)] : taking).map((recorded, scene): Point => {
        const times = recorded.steps.filter((other) => other === each).length;
        const nth = 1 + ((turn * 7 + scene + kind) % times);
        return { recorded, at: { step, when: when as At['when'], nth, what } };
      }),
    );
  });
}

/**
 * What returns no promise has no outcome: an error cannot be its answer. Nor can it be that of a right that was given: its
 * holder would have it, and renew it, without being told.
 */
function mayMeet(kind: At['what'], each: string, isAwaited: boolean): boolean {
  if (kind === 'kill' || kind === 'hang') return true;
  return isAwaited && !/^queue\.(?:lease|tryLease) after$/.test(each);
}

function pick<T>(choices: readonly T[], turn: number): T {
  return choices[turn % choices.length] as T;
}

async function inLanes<Task>(tasks: readonly Task[], work: (lane: Lane, task: Task) => Promise<void>): Promise<void> {
  const left = [...tasks];
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      const lane = new Lane();
      try {
        for (let task = left.shift(); task !== undefined; task = left.shift()) await work(lane, task);
      } finally {
        lane.close();
      }
    }),
  );
}

/** The functions of node:fs that are steps, as the sources name them. */
function fileSteps(): readonly string[] {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return sources.flatMap((name) =>
    [
      ...readFileSync(path.join('src', name), 'utf8').matchAll(/^const \{([^}]*)\} = withSteps\('(\w+)', fs\);$/gm),
    ].flatMap(([, functions = '', port = '']) =>
      functions
        .split(',')
        .flatMap((each) => each.trim() || [])
        .map((each) => `${port}.${each}`),
    ),
  );
}

const stepNameOf = (each: string): string => each.split(' ')[0] ?? '';

describe('a step that is killed, hangs or fails', () => {
  const found: Recorded[] = [];
  beforeAll(() => inLanes(scenes, async (lane, scene) => void found.push(await record(lane, scene))));
  afterAll(() => Promise.all(found.map(({ prepared }) => rm(prepared.folder, { recursive: true }))));

  test('is one of a scene, or is listed with the reason why it is not', () => {
    const met = new Set(found.flatMap(({ steps }) => steps.map(stepNameOf)));
    const existing = new Set([...found.flatMap((each) => each.existing), ...fileSteps()]);
    const listed = Object.values(unmetSteps).flat();
    expect([...existing].filter((step) => !met.has(step) && !listed.includes(step))).toEqual([]);
    expect(listed.filter((step) => !existing.has(step))).toEqual([]);
  });

  test(
    'G1, G2, G3, G4, G5, G6, G7, G10: leaves what the undisturbed work leaves, once the work is taken on',
    { timeout: timeoutMs },
    async () => {
      const points = pointsOf(found);
      const wrong: string[] = [];
      const sinceMs = performance.now();
      await inLanes(points, async (lane, { recorded: { scene, prepared, undisturbed }, at }) => {
        // What goes on beside the work is not met as often each time, and may not be met at all near its end.
        const first = await lane.walk(prepared, at, undisturbed);
        const { isMet, wrong: faults } = first.isMet
          ? first
          : await lane.walk(prepared, { ...at, nth: 1 }, undisturbed);
        const named = `${scene.name}: ${at.what} ${at.when} ${at.step}, time ${at.nth}`;
        for (const fault of isMet ? faults : ['was not met', ...faults]) {
          wrong.push(`${named}\n${fault}`);
          console.log(wrong.at(-1));
        }
      });
      const walked = `${points.length} walks in ${Math.round((performance.now() - sinceMs) / 1_000)} s`;
      const byScene = found.map(({ scene, steps }) => {
        const walks = points.filter(({ recorded }) => recorded.scene === scene).length;
        return `${scene.name}: ${new Set(steps).size} steps taken ${steps.length} times, ${walks} walks`;
      });
      console.log([walked, ...byScene].join('\n'));
      expect(wrong).toEqual([]);
    },
  );
});
