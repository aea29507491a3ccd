/** Who asked for a run: one word for a program of the host itself, wherever it is shown, and found by it. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { cliHome } from '../support/cli.ts';
import { startConsoleOf } from '../support/console.ts';
import { startWithTenDays, UWI } from '../support/testing-server-requests.ts';

test('a run that this machine asked for says so, and is found by what is said, and by a part of its well', async () => {
  await using service = await startWithTenDays();
  await using home = await cliHome(service.url);
  await using server = await startConsoleOf(home);
  const json = { export: 'daily-production', uwis: [UWI] };
  const started = z.object({ runId: z.string() }).parse(await (await server.ask('/api/v1/runs', { json })).json());
  const { runId } = started;
  const textOf = async (path: string): Promise<string> => (await server.ask(path)).text();
  expect(await textOf(`/runs/${runId}`)).toContain('this machine');
  for (const path of [`/runs/${runId}`, '/runs', '/']) expect(await textOf(path)).not.toContain('loopback');
  const idsBy = async (query: string) => {
    const list = z.object({ runs: z.array(z.object({ runId: z.string() })) });
    return list.parse(await (await server.ask(`/api/v1/runs?${query}`)).json()).runs.map((run) => run.runId);
  };
  expect(await idsBy('by=This+machine')).toEqual([runId]);
  expect(await idsBy('by=anna')).toEqual([]);
  const part = encodeURIComponent(UWI.slice(1).toLowerCase());
  expect(await idsBy(`well=${part}`)).toEqual([runId]);
  expect(await textOf(`/runs?well=${part}`)).toContain(runId);
  const { stdout } = await home.here(['runs', 'list', '--well', UWI.slice(1), '--by', 'MACHINE', '--json']);
  expect(JSON.parse(stdout)).toMatchObject([{ runId, requestedBy: 'this machine' }]);
});
