/** Two processes that use one warehouse file, and one that is killed during its work. */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ask, loadOne, reading, row, dayOf } from '../support/warehouse-batches.ts';
import { openTemporaryDuckdb } from '../support/warehouse-duckdb.ts';
import { rowsPerBatch, startWriter } from '../support/warehouse-processes.ts';

const commitsBeforeKills = [1, 3, 2, 6, 4, 9, 1, 1, 5, 12, 7, 2, 8, 1, 15, 3];

const byWell = 'SELECT uwi, count(*), count(DISTINCT xid) FROM daily_production GROUP BY uwi ORDER BY uwi';

describe('several processes at a DuckDB warehouse', () => {
  it('take turns: two write at once from the first moment on, a third one reads and writes between', async () => {
    const { path, warehouse, dispose } = await openTemporaryDuckdb();
    try {
      await using left = startWriter(path, 'left', 12);
      await using right = startWriter(path, 'right', 12);
      await Promise.all([left.line(), right.line()]);
      expect(await ask(warehouse, 'SELECT DISTINCT uwi FROM daily_production ORDER BY uwi')).toEqual([
        ['left'],
        ['right'],
      ]);
      await loadOne(warehouse, reading([row(1, dayOf(1))], { uwi: 'between' }));
      expect(await Promise.all([left.ended(), right.ended()])).toEqual([0, 0]);
      const rows = 12 * rowsPerBatch;
      expect(await ask(warehouse, byWell)).toEqual([
        ['between', 1, 1],
        ['left', rows, rows],
        ['right', rows, rows],
      ]);
      expect(existsSync(`${path}.waiting`)).toBe(false);
    } finally {
      await dispose();
    }
  });

  it('a process that never pauses lets others in within seconds', async () => {
    const { path, warehouse, dispose } = await openTemporaryDuckdb();
    try {
      await using greedy = startWriter(path, 'greedy', 0);
      await greedy.line();
      for (const unit of [0, 1, 2]) await loadOne(warehouse, reading([row(1, dayOf(1))], { uwi: 'patient', unit }));
      await greedy.kill();
      expect((await ask(warehouse, byWell)).find(([uwi]) => uwi === 'patient')).toEqual(['patient', 1, 1]);
    } finally {
      await dispose();
    }
  });

  it('G7: a writer killed at any moment leaves the warehouse file usable, with whole batches only', async () => {
    const { path, warehouse, dispose } = await openTemporaryDuckdb();
    try {
      for (const [kill, commits] of commitsBeforeKills.entries()) {
        const uwi = `killed ${kill}`;
        await using victim = startWriter(path, uwi, 0);
        for (let line = 0; line < commits; line += 1) await victim.line();
        await victim.kill();
        const [[rows, distinct, units] = []] = await ask(
          warehouse,
          `SELECT count(*), count(DISTINCT xid), (SELECT count(*) FROM run_unit WHERE run_id = '${uwi}' AND state = 'done')
           FROM daily_production WHERE uwi = '${uwi}'`,
        );
        expect(rows).toBeGreaterThanOrEqual(commits * rowsPerBatch);
        expect([rows, distinct]).toEqual([Number(units) * rowsPerBatch, Number(units) * rowsPerBatch]);
      }
    } finally {
      await dispose();
    }
  });
});
