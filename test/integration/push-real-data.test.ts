/** Real networks, made by others: what arrived at the service is what an independent reader finds in the file. */
import { describe, expect, test } from 'vitest';
import path from 'node:path';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome } from '../support/cli.ts';
import { expectedPipes, realDataFolder, realPipeFiles, textsOf } from '../support/real-networks.ts';

describe.skipIf(realPipeFiles.length === 0)('real networks, pushed (skipped without ../shared/data)', () => {
  test.each(realPipeFiles)('%s arrives pipe by pipe as the file says, every number in its own digits', async (file) => {
    await using server = await startTestingServer();
    await using home = await cliHome(server.url);
    const { code, stdout } = await home.run(['push', 'network-pipes', path.resolve(realDataFolder, file), '--inline']);
    expect(stdout).toContain('It adds up');
    expect(code).toBe(0);
    const expected = new Map(expectedPipes(file).map((texts) => [texts.slice(0, 2).join(' '), texts]));
    const arrived = new Map(server.state.pipes().map(({ raw }) => [textsOf(raw).slice(0, 2).join(' '), textsOf(raw)]));
    expect(arrived).toEqual(expected);
  });
});
