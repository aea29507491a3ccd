/** `files.url`: what is pushed on one host is worked on another, and every fault of the place is told in words. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import type { CliHome } from '../../support/cli.ts';
import { pushedNetwork } from '../../support/pushed-network.ts';
import { s3Secret, startS3Server } from '../../support/s3-server.ts';
import { endedRun, expectRefusal, hostOf, placeIn, pushText } from '../../support/shared-files.ts';

const dayMs = 86_400_000;
const network = pushedNetwork({ rows: 300, wrong: 4, refused: 2, repeated: 5 });

async function startNetworkServer() {
  return startTestingServer({ rejectSourceIds: [...network.refusedSourceIds] });
}

async function spooled(host: CliHome): Promise<readonly string[]> {
  return readdir(path.join(host.folder, 'spool')).catch(() => []);
}

async function pruned(host: CliHome): Promise<number> {
  const { stdout } = await host.run(['prune', '--json']);
  return z.object({ sharedFiles: z.number() }).parse(JSON.parse(stdout)).sharedFiles;
}

describe('a push through files.url', () => {
  test('G1, G2, G10: is worked by a host that never saw the file, which is kept for as long as a run needs it', async () => {
    await using server = await startNetworkServer();
    await using store = await startS3Server();
    await using pusher = await hostOf(placeIn(store), server.url);
    await using worker = await hostOf(placeIn(store), server.url, pusher);
    const age = (days: number): void => {
      for (const [key, object] of store.objects) {
        store.objects.set(key, { ...object, changedAtMs: Date.now() - days * dayMs });
      }
    };

    const queued = await pushText(pusher, network.text);
    expect(queued.code, queued.stderr).toBe(0);
    const runId = queued.runId();
    expect(await spooled(pusher)).toEqual([]);
    age(50);
    expect(await pruned(pusher)).toBe(0);

    const having = worker.start(['worker', '--queues', 'push', '--log-level', 'trace']);
    expect(await endedRun(pusher, runId)).toMatchObject({ state: 'done' });
    having.signal('SIGTERM');
    const said = Object.values(await having.ended).map(String);

    const rejects = await pusher.run(['runs', 'rejects', runId]);
    expect(rejects.stdout.trimEnd().split('\n')).toHaveLength(1 + 4 + 2);
    expect((await pusher.run(['runs', 'rejects', runId, '--path'])).code).toBe(2);
    expect(await spooled(worker)).toEqual([]);
    age(50);
    expect(await pruned(pusher)).toBe(2);
    expect((await pusher.run(['runs', 'rejects', runId])).stdout).toBe(rejects.stdout);
    age(100);
    expect(await pruned(pusher)).toBeGreaterThan(0);
    expect([...store.objects.keys()]).toEqual(['etl/wellsync-place.json']);
    const shown = await pusher.run(['query', 'FROM run', '--json']);
    for (const text of [...said, queued.stderr, shown.stdout]) expect(text).not.toContain(s3Secret);
  });

  test.each([
    ['a bucket that is not there', 's3://no-such-bucket', 'there is no bucket no-such-bucket'],
    ['a folder that is not mounted', '/mnt/not-there', 'there is no folder /mnt/not-there'],
  ])('with %s queues nothing, and push and doctor say what to do', async (_, url, words) => {
    await using server = await startTestingServer();
    await using store = await startS3Server();
    await using host = await hostOf(placeIn(store, url), server.url);
    await expectRefusal(host, words);
  });

  test('doctor uses the place and leaves nothing in it', async () => {
    await using store = await startS3Server();
    await using host = await hostOf(placeIn(store), 'http://127.0.0.1:1');
    const { stdout } = await host.run(['doctor', '--json']);
    expect(stdout).toContain('s3://wellsync-files/etl: written, read and removed');
    expect([...store.objects.keys()]).toEqual([]);
  });

  test.each([
    's3://key:open-sesame@bucket/etl',
    's3://bucket?secret=open-sesame',
    'relative/open-sesame',
    's3:///open-sesame',
  ])('G10: the address %s is refused, and not shown', async (url) => {
    await using host = await hostOf({ env: { WELLSYNC_FILES_URL: url }, files: '{}' }, 'http://127.0.0.1:1');
    const { stdout, stderr, code } = await host.here(['runs', 'list']);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'files.url (WELLSYNC_FILES_URL): must be an absolute path, file:///PATH or s3://BUCKET/PREFIX',
    );
    expect(stdout + stderr).not.toContain('open-sesame');
  });
});
