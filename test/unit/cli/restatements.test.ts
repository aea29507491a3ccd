/** Restatements as a table: the notice always, the run where its whole id has room. */
import { expect, test } from 'vitest';
import type { Restatement } from '../../../src/core/daily/row.ts';
import { readableRestatements } from '../../../src/cli/commands/restatements.ts';

async function* lines(): AsyncGenerator<Restatement> {
  const where = { day: '2024-01-02', uwi: '15/9-F-1 C', change: 'updated', field: 'oil_rate' } as const;
  yield { ...where, old: 2, new: 2.5, runId: '20240304-040000-6a1c0e', noticedAt: '2024-03-04T04:00:03.123Z' };
}

test.each([
  [80, ['noticed_at'], ['2024-03-04 04:00']],
  [200, ['noticed_at', 'run'], ['2024-03-04 04:00', '20240304-040000-6a1c0e']],
  [Number.POSITIVE_INFINITY, ['noticed_at', 'run'], ['2024-03-04 04:00', '20240304-040000-6a1c0e']],
])('in %d columns', async (width, heads, cells) => {
  const { columns, rows } = readableRestatements(lines(), width);
  expect(columns.map(({ name }) => name)).toEqual(['day', 'uwi', 'change', 'field', 'old', 'new', ...heads]);
  for await (const row of rows) expect(row.slice(6)).toEqual(cells);
});
