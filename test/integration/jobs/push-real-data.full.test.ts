/** Real networks: the content at the service equals that of an independent reader of the file. */
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { defaultPipeLimits } from '../../../src/core/pipes/pipe.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import { pushUnderTest } from '../../support/push-under-test.ts';
import {
  expectedPipes,
  inDialect,
  realDataFolder,
  realPipeFiles,
  realPipesLack,
  textsOf,
  type Dialect,
} from '../../support/real-networks.ts';

const plain: Dialect = { delimiter: ',', lineEnd: '\n', start: '', lists: 'as they are' };

/** Texts of each pipe, by its two ids. */
function byIds(pipes: readonly string[][]): ReadonlyMap<string, readonly string[]> {
  return new Map(pipes.map((texts) => [texts.slice(0, 2).join(' '), texts]));
}

function expectArrived(server: TestingServer, file: string): void {
  expect(byIds(server.state.pipes().map(({ raw }) => textsOf(raw)))).toEqual(byIds(expectedPipes(file)));
}

describe('real networks, pushed', () => {
  beforeEach(({ skip }) => skip(realPipesLack !== undefined, realPipesLack));

  test.each(realPipeFiles)('%s arrives pipe by pipe as the file says, every number in its own digits', async (file) => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const { code, stdout } = await home.here(['push', 'network-pipes', path.resolve(realDataFolder, file), '--inline']);
    expect(stdout).toContain('Reconciled');
    expect(code).toBe(0);
    expectArrived(server, file);
  });

  test.each<[string, Dialect, 'auto' | 'long']>([
    ['with a byte order mark and CRLF', { ...plain, start: '\uFEFF', lineEnd: '\r\n' }, 'auto'],
    ['with tabs, and lists with semicolons', { ...plain, delimiter: '\t', lists: 'semicolons' }, 'auto'],
    ['with semicolons throughout', { ...plain, delimiter: ';', lists: 'semicolons' }, 'auto'],
    ['in the long form', { ...plain, lists: 'rows' }, 'long'],
  ])('each arrives the same %s, packed', async (_, dialect, form) => {
    for (const file of realPipeFiles) {
      await using server = await startTestingServer();
      await using push = await pushUnderTest(server.url);
      const { delimiter } = dialect;
      const reading = { form, delimiter, aliases: {}, ignoreUnknownColumns: false, limits: defaultPipeLimits };
      const pushed = await push.fileOf(gzipSync(inDialect(file, dialect)), { reading, chunkItems: 500 });
      expect(await pushed.work(), file).toBeUndefined();
      expect(await push.totalsOf(pushed), file).toMatchObject({ units: { done: 1 }, balanced: true });
      expectArrived(server, file);
    }
  });
});
