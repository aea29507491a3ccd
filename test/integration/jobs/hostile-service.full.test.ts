/** The answers of ../../support/hostile-modes.ts that take a whole time-out. */
import { expect, it } from 'vitest';
import { hostileCases } from '../../support/hostile-modes.ts';
import { expectHostileEnd, exportHostileWells } from '../../support/hostile-run.ts';

const slow = Object.keys(hostileCases).filter((name) => hostileCases[name]?.isSlow === true);

it('G2: answers that never come to an end fail with words, and the other wells are stored', async () => {
  const run = await exportHostileWells(slow, 8_000);
  for (const name of slow) expectHostileEnd(run, name);
  expect(run.stderr).not.toContain('fault of wellsync');
  expect(run.wrongRows).toEqual([]);
});
