/** A short storm of each combination: that it is played, and that nothing is violated. Long ones: `npm run storm`. */
import { describe, expect, it } from 'vitest';
import { check } from './checker/check.ts';
import { near } from './checker/near.ts';
import { type Combination, planOf } from './plan.ts';
import { stormLack } from './servers.ts';
import { storm } from './storm.ts';

const combinations: readonly Combination[] = (['duckdb', 'postgres'] as const).flatMap((warehouse) =>
  (['embedded', 'redis'] as const).map((queue) => ({ warehouse, queue })),
);
const minutes = 0.5;
/** Not long enough to see that a minute without work passes: that is for long storms. */
const quietMs = 5_000;

describe.each(combinations)('a storm: $warehouse, $queue', (combination) => {
  const lack = stormLack(combination);
  it.skipIf(lack !== undefined)(`violates nothing${lack === undefined ? '' : ` (${lack})`}`, async () => {
    const said: string[] = [];
    const evidence = await storm(planOf(7, minutes, combination), { report: (line) => said.push(line), quietMs });
    const violations = check(evidence).map((violation) => ({ ...violation, near: near(evidence, violation), said }));
    expect(violations).toEqual([]);
    expect(evidence.service.requests.length).toBeGreaterThan(100);
  });
});
