/** Passwords in every address of an installation, and a search for them wherever addresses are stored or shown. */
import { readdir, readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { privateRedisLack, startPrivateRedis } from '../../support/redis.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const secret = 'open-sesame-7';

/** Every key with its value, as text. */
async function contentOf(redis: Redis): Promise<string> {
  const readers: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
    string: (key) => redis.getBuffer(key).then((value) => value?.toString('latin1')),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1'),
    stream: (key) => redis.xrange(key, '-', '+'),
  };
  const keys = await redis.keys('*');
  const values = await Promise.all(keys.map(async (key) => [key, await readers[await redis.type(key)]?.(key)]));
  expect(keys.length).toBeGreaterThan(5);
  expect(values.every(([, value]) => value !== undefined)).toBe(true);
  return JSON.stringify(values);
}

async function tablesOf(home: CliHome): Promise<string> {
  const tables = ['run', 'run_unit', 'warehouse', 'service_alias', 'service_profile'];
  const read = await Promise.all(tables.map((table) => home.here(['query', `FROM ${table}`, '--json'])));
  expect(read.every(({ code }) => code === 0)).toBe(true);
  return read.map(({ stdout }) => stdout).join('\n');
}

test('G10, G11: where an address is kept or shown, its password is not', async ({ skip }) => {
  const lack = privateRedisLack();
  skip(lack !== undefined, lack);
  await using redis = await startPrivateRedis({ appendonly: false });
  const client = new Redis(redis.url);
  await client.config('SET', 'requirepass', secret);
  await using server = await startWithTenDays({ requiredToken: secret });
  // A PostgreSQL that is away is waited for.
  await using home = await cliHome(server.url, { config: 'warehouse: { lockWaitMs: 1000 }\n' });
  const redisUrl = redis.url.replace('redis://', `redis://:${secret}@`);
  Object.assign(home.env, { WELLSYNC_REDIS_URL: redisUrl, WELLSYNC_SERVICE_TOKEN: secret });
  const seen: string[] = [];
  const run = async (code: number, ...words: readonly string[]): Promise<void> => {
    const ended = await home.here(words);
    expect(ended.code, ended.stderr).toBe(code);
    seen.push(ended.stdout, ended.stderr);
  };

  const worker = home.start(['worker', '--log-level', 'trace']);
  await worker.hears('Working');
  await run(0, 'export', 'daily-production', '--uwi', UWI, '--wait');
  await run(0, 'runs', 'list', '--json');
  await run(0, 'doctor');
  seen.push(await readFile(`${home.warehouseFile}.beat`, 'utf8'), await contentOf(client));
  worker.signal('SIGTERM');
  seen.push(...Object.values(await worker.ended).map(String));

  const planted = server.url.replace('http://', `http://user:${secret}@`);
  await run(2, 'runs', 'list', '--service-url', planted);
  await run(2, 'runs', 'list', '--service-url', `${server.url}/?token=${secret}`);
  await run(5, 'worker', '--warehouse', `postgres://user:${secret}@127.0.0.1:1/warehouse`);
  await run(2, 'worker', '--warehouse', `postgres://user:${secret}@127.0.0.1:1/a/warehouse`);
  await run(5, 'doctor', '--redis-url', `redis://:${secret}@127.0.0.1:1`);
  await run(2, 'service', 'adopt', `ftp://user:${secret}@127.0.0.1`, '--yes');
  const moved = `https://user:${secret}@new.example.com/?token=${secret}`;
  await run(0, 'service', 'moved', `${planted}/?token=${secret}`, moved, '--yes');
  await run(0, 'service', 'show', '--json');
  await run(2, 'export', 'daily-production', '--uwi', UWI);
  seen.push(await tablesOf(home));
  client.disconnect();

  expect(seen.join('\n')).toContain('https://new.example.com');
  for (const text of seen) expect(text).not.toContain(secret);
});

const placed = 'S3cr3tPW';

/** A worker, a list and the doctor each refuse the setting with these words, and without the secret. */
async function expectRefused(home: CliHome, words: string): Promise<void> {
  for (const [code, ...args] of [
    [2, 'worker'],
    [2, 'runs', 'list', '--json'],
    [5, 'doctor'],
  ] as const) {
    const ended = await home.here(args);
    const shown = ended.stdout + ended.stderr;
    expect(shown).toContain(words);
    expect(shown).not.toContain(placed);
    expect(ended.code, shown).toBe(code);
  }
}

test.each([
  `redis:bob:${placed}@127.0.0.1:1`,
  `redis:/bob:${placed}@127.0.0.1:1`,
  `redis:///bob:${placed}@127.0.0.1:1`,
  `redis://127.0.0.1:1/bob:${placed}@127.0.0.1`,
  `redis://bob:1#${placed}@127.0.0.1`,
  `redis://bob:1?${placed}@127.0.0.1`,
])('G10: the Redis address %s is refused by its setting, and not shown', async (url) => {
  await using home = await cliHome('http://127.0.0.1:1');
  Object.assign(home.env, { WELLSYNC_REDIS_URL: url });
  await expectRefused(home, 'redis.url (WELLSYNC_REDIS_URL): must be redis://');
});

test('G10: a bare % in the password of Redis is refused with the way to write it, and not shown', async () => {
  await using home = await cliHome('http://127.0.0.1:1');
  Object.assign(home.env, { WELLSYNC_REDIS_URL: `redis://default:p%${placed}@127.0.0.1:1` });
  await expectRefused(home, 'redis.url (WELLSYNC_REDIS_URL): has a % that encodes nothing: write % as %25');
});

test.each([
  ['duckdb:md:db?motherduck_token=', 'duckdb:md: is the address of a server'],
  ['duckdb:warehouse.duckdb?token=', 'a path has no settings'],
  ['duckdb://u:', 'duckdb:// is the address of a server'],
  ['duckdb:s3://k:', 'duckdb:s3: is the address of a server'],
  ['user:', 'user is not supported'],
  ['', 'an address without a scheme is not supported'],
])('G10: the warehouse at %s followed by a secret is refused, not made and not shown', async (address, words) => {
  await using home = await cliHome('http://127.0.0.1:1');
  Object.assign(home.env, { WELLSYNC_WAREHOUSE: `${address}${placed}@h/x.duckdb` });
  await expectRefused(home, words);
  expect((await readdir(home.folder)).filter((name) => name.includes('duckdb'))).toEqual([]);
});

test('G10: a parameter in the path of the service is refused, and not shown', async () => {
  await using home = await cliHome(`http://127.0.0.1:1/pds;token=${placed}`);
  await expectRefused(home, 'service.url (WELLSYNC_SERVICE_URL): must hold no ; in its path');
});
