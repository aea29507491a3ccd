/** Exports from a hostile service: every answer ends with words, and the wells beside it are read. */
import { expect, it } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { hostileCases } from '../../support/hostile-modes.ts';
import { expectHostileEnd, exportHostileWells } from '../../support/hostile-run.ts';

const quick = Object.keys(hostileCases).filter((name) => hostileCases[name]?.isSlow === undefined);

it('G2: whatever a service answers, records are stored, quarantined or fail with words, and other wells are stored', async () => {
  const run = await exportHostileWells(quick);
  for (const name of quick) expectHostileEnd(run, name);
  expect(run.code).toBe(1);
  expect(run.stderr).not.toContain('fault of wellsync');
  expect(run.wrongRows).toEqual([]);
});

it('G2: a body of a well that is nested too deep is kept as text, and other wells are stored', async () => {
  const deep = `{"tz":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const bodies: Readonly<Record<string, string | Buffer>> = {
    deep,
    half: '{"tz":"\\ud800"}',
    latin1: Buffer.from('{"tz":"\xe9"}', 'latin1'),
    good: '{"tz":"UTC"}',
  };
  await using server = await startScriptedServer(({ url }) =>
    url.includes('/daily/') ? { body: [] } : { body: bodies[url.split('/').at(-1) ?? ''] },
  );
  const config = 'wells: { timeZoneField: tz }\nservice: { retry: { attempts: 1 } }\nqueue: { attempts: 1 }\n';
  await using home = await cliHome(server.baseUrl, { config });
  const named = Object.keys(bodies).flatMap((well) => ['--well', well]);
  const { stdout } = await home.here(['export', 'wells', ...named, '--inline']);
  expect(stdout).toContain('latin1: failed, GET /api/production/well/latin1 answered with text that is not UTF-8');
  const stored = await home.here(['query', 'SELECT source_id, length(body) AS n FROM well ORDER BY 1', '--json']);
  expect(JSON.parse(stored.stdout)).toEqual([
    { source_id: 'deep', n: deep.length },
    { source_id: 'good', n: 12 },
    { source_id: 'half', n: 15 },
  ]);
  // Their time zones are read out of the bodies.
  expect(await home.here(['export', 'daily-production', '--from-warehouse', '--inline'])).toMatchObject({ code: 0 });
});
