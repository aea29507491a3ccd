/** A place of files that refuses, is down or has lost a file: every fault is told in words. */
import { expect, test } from 'vitest';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { pushedNetwork } from '../../support/pushed-network.ts';
import { startS3Server } from '../../support/s3-server.ts';
import { endedRun, expectRefusal, hostOf, placeIn, pushText } from '../../support/shared-files.ts';

const network = pushedNetwork({ rows: 300, wrong: 0, refused: 0, repeated: 5 });

test('a push whose file was taken away fails in words, and a new one brings it again', async () => {
  await using server = await startTestingServer();
  await using store = await startS3Server();
  await using host = await hostOf(placeIn(store), server.url);
  const lost = (await pushText(host, network.text)).runId();
  for (const key of store.objects.keys()) if (key.includes('/content/')) store.objects.delete(key);
  const worker = host.start(['worker', '--queues', 'push']);
  const { state, failures } = await endedRun(host, lost);
  expect([state, failures[0]?.code]).toEqual(['failed', 'source-missing']);
  const retried = await host.run(['runs', 'retry', lost]);
  expect(retried.stderr).toContain('is there no more');
  expect(retried.code).toBe(2);
  const again = await pushText(host, network.text, '--wait');
  expect(again.code, again.stderr).toBe(0);
  worker.signal('SIGTERM');
  await worker.ended;
});

test('G7: a push waits while the store is down, and goes on when it is up', async () => {
  await using server = await startTestingServer();
  await using store = await startS3Server();
  await using host = await hostOf(placeIn(store), server.url);
  const { runId } = await pushText(host, network.text);
  store.faults.refuse = { status: 503, code: 'SlowDown' };
  const worker = host.start(['worker', '--queues', 'push']);
  await worker.hears('work waits for the place of the shared files');
  delete store.faults.refuse;
  expect(await endedRun(host, runId())).toMatchObject({ state: 'done' });
  worker.signal('SIGTERM');
  await worker.ended;
});

test.each([
  ['wrong credentials', { AWS_ACCESS_KEY_ID: 'AKIDWRONG' }, 'does not take the credentials of this process'],
  ['no credentials', { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }, 'there are no credentials for the store'],
])('with %s a push queues nothing, and push and doctor say what to do', async (_, env, words) => {
  await using server = await startTestingServer();
  await using store = await startS3Server();
  await using host = await hostOf(placeIn(store), server.url);
  Object.assign(host.env, env);
  await expectRefusal(host, words);
});

test.each([
  [403, 'AccessDenied', 'the store refuses access to bucket wellsync-files'],
  [503, 'SlowDown', 'answers 503'],
  [403, 'RequestTimeTooSkewed', 'the clocks of this host and of the store'],
])(
  'where the store answers %i %s a push queues nothing, and push and doctor say what to do',
  async (status, code, words) => {
    await using server = await startTestingServer();
    await using store = await startS3Server();
    await using host = await hostOf(placeIn(store), server.url);
    store.faults.refuse = { status, code };
    await expectRefusal(host, words);
  },
);
