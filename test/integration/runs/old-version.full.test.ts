/** The unfinished runs of a warehouse of schema 8 continue, in a copy of it to their ends, without any data in Redis. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { generatedDaily } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import {
  asOfLastNight,
  readExpected,
  restoreService,
  contentOf,
  copyOfOld,
  unpackOldWarehouse,
} from '../../support/old-warehouse.ts';

const listSchema = z.array(z.object({ runId: z.string(), state: z.string() }));
const rowCountsSchema = z.array(z.object({ uwi: z.string(), rows: z.int() }));
const pushReportSchema = z.object({ counts: z.object({ accepted: z.int(), rejectedByService: z.int() }) });

/** Wells that runs of the fixture read completely: unfinished, never planned, and gaps. */
function wholeWells({ state }: TestingServer): readonly { readonly uwi: string; readonly rows: number }[] {
  const wells = state.describe().wells.slice(11, 31);
  return wells.map((uwi) => ({ uwi, rows: state.daily.rows(uwi)?.count ?? 0 }));
}

test('G1, G2, G7: unfinished runs of an earlier version continue, for every job, and the audit verifies', async () => {
  const { asMade, finished, field, pushRunId } = await readExpected();
  await using server = await startTestingServer({ data: generatedDaily(field) });
  await restoreService(server.url);
  expect(server.state.pipes()).toHaveLength(asMade.service.pipes);
  expect(server.state.deletions()).toHaveLength(asMade.service.deletions);
  await using old = await unpackOldWarehouse({ serviceUrl: server.url });
  await using home = await cliHome(server.url);
  const copy = await copyOfOld(old);
  await asOfLastNight(copy);
  const env = { WELLSYNC_DATA_DIR: old.dataDir, WELLSYNC_WAREHOUSE: `duckdb:${copy}` };
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { stdout, stderr } = await home.run([...args, '--json'], { env });
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  };

  const runs = listSchema.parse(await json('runs', 'list'));
  const unfinished = runs.filter(({ state }) => state === 'queued' || state === 'running');
  // Its audit names the address of its creation: two services, and only an operator knows which one is current.
  const refused = await home.run(['worker'], { env });
  expect(refused.code, refused.stderr).toBe(2);
  expect(refused.stderr).toContain('wellsync service adopt');
  expect(await json('service', 'adopt', server.url, '--yes')).toMatchObject({ service: server.url });
  const worker = home.start(['worker'], { env });
  for (const { runId } of unfinished) {
    expect(await json('runs', 'show', runId, '--wait')).toMatchObject({ state: 'done', balance: { balanced: true } });
  }
  worker.signal('SIGTERM');
  await worker.ended;

  const query = async (sql: string) => z.array(z.record(z.string(), z.unknown())).parse(await json('query', sql));
  const content = await contentOf(async (sql) => (await query(sql)).map((row) => Object.values(row)));
  // The units of runs that ended over 30 days ago are pruned by now.
  const wasUnfinished = (_: unknown, position: number): boolean =>
    asMade.runs[position]?.state !== finished.runs[position]?.state;
  expect(content.runs.filter(wasUnfinished)).toEqual(finished.runs.filter(wasUnfinished));
  expect(content.runs.filter(wasUnfinished)).toHaveLength(unfinished.length);
  expect(content.runs.map(({ state }) => state)).toEqual(finished.runs.map(({ state }) => state));
  // How many chunks the rest of a push takes depends on the order of the answers; every pipe is in one of them.
  expect(content.warehouse).toEqual({ ...finished.warehouse, push_ledger: content.warehouse['push_ledger'] });
  const report = pushReportSchema.parse(await json('runs', 'show', pushRunId));
  const ledger = await query(`SELECT sum(items)::INTEGER AS items FROM push_ledger WHERE run_id = '${pushRunId}'`);
  expect(ledger).toEqual([{ items: report.counts.accepted + report.counts.rejectedByService }]);
  const perWell = await json('query', 'SELECT uwi, count(*)::INTEGER AS rows FROM daily_production GROUP BY uwi');
  expect(rowCountsSchema.parse(perWell)).toEqual(expect.arrayContaining([...wholeWells(server)]));
  expect(server.state.pipes()).toHaveLength(finished.service.pipes);
  expect(server.state.deletions()).toHaveLength(finished.service.deletions);
  expect(await json('audit', 'verify', '--kept', asMade.audit.head)).toMatchObject({
    intact: true,
    rows: finished.audit.rows,
  });
});
