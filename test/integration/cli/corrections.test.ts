/** Rejected rows of pushes, until their pipes are accepted: by a correction, by other files, or not. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { tenColumns } from '../../support/pipes.ts';
import { databaseOfRole, postgresLack } from '../../support/postgres/database.ts';

const row = (id: string, length = '[1]', date = '2024-01-01T00:00:00Z'): string =>
  `N,${id},${date},A,B,true,"${length}",[2],[3],[4]`;
const fileText = (...rows: readonly string[]): string => `${[tenColumns, ...rows].join('\n')}\n`;
const wrong = '[-1]';

const reportSchema = z.object({ runId: z.string(), exitCode: z.number(), notices: z.array(z.string()) });
const listSchema = z.object({
  alerts: z.array(
    z.object({
      kind: z.string(),
      state: z.string(),
      summary: z.string(),
      detail: z.record(z.string(), z.unknown()),
      resolvedBy: z.string().nullable(),
      target: z.object({ id: z.string() }),
    }),
  ),
});

function pushesOf(home: CliHome) {
  const push = async (name: string, text: string, ...flags: readonly string[]) => {
    const file = await home.write(name, text);
    const { stdout, stderr } = await home.here(['push', 'network-pipes', file, '--inline', '--json', ...flags]);
    expect(stdout, stderr).not.toBe('');
    return { file, ...reportSchema.parse(JSON.parse(stdout)) };
  };
  const alerts = async () => {
    const { stdout } = await home.here(['alerts', 'list', '--json', '--state', 'open', 'resolved']);
    return listSchema.parse(JSON.parse(stdout)).alerts.map(({ target, resolvedBy, ...alert }) => ({
      ...alert,
      file: target.id.slice(home.folder.length + 1),
      by: resolvedBy,
    }));
  };
  const rejectsOf = async (runId: string) => (await home.here(['runs', 'rejects', runId])).stdout;
  return { push, alerts, rejectsOf };
}

const lack = await postgresLack('newest');
const engines = [
  { name: 'duckdb', isLacking: false, url: async () => undefined },
  { name: 'postgres', isLacking: lack !== undefined, url: async () => (await databaseOfRole()).url },
];

for (const { name, isLacking, url } of engines) {
  describe.skipIf(isLacking)(`rejected rows: ${name}${isLacking ? ` (${lack})` : ''}`, () => {
    async function scene() {
      const server = await startTestingServer({ rejectSourceIds: ['refused'] });
      const warehouseUrl = await url();
      const home = await cliHome(server.url, warehouseUrl === undefined ? {} : { warehouseUrl });
      return {
        server,
        home,
        ...pushesOf(home),
        [Symbol.asyncDispose]: async () => {
          await home[Symbol.asyncDispose]();
          await server.close();
        },
      };
    }

    test('are an alert of their file, which a correction of all of them resolves', async () => {
      await using given = await scene();
      const { push, alerts, rejectsOf, server } = given;
      const first = await push('pipes.csv', fileText(row('P1'), row('P2', wrong), row('refused'), row('P3', wrong)));
      expect(first.exitCode).toBe(3);
      expect(await alerts()).toMatchObject([{ file: 'pipes.csv', state: 'open', summary: '3 rows were rejected' }]);

      // The second one of its rows is not corrected yet.
      server.state.setOptions({ rejectSourceIds: [] });
      const rejects = await rejectsOf(first.runId);
      const half = await push('rejects.csv', rejects.replace(wrong, '[1]'), '--corrects', first.runId);
      expect(half.exitCode).toBe(3);
      expect(await alerts()).toMatchObject([{ file: 'pipes.csv', state: 'open', summary: '1 row was rejected: N/P3' }]);

      const rest = (await rejectsOf(half.runId)).replace(wrong, '[7]');
      const last = await push('rest.csv', rest, '--corrects', half.runId.slice(0, -1));
      expect(last).toMatchObject({
        exitCode: 0,
        notices: expect.not.arrayContaining([expect.stringContaining('alert')]),
      });
      expect(await alerts()).toMatchObject([{ file: 'pipes.csv', state: 'resolved', by: last.runId }]);
      expect(server.state.pipes()).toHaveLength(4);
    });

    test('stay an alert of what a correction has not, also where a row has no id', async () => {
      await using given = await scene();
      const { push, alerts } = given;
      const first = await push('pipes.csv', fileText(row('P1', wrong), row('P2', wrong), row(''), row('', wrong)));
      const second = await push('some.csv', fileText(row('P1'), row('P8')), '--corrects', first.runId);
      expect(second).toMatchObject({
        exitCode: 0,
        notices: expect.arrayContaining([
          `2 rows that run ${first.runId} rejected were not among these: the alert stays`,
        ]),
      });
      expect(await alerts()).toMatchObject([{ state: 'open', summary: '2 rows were rejected: N/P2 and others' }]);
      // The rows that are left are those of the first push.
      const [{ detail } = { detail: {} }] = await alerts();
      expect(detail).toMatchObject({ runId: first.runId, pipes: ['N/P2'] });
      // A pipe that was brought before is none of the other rows.
      await push('again.csv', fileText(row('P1', '[5]')), '--corrects', first.runId);
      expect(await alerts()).toMatchObject([{ state: 'open', summary: '2 rows were rejected: N/P2 and others' }]);
      // Another content, and no rejected row among it: what has no id is taken to be among the others.
      const third = await push('more.csv', fileText(row('P9')), '--corrects', second.runId);
      expect(await alerts()).toMatchObject([{ state: 'open', summary: '1 row was rejected: N/P2' }]);
      await push('last.csv', fileText(row('P2')), '--corrects', third.runId);
      expect(await alerts()).toMatchObject([{ state: 'resolved' }]);
    });

    test('end when other files bring all of their pipes, each with its date, and not before', async () => {
      await using given = await scene();
      const { push, alerts } = given;
      const [may, june] = ['2024-05-01T00:00:00Z', '2024-06-01T00:00:00Z'];
      await push('pipes.csv', fileText(row('P1', wrong, may), row('P2', wrong)));
      await push('other.csv', fileText(row('P1', '[1]', june), row('P2', '[2]')));
      expect(await alerts()).toMatchObject([{ file: 'pipes.csv', state: 'open', summary: '2 rows were rejected' }]);
      const last = await push('third.csv', fileText(row('P1', '[1]', '2024-05-01T02:00:00+02:00'), row('P5', wrong)));
      expect((await alerts()).toSorted((left, right) => left.file.localeCompare(right.file))).toMatchObject([
        { file: 'pipes.csv', state: 'resolved', by: last.runId },
        { file: 'third.csv', state: 'open', summary: '1 row was rejected' },
      ]);
    });

    test('of a file that is pushed anew are those of its last push', async () => {
      await using given = await scene();
      const { push, alerts } = given;
      await push('pipes.csv', fileText(row('P1', wrong), row('P2', wrong)));
      await push('pipes.csv', fileText(row('P1'), row('P3', wrong)));
      expect(await alerts()).toMatchObject([{ state: 'open', summary: '1 row was rejected' }]);
      await push('other.csv', fileText(row('P3')));
      expect(await alerts()).toMatchObject([{ file: 'pipes.csv', state: 'resolved' }]);
    });
  });
}

test('--corrects names a push that lost rows, and says what is wrong with any other run', async () => {
  await using server = await startTestingServer();
  await using home = await cliHome(server.url);
  const { push } = pushesOf(home);
  const good = await push('good.csv', fileText(row('P1')));
  const corrects = async (run: string) => {
    const file = await home.write('more.csv', fileText(row('P2')));
    const { code, stderr } = await home.here(['push', 'network-pipes', file, '--inline', '--corrects', run]);
    return { code, stderr };
  };
  expect(await corrects(good.runId)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`run ${good.runId} has rejected no row: there is nothing to correct`),
  });
  expect(await corrects('2024')).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no run 2024') });
  const { stdout } = await home.here(['export', 'daily-production', '--uwi', 'A', '--inline', '--json']);
  const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(stdout));
  expect(await corrects(runId)).toMatchObject({ code: 2, stderr: expect.stringContaining('is no push') });
  expect(server.state.pipes()).toHaveLength(1);
});
