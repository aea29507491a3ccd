/** `wellsync doctor`: each part is used, and every failed finding says what to do. */
import { chmod, mkdir, readdir, symlink } from 'node:fs/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { privateRedisLack, sharedRedisUrl, startPrivateRedis } from '../../support/redis.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { requestsAt, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const schema = z.object({
  findings: z.array(
    z.object({ part: z.string(), status: z.string(), message: z.string(), hint: z.string().nullable() }),
  ),
  exitCode: z.number(),
});

async function examined(home: CliHome, ...args: readonly string[]) {
  const { code, stdout } = await home.here(['doctor', '--json', ...args]);
  const { findings, exitCode } = schema.parse(JSON.parse(stdout));
  expect(code).toBe(exitCode);
  for (const { status, hint, part } of findings) if (status !== 'ok') expect(hint, part).not.toBeNull();
  return { code, of: (part: string) => findings.find((finding) => finding.part === part), findings };
}

/** The file as another program holds it, once a worker has let go of it. */
function holdingOf({ warehouseFile }: CliHome): Promise<DuckDBInstance> {
  return vi.waitFor(() => DuckDBInstance.create(warehouseFile), { timeout: 60_000, interval: 200 });
}

/** The same home with other settings. */
function withEnv(home: CliHome, env: Readonly<Record<string, string>>): CliHome {
  return { ...home, here: (args) => home.here(args, { env }) };
}

describe('doctor', () => {
  test('finds every part well by using it, and warns that no worker is running', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    expect((await home.here(['export', 'daily-production', '--uwi', UWI, '--inline'])).code).toBe(0);
    const before = await requestsAt(server);
    const { code, findings, of } = await examined(home);
    expect(findings.map(({ part, status }) => [part, status])).toEqual([
      ['node', 'ok'],
      ['config file', 'ok'],
      ['environment', 'ok'],
      ['redis', 'ok'],
      ['workers', 'warning'],
      ['warehouse', 'ok'],
      ['alerts', 'ok'],
      ['service', 'ok'],
      ['access', 'ok'],
      ['disk', 'ok'],
    ]);
    expect(of('service')?.message).toContain(`answered for ${UWI}`);
    expect(of('warehouse')?.message).toContain('written to and rolled back');
    expect(await requestsAt(server)).toBe(before + 1);
    const { stdout } = await home.here(['query', 'SHOW ALL TABLES', '--json']);
    expect(stdout).not.toContain('written_on_trial');
    expect(code).toBe(0);
  });

  test.each([
    ['a wrong token for a known well', 'wrong', UWI],
    ['a wrong token where no well is known', 'wrong', undefined],
    ['no token', '', UWI],
  ])('G10: tells %s by a request, and does not show it', async (_, token, uwi) => {
    await using server = await startWithTenDays({ requiredToken: 'the-right-one' });
    await using home = await cliHome(server.url);
    const asked = withEnv(home, { WELLSYNC_SERVICE_TOKEN: token });
    const { code, of, findings } = await examined(asked, ...(uwi === undefined ? [] : ['--uwi', uwi]));
    expect(of('access')).toMatchObject({ status: 'failed', message: expect.stringContaining('401') });
    expect(JSON.stringify(findings)).not.toContain('the-right-one');
    expect(code).toBe(5);
  });

  test('tries the token with a well of the configuration where the warehouse is not there yet', async () => {
    await using server = await startWithTenDays({ requiredToken: 'the-right-one' });
    await using home = await cliHome(server.url);
    const wellsFile = await home.write('wells.csv', `uwi\n${UWI}\n`);
    const config = await home.write('wellsync.yaml', `export:\n  wellsFile: ${wellsFile}\n`);
    const { of } = await examined(withEnv(home, { WELLSYNC_SERVICE_TOKEN: 'the-right-one' }), '--config', config);
    expect(of('access')).toMatchObject({ status: 'ok' });
    expect(of('service')?.message).toContain(`answered for ${UWI}`);
  });

  test('says that the token cannot be told where the service does not know the well', async () => {
    await using server = await startScriptedServer([{ status: 404, body: { message: 'no such well' } }]);
    await using home = await cliHome(server.baseUrl);
    const none = await examined(home);
    expect(none.of('access')).toMatchObject({ status: 'warning', hint: expect.stringContaining('--uwi') });
    expect(none.of('access')?.message).toContain('cannot be told, since no well is known');
    const named = await examined(home, '--uwi', 'W 1');
    expect(named.of('access')?.message).toContain('the service does not know the well W 1');
    expect(named.code).toBe(0);
  });

  test.each([
    ['a web page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Sign in</html>' }],
    [
      'a web page for what is not there',
      { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>Nothing</html>' },
    ],
    ['another JSON', { status: 200, body: { hello: 'world' } }],
  ])('tells an address that answers with %s', async (_, reply) => {
    await using server = await startScriptedServer([reply]);
    await using home = await cliHome(server.baseUrl);
    const { code, of } = await examined(home);
    expect(of('service')?.status).toBe('failed');
    expect(code).toBe(5);
  });

  test('tells an address that is not one of HTTP, such as that of Redis', async () => {
    await using home = await cliHome(sharedRedisUrl().replace('redis:', 'http:'));
    const { code, of } = await examined(home);
    expect(of('service')?.status).toBe('failed');
    expect(code).toBe(5);
  });

  test('G11: finds a warehouse that another queue works, as every job would', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.start(['worker']).hears('Working');
    const { code, stdout } = await home.here(['doctor', '--queue-prefix', 'another']);
    expect(stdout).toContain('is worked through another queue');
    expect(code).toBe(5);
  });

  test('tells every part that failed, with what to do, and ends with 5', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    await home.write('warehouse.duckdb', 'no database '.repeat(1000));
    const env = { WELLSYNC_REDIS_URL: 'redis://127.0.0.1:1', WELLSYNC_DATA_DIR: `${home.folder}/warehouse.duckdb/x` };
    const asked = withEnv(home, { ...env, WELLSYNC_WAREHOUSE: `duckdb:${home.folder}/warehouse.duckdb` });
    const { code, findings } = await examined(asked);
    const failed = findings.filter(({ status }) => status === 'failed').map(({ part }) => part);
    expect(failed).toEqual(['redis', 'warehouse', 'service', 'disk']);
    expect(code).toBe(5);
  });

  test('tells a warehouse in a folder that takes no files before any run tries it', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    const { of } = await examined(home, '--warehouse', 'duckdb:/proc/nope/warehouse.duckdb');
    expect(of('warehouse')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('cannot be written to'),
    });
  });

  test('warns of a new warehouse at a place that a command without a terminal refuses', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    // In the folder of the home, which is the working folder of a process alone.
    const env = { WELLSYNC_DATA_DIR: 'not-there' };
    const asked: CliHome = { ...home, here: (args) => home.run(args, { env }) };
    expect((await examined(asked)).of('warehouse')).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(/a relative path, .* one without, as under cron, is refused$/),
      hint: expect.stringContaining('make its folder first'),
    });
    const night = await asked.here(['export', 'daily-production', '--uwi', 'W', '--inline']);
    expect(night).toMatchObject({ code: 2, stderr: expect.stringContaining('a relative path') });
  });

  test('uses the place of the feed, and tells one that takes no files', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    const feed = `${home.folder}/feed`;
    await mkdir(feed);
    const used = await examined(withEnv(home, { WELLSYNC_FEED_URL: feed }));
    expect(used.of('feed')).toMatchObject({ status: 'ok', message: `${feed}: written, read and removed` });
    const left = await readdir(feed, { recursive: true, withFileTypes: true });
    expect(left.filter((entry) => entry.isFile())).toEqual([]);
    const file = await home.write('no-folder', '');
    const unusable = await examined(withEnv(home, { WELLSYNC_FEED_URL: file }));
    expect(unusable.of('feed')).toMatchObject({ status: 'failed', message: expect.stringContaining(file) });
    expect(unusable.code).toBe(5);
  });

  test('tells a configuration file that is missing, and the faults of one', async () => {
    await using home = await cliHome();
    const missing = await examined(home, '--config', 'nowhere.yaml');
    expect(missing.of('config file')).toMatchObject({ status: 'failed', message: 'there is no file nowhere.yaml' });
    const config = await home.write('broken.yaml', 'colour: blue\n');
    const { code, of } = await examined(home, '--config', config);
    expect(of('settings')).toMatchObject({ status: 'failed', message: expect.stringContaining('colour') });
    expect(code).toBe(5);
  });

  test.skipIf(privateRedisLack())('tells a Redis that has no room for a write', async () => {
    await using own = await startPrivateRedis({ appendonly: false });
    const redis = new Redis(own.url);
    await redis.config('SET', 'maxmemory', '1');
    redis.disconnect();
    await using home = await cliHome('http://127.0.0.1:1', { redisUrl: own.url });
    const { of } = await examined(home);
    expect(of('redis')).toMatchObject({ status: 'failed', hint: expect.stringContaining('maxmemory') });
  });
});

describe('doctor of secrets and links', () => {
  test('G10: names the files with secrets that others can read, and a token that goes over plain http', async () => {
    await using home = await cliHome('http://192.0.2.1:9', {
      config: 'alerts: { url: "https://hooks.example.com/T1" }\n',
    });
    const token = await home.write("the user's token", 'a-secret');
    await chmod(token, 0o644);
    const asked = withEnv(home, { WELLSYNC_SERVICE_TOKEN_FILE: token });
    const { findings } = await examined(asked);
    const remarks = findings.filter(({ part }) => part === 'secrets');
    expect(remarks).toMatchObject([
      { status: 'warning', message: expect.stringContaining('the token goes to 192.0.2.1:9 over plain http') },
      {
        message: `${token} (service.tokenFile) can be read by every user of this host: its mode is 0644`,
        hint: `Run: chmod 600 '${home.folder}/the user'\\''s token'`,
      },
      { message: expect.stringContaining('wellsync.yaml (the configuration file (alerts.url)) can be read by') },
    ]);
    expect(JSON.stringify(findings)).not.toContain('a-secret');
    await chmod(token, 0o600);
    await chmod(`${home.folder}/wellsync.yaml`, 0o600);
    const mended = withEnv(home, {
      WELLSYNC_SERVICE_TOKEN_FILE: token,
      WELLSYNC_SERVICE_URL: 'http://localhost:1',
    });
    expect((await examined(mended)).of('secrets')).toBeUndefined();
  });

  test('names an inbox and a feed that are links, with what they lead to', async () => {
    await using home = await cliHome('http://127.0.0.1:1', { config: 'inbox: { folder: inbox, kinds: [cleanup] }\n' });
    await mkdir(`${home.folder}/elsewhere/kind`, { recursive: true });
    await symlink(`${home.folder}/elsewhere`, `${home.folder}/inbox`);
    await symlink('kind', `${home.folder}/elsewhere/cleanup`);
    await symlink('elsewhere', `${home.folder}/feed`);
    await symlink('nowhere', `${home.folder}/files`);
    const lost = await examined(withEnv(home, { WELLSYNC_FILES_URL: `${home.folder}/files` }));
    const nowhere = lost.findings.find(({ message }) => message.includes('leads nowhere'));
    expect(nowhere?.hint).toBe('Make what it leads to, or name another folder.');
    const { findings } = await examined(withEnv(home, { WELLSYNC_FEED_URL: `${home.folder}/feed/` }));
    const links = findings.filter(({ status, message }) => status === 'warning' && message.includes('is a link'));
    expect(links.map(({ part, message }) => [part, message.replaceAll(home.folder, '')])).toEqual([
      ['feed', '/feed is a link, which leads to /elsewhere'],
      ['inbox', '/inbox is a link, which leads to /elsewhere'],
      ['inbox', '/inbox/cleanup is a link, which leads to /elsewhere/kind'],
    ]);
    expect(links[0]?.hint).toBe(`Is it meant? Then name the folder itself: feed.url: ${home.folder}/elsewhere`);
  });
});

describe('doctor of a warehouse with pushes of an earlier version', () => {
  test('G5: names each file that was pushed without all dates of its pipes, and the command that pushes it again', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const file = await home.write(
      'two dates.csv',
      'sourceNetworkId,sourceId,date,enabled\nN,P1,2024-01-01T00:00:00Z,true\nN,P1,2024-02-01T00:00:00Z,true\n',
    );
    expect((await home.here(['push', 'network-pipes', file, '--wide', '--inline'])).code).toBe(0);
    expect((await examined(home)).of('pushed dates')).toBeUndefined();

    const instance = await holdingOf(home);
    const connection = await instance.connect();
    const former = '{"version":1,"position":null,"counts":{"rows":2,"superseded":1},"rejectsBytes":0}';
    await connection.run(`UPDATE push SET checkpoint = '${former}'`);
    connection.closeSync();
    instance.closeSync();
    const { code, of } = await examined(home);
    expect(code).toBe(0);
    expect(of('pushed dates')).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(/two dates\.csv, pushed by run \S+, .*: 1 row went unsent/),
      hint: `Push it again: wellsync push network-pipes '${file}' --wide --again`,
    });

    expect((await home.here(['push', 'network-pipes', file, '--wide', '--again', '--inline'])).code).toBe(0);
    expect((await examined(home)).of('pushed dates')).toBeUndefined();
  });
});

describe('doctor beside workers', () => {
  test('a warehouse that a worker of this installation holds is well, one that another program holds is not', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url, { config: 'warehouse: { lockWaitMs: 1000 }\n' });
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const holder = await holdingOf(home);
    try {
      // The tests themselves hold the file, as a worker does in the middle of a batch.
      const busy = await home.run(['doctor', '--json']);
      const { findings } = schema.parse(JSON.parse(busy.stdout));
      expect(findings.find(({ part }) => part === 'warehouse')).toMatchObject({
        status: 'ok',
        message: expect.stringContaining('held by a worker whose last beat is'),
      });
      worker.signal('SIGTERM');
      await worker.ended;
      const foreign = await home.run(['doctor', '--json']);
      const found = schema.parse(JSON.parse(foreign.stdout)).findings.find(({ part }) => part === 'warehouse');
      expect(found).toMatchObject({ status: 'failed', message: expect.stringContaining(`process ${process.pid}`) });
    } finally {
      holder.closeSync();
    }
  });

  test('--live reads the beat alone: no request, no open warehouse', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const dead = await home.here(['doctor', '--live', '--quiet']);
    expect(dead).toMatchObject({ code: 1, stdout: expect.stringContaining('No worker is at work on duckdb:') });
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const holder = await holdingOf(home);
    const elsewhere = {
      env: { WELLSYNC_REDIS_URL: 'redis://127.0.0.1:1', WELLSYNC_SERVICE_URL: 'http://127.0.0.1:1' },
    };
    const live = await home.run(['doctor', '--live'], elsewhere);
    holder.closeSync();
    expect(live).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^A worker is at work on .+ old\.\n$/),
    });
  });
});
