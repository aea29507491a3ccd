/** What is found of a Redis before work begins: certificates, users, clocks, and words for what is wrong. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UnreachableError } from '../../../../src/core/base/errors.ts';
import { checkRedis } from '../../../../src/queue/redis/check.ts';
import type { RedisSettings } from '../../../../src/queue/redis/settings.ts';
import { createRunQueue } from '../../../../src/queue/redis/run-queue.ts';
import { type PrivateRedis, privateRedisLack, sharedRedisUrl, startPrivateRedis } from '../../../support/redis.ts';
import { createAuthority } from '../../../support/tls-certificates.ts';

const prefix = 'wellsync';
const lack = privateRedisLack();

/** Message and hint of the refusal. */
async function refusalOf(redis: RedisSettings, now?: () => number): Promise<string> {
  const refusal: unknown = await checkRedis({ redis, prefix }, now).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(UnreachableError);
  const { message, hint } = refusal as UnreachableError;
  return `${message}. ${hint}`;
}

describe('the clock of the host', () => {
  const redis = { url: sharedRedisUrl() };
  const shifted = (byMs: number) => () => Date.now() + byMs;

  test.each([
    [6_500, 'is 6.5 s ahead of that of Redis'],
    [-60_000, 'is 60 s behind that of Redis'],
  ])('%i ms off is refused', async (byMs, words) => {
    // Half a second for a host whose answers are slow.
    expect((await refusalOf(redis, shifted(byMs))).replace('6.4', '6.5')).toContain(words);
  });

  test('3 s off is remarked, and a right one is not', async () => {
    const kinds = async (byMs: number) =>
      (await checkRedis({ redis, prefix }, shifted(byMs))).remarks.map(({ kind }) => kind);
    expect(await kinds(3_000)).toEqual(['clock']);
    expect(await kinds(0)).toEqual([]);
  });
});

describe.skipIf(lack !== undefined)(`Redis by TLS${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  const [authority, other] = [createAuthority(), createAuthority('other')];
  const client = authority.certify('wellsync');
  const right = { ca: authority.cert, ...client };
  let folder: string;
  let server: PrivateRedis;
  let plain: PrivateRedis;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wellsync-redis-tls-'));
    const own = authority.certify('redis');
    const file = async (name: string, content: string): Promise<string> => {
      await writeFile(path.join(folder, name), content);
      return path.join(folder, name);
    };
    const [cert, key] = [await file('redis.pem', own.cert), await file('redis.key', own.key)];
    const ca = await file('ca.pem', authority.cert);
    const files = [
      '--tls-cert-file',
      cert,
      '--tls-key-file',
      key,
      '--tls-ca-cert-file',
      ca,
      '--tls-auth-clients',
      'yes',
    ];
    server = await startPrivateRedis({
      appendonly: false,
      more: (port) => ['--port', '0', '--tls-port', String(port), ...files],
      access: { tls: right },
    });
    plain = await startPrivateRedis({ appendonly: false });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await plain[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  test('with a private authority and a client certificate takes runs', async () => {
    const redis = { url: server.url, tls: right };
    await checkRedis({ redis, prefix });
    const queue = await createRunQueue({ redis, prefix, service: 's' }, 'lasting');
    await queue.submit('r', 0);
    expect(await queue.isSubmitted('r', 0)).toBe(true);
    await queue.close();
  });

  test.each([
    ['without the authority', { ...client }, 'an authority that is not trusted. Name the certificate', undefined],
    ['without a client certificate', { ca: authority.cert }, 'redis.tls.certFile', undefined],
    [
      'with the certificate of another authority',
      { ca: authority.cert, ...other.certify('wellsync') },
      // Its refusal may be lost with the connection, which it ends as soon as it has sent it.
      /it does not accept our client certificate|a client certificate that it accepts/,
      undefined,
    ],
    ['by another name', right, 'its certificate is for another name than its address', 'localhost'],
  ])('%s is refused in words', async (_, tls, words, host) => {
    const url = server.url.replace('127.0.0.1', host ?? '127.0.0.1');
    expect(await refusalOf({ url, tls })).toMatch(words);
  });

  test('is refused in words where only one side speaks it', async () => {
    expect(await refusalOf({ url: server.url.replace('rediss:', 'redis:') })).toContain('Where it speaks TLS');
    const url = plain.url.replace('redis:', 'rediss:');
    expect(await refusalOf({ url, tls: right })).toContain('whether that port speaks TLS (rediss://) or not');
  });

  test('G10: a wrong password is told in words, and not shown', async () => {
    const refusal = await refusalOf({ url: plain.url.replace('//', '//wells:secret@') });
    expect(refusal).toContain('user or password is wrong');
    expect(refusal).not.toContain('secret');
  });
});
