/** What a worker says: JSON lines for a collector of logs, sentences at a terminal. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { createWorkerLog } from '../../../src/cli/text/log.ts';
import { Output } from '../../../src/cli/output.ts';
import { cliHome } from '../../support/cli.ts';
import { startWithTenDays } from '../../support/testing-server-requests.ts';

test('a worker without a terminal writes JSON lines and nothing between them, its announcement too', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const worker = home.start(['worker']);
  await worker.hears('Working');
  worker.signal('SIGTERM');
  await worker.ended;
  const lines = worker.said().trim().split('\n');
  const messages = lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
  expect(messages).toContainEqual(expect.stringContaining('Working export'));
  expect(messages).toContain('stopping');
});

test('a worker at a terminal says its log in sentences with the time of day', () => {
  const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true, columns: 200 });
  const output = new Output({ stdout: new PassThrough(), stderr, json: false, quiet: false });
  createWorkerLog(loadConfig({ environment: {} }), output).warn({ because: 'the disk is full' }, 'the queue waits');
  expect(String(stderr.read())).toMatch(/^\d\d:\d\d:\d\dZ warn: the queue waits: the disk is full\n$/);
});
