/** The alerts of the wells that a list of wells lacks since its last run, by the command line. */
import { expect, test } from 'vitest';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import { januaryRows } from '../../support/testing-server-requests.ts';

const seven = ['A', 'B', 'C', 'D', 'E', 'F', 'G'];

test('a list that was cut from seven wells to two is five alerts, until the wells are back', async () => {
  await using server = await startTestingServer({ data: givenDaily(seven.flatMap((uwi) => januaryRows(3, uwi))) });
  await using home = await cliHome(server.url);
  const night = async (wells: readonly string[], ...flags: readonly string[]) => {
    const file = await home.write('wells.csv', ['uwi', ...wells].join('\n'));
    const command = ['export', 'daily-production', '--wells', file, '--inline', '--json', ...flags];
    const { stdout } = await home.here(command);
    const { runId, state } = JSON.parse(stdout) as { readonly runId: string; readonly state: string };
    expect(state).toBe('done');
    return { runId, file };
  };
  const alerts = async (kind: string) => {
    const sql = `SELECT target, state, severity, summary FROM alert WHERE kind = '${kind}' ORDER BY target`;
    return JSON.parse((await home.here(['query', sql, '--json'])).stdout) as readonly unknown[];
  };
  const { runId, file } = await night(seven);
  expect(await alerts('wells-left-out')).toEqual([]);
  // Its rows are of 2024: silent before there were alerts.
  expect(await alerts('well-silent')).toMatchObject(
    seven.map((target) => ({ target, state: 'open', severity: 'info' })),
  );

  await night(['A'], '--from', '2024-01-01');
  expect(await alerts('wells-left-out')).toEqual([]);
  await night(['A', 'B']);
  const summary = `was in ${file} until its run ${runId}, and is not any more`;
  const leftOut = (state: string) => seven.slice(2).map((target) => ({ target, state, severity: 'warning', summary }));
  expect(await alerts('wells-left-out')).toEqual(leftOut('open'));
  await night(['B', 'A']);
  expect(await alerts('wells-left-out')).toEqual(leftOut('open'));
  await night(seven);
  expect(await alerts('wells-left-out')).toEqual(leftOut('resolved'));
});
