/** A storm of half a minute as a test: that it is played, and violates nothing. Long ones: `npm run storm`. */
import { describe, expect, it } from 'vitest';
import { judge } from './checker/check.ts';
import { near } from './checker/near.ts';
import { type Combination, planOf } from './plan.ts';
import { stormLack } from './servers.ts';
import { storm } from './storm.ts';

const minutes = 0.5;
/** Not long enough to see that a minute without work passes: that is for long storms. */
const quietMs = 15_000;

export function describeShortStorm(seed: number, combination: Combination): void {
  describe(`a storm: ${combination.warehouse}, ${combination.queue}`, () => {
    const lack = stormLack(combination);
    it.skipIf(lack !== undefined)(`violates nothing${lack === undefined ? '' : ` (${lack})`}`, async () => {
      const said: string[] = [];
      const evidence = await storm({ ...planOf(seed, minutes, combination, quietMs), latencyMs: 0 }, (line) =>
        said.push(line),
      );
      const violations = judge(evidence).violations.map((violation) => ({
        ...violation,
        near: near(evidence, violation),
        said,
      }));
      // The assertion alone shows how many keys a violation has: a report without the output of the test needs its words.
      const words = violations.map(({ guarantee, what, near: nearby }) => JSON.stringify({ guarantee, what, nearby }));
      expect(violations, words.join('\n')).toEqual([]);
      expect(evidence.service.requests.length).toBeGreaterThan(100);
    });
  });
}
