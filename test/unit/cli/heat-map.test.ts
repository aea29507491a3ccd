import { expect, test } from 'vitest';
import { heatLegend, heatMap } from '../../../src/cli/commands/coverage-text.ts';

test.each([
  [{ present: 27, quarantined: 3, missing: 0 }, 'Q'],
  [{ present: 15, quarantined: 15, missing: 0 }, 'q'],
  [{ present: 0, quarantined: 30, missing: 0 }, '!'],
  [{ present: 30, quarantined: 0, missing: 0 }, '█'],
  [{ present: 27, quarantined: 0, missing: 3 }, '▓'],
  [{ present: 0, quarantined: 0, missing: 30 }, '·'],
])('a month of 30 days with %j is %s', (days, sign) => {
  const month = { month: '2024-04-01', asked: 30, neverRead: 0, ...days };
  const { lines } = heatMap([{ name: 'W', months: [month] }], 80);
  expect(lines.at(-1)).toBe(`W  ${sign}`);
  expect(heatLegend(80).join('\n')).toContain(`${sign} `);
});
