import { describe, expect, it } from 'vitest';
import { acts, type Combination, detailOf, disturbances, planOf } from './plan.ts';

const combinations: readonly Combination[] = (['duckdb', 'postgres'] as const).flatMap((warehouse) =>
  (['embedded', 'redis'] as const).map((queue) => ({ warehouse, queue })),
);
const seeds = Array.from({ length: 40 }, (_, index) => index + 1);

describe('the plan of a storm', () => {
  it.each(combinations)('is that of its seed: $warehouse, $queue', (combination) => {
    for (const seed of seeds) {
      const plan = planOf(seed, 4, combination);
      expect(planOf(seed, 4, combination)).toEqual(plan);
      for (const event of plan.events.slice(0, 5)) {
        expect(detailOf(plan, event).integer(0, 1e6)).toBe(detailOf(plan, event).integer(0, 1e6));
      }
    }
    expect(planOf(1, 4, combination).events).not.toEqual(planOf(2, 4, combination).events);
  });

  it.each(combinations)('lies within its time, in order: $warehouse, $queue', (combination) => {
    for (const seed of seeds) {
      const { events, lengthMs } = planOf(seed, 4, combination);
      const times = events.map(({ atMs }) => atMs);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(times.every((atMs) => atMs >= 0 && atMs < lengthMs)).toBe(true);
      expect(events.map(({ no }) => no)).toEqual(events.map((_, index) => index));
    }
  });

  it('has every kind that a combination can have, over forty seeds', () => {
    const kinds = new Set(
      combinations.flatMap((combination) =>
        seeds.flatMap((seed) => planOf(seed, 4, combination).events.map(({ kind }) => kind)),
      ),
    );
    expect([...kinds].toSorted()).toEqual([...acts, ...disturbances].toSorted());
  });

  it('disturbs nothing that is not there', () => {
    const kindsOf = (combination: Combination): ReadonlySet<string> =>
      new Set(seeds.flatMap((seed) => planOf(seed, 4, combination).events.map(({ kind }) => kind)));
    const embedded = kindsOf({ warehouse: 'duckdb', queue: 'embedded' });
    expect(['redis', 'failover', 'postgres', 'takeover'].filter((kind) => embedded.has(kind))).toEqual([]);
    expect(kindsOf({ warehouse: 'postgres', queue: 'redis' }).has('disk')).toBe(false);
    expect(kindsOf({ warehouse: 'duckdb', queue: 'redis' }).has('takeover')).toBe(false);
  });

  it('has Sentinel in some storms with Redis, never in others', () => {
    const topologies = (queue: Combination['queue']) =>
      new Set(seeds.map((seed) => planOf(seed, 4, { warehouse: 'duckdb', queue }).topology));
    expect(topologies('redis')).toEqual(new Set(['single', 'sentinel']));
    expect(topologies('embedded')).toEqual(new Set([null]));
  });
});
