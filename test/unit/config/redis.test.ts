/** The ways to name a Redis, from all layers of the configuration. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig, type Environment } from '../../../config/load.ts';
import { UsageError } from '../../../src/core/base/errors.ts';

let folder: string;
beforeAll(async () => (folder = await mkdtemp(path.join(tmpdir(), 'wellsync-redis-config-'))));
afterAll(() => rm(folder, { recursive: true }));

async function written(name: string, content: string): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, content);
  return file;
}

/** The settings of Redis of a file with these lines under `redis:`. */
async function redisOf(lines: readonly string[], environment: Environment = {}) {
  const file = await written('wellsync.yaml', ['redis:', ...lines.map((line) => `  ${line}`)].join('\n'));
  return loadConfig({ environment, file }).redis;
}

async function issuesOf(lines: readonly string[], environment: Environment = {}): Promise<string> {
  const refusal: unknown = await redisOf(lines, environment).catch((error: unknown) => error);
  if (!(refusal instanceof UsageError)) throw new Error('was taken', { cause: refusal });
  return [refusal.message, ...refusal.issues].join('\n');
}

const sentinel = 'sentinel: { name: wells, nodes: [a.example, "[::1]:26380", 10.0.0.3:26379] }';
const cluster = 'cluster: { nodes: ["10.0.0.1", "10.0.0.2:7001"] }';

describe('Redis', () => {
  test('is none by default, and what belongs to it is wrong use then', async () => {
    expect(loadConfig({ environment: {} }).redis).toBeUndefined();
    expect(await issuesOf(['username: wells'])).toContain('says how to reach Redis, and not where');
    const prefix = (): unknown => loadConfig({ environment: { WELLSYNC_QUEUE_PREFIX: 'night' } });
    expect(prefix).toThrow(UsageError);
    expect(
      loadConfig({ environment: { WELLSYNC_QUEUE_PREFIX: 'night', WELLSYNC_REDIS_URL: 'redis://r' } }).redis,
    ).toEqual({ url: 'redis://r', tls: undefined });
  });

  test('may be the primary that sentinels name, with passwords of both from files', async () => {
    const [own, ofSentinels] = [await written('own', 'p%1\n'), await written('sentinel', 'p2\n')];
    const withUser = sentinel.replace(' }', `, username: watcher, passwordFile: ${ofSentinels} }`);
    expect(await redisOf([withUser, 'username: wells', `passwordFile: ${own}`, 'database: 3'])).toEqual({
      sentinel: {
        name: 'wells',
        username: 'watcher',
        password: 'p2',
        nodes: [
          { host: 'a.example', port: 26379 },
          { host: '::1', port: 26380 },
          { host: '10.0.0.3', port: 26379 },
        ],
      },
      username: 'wells',
      password: 'p%1',
      database: 3,
      tls: undefined,
    });
  });

  test('may be a cluster, with TLS and a client certificate', async () => {
    const pem = (name: string) => written(name, `-----BEGIN ${name}-----`);
    const [ca, cert] = [await pem('ca'), await pem('cert')];
    expect(await redisOf([cluster, `tls: { caFile: ${ca}, certFile: ${cert}, passphrase: p }`])).toMatchObject({
      cluster: {
        nodes: [
          { host: '10.0.0.1', port: 6379 },
          { host: '10.0.0.2', port: 7001 },
        ],
      },
      tls: { ca: '-----BEGIN ca-----', cert: '-----BEGIN cert-----', key: '-----BEGIN cert-----', passphrase: 'p' },
    });
  });

  test('takes the address of a higher layer in place of the nodes of a lower one', async () => {
    const environment = { WELLSYNC_REDIS_URL: 'redis://redis.example:6379' };
    expect(await redisOf([cluster], environment)).toMatchObject({ url: 'redis://redis.example:6379' });
  });

  test.each([
    ['two ways at once', [sentinel, cluster], 'url, sentinel, cluster exclude each other'],
    ['no nodes', ['cluster: { nodes: [] }'], 'redis.cluster.nodes'],
    ['a node with a password', ['cluster: { nodes: ["user:secret@a:6379"] }'], 'must be a host with its port'],
    ['a port that is none', ['cluster: { nodes: ["a:70000"] }'], 'has a port above 65535'],
    ['TLS for a plain address', ['url: redis://a', 'tls: {}'], 'is for an address that begins with rediss://'],
    ['TLS for the address by default', ['tls: {}'], 'is for an address that begins with rediss://'],
    ['a key without its certificate', [cluster, 'tls: { keyFile: k }'], 'is the key of a certificate'],
    ['a database of a cluster', [cluster, 'database: 1'], 'a cluster has only 0'],
    ['two users', ['url: redis://user@a', 'username: other'], 'redis.url holds a user already'],
    ['a certificate that is absent', [cluster, 'tls: { caFile: /nowhere }'], 'the file of redis.tls.caFile /nowhere'],
  ])('with %s is refused in words', async (_, lines, words) => {
    const refusal = await issuesOf(lines);
    expect(refusal).toContain(words);
    expect(refusal).not.toContain('secret');
  });

  test('with a file that is no certificate is refused, and its content not shown', async () => {
    const file = await written('ca.pem', 'secret');
    const refusal = await issuesOf([cluster, `tls: { caFile: ${file} }`]);
    expect(refusal).toContain('holds no certificate and no key');
    expect(refusal).not.toContain('secret');
  });
});
