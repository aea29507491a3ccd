import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { AbortedError, UnreachableError } from '../../../src/core/base/errors.ts';
import { connectionTo, type S3Settings } from '../../../src/files/s3-client.ts';
import { S3Store } from '../../../src/files/s3-store.ts';
import { s3Secret, startS3Server, type S3Server } from '../../support/s3-server.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { smallDisk, smallDiskLack } from '../../support/small-disk.ts';
import { contentOf, describeStore } from './store-suite.ts';

function settingsFor({ bucket, endpoint }: Pick<S3Server, 'bucket' | 'endpoint'>): S3Settings {
  return { bucket, endpoint, prefix: 'field/north', region: undefined, pathStyle: true, setting: 'files' };
}

beforeAll(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDWELLSYNCTEST');
  vi.stubEnv('AWS_MAX_ATTEMPTS', '1');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', s3Secret);
});
afterAll(() => vi.unstubAllEnvs());

const bytes = Buffer.alloc(20 * 1024 * 1024, 'row,');

describeStore('S3', async () => {
  const server = await startS3Server();
  const store = new S3Store(settingsFor(server), () => {});
  return {
    store,
    damage: async (name) => {
      const { file } = server.objects.get(`field/north/${name}`) ?? { file: '' };
      await writeFile(file, (await readFile(file)).fill('x', 2, 3));
    },
    cutUpload: async (name) => {
      const { S3Client, CreateMultipartUploadCommand } = await import('@aws-sdk/client-s3');
      const client = new S3Client({ endpoint: server.endpoint, region: 'us-east-1', forcePathStyle: true });
      await client.send(new CreateMultipartUploadCommand({ Bucket: server.bucket, Key: `field/north/${name}` }));
      client.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      store.close();
      await server[Symbol.asyncDispose]();
    },
  };
});

/** A store at a server of its own, a file of three parts, and a folder to fetch it into. */
async function scene() {
  const server = await startS3Server();
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-s3-store-'));
  const file = path.join(folder, 'pipes.csv');
  await writeFile(file, bytes);
  const secrets: string[] = [];
  const store = new S3Store(settingsFor(server), (secret) => secrets.push(secret));
  return {
    server,
    store,
    folder,
    file,
    secrets,
    async [Symbol.asyncDispose]() {
      store.close();
      await server[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

describe('an S3-compatible store', () => {
  test('G1: that loses a part of an upload is a fault, and keeps no shorter file', async () => {
    await using s3 = await scene();
    s3.server.faults.losePart = 2;
    const upload = s3.store.upload('content/one', s3.file, contentOf(bytes));
    await expect(upload).rejects.toThrow(/was sent 20971520 bytes .* and keeps 12582912 bytes/);
    expect([...s3.server.objects.keys()]).toEqual([]);
  });

  test('whose upload fails has no part left', async () => {
    await using s3 = await scene();
    s3.server.faults.failPart = 2;
    const upload = s3.store.upload('content/one', s3.file, contentOf(bytes));
    await expect(upload).rejects.toThrow(UnreachableError);
    expect([...s3.server.uploads, ...s3.server.objects]).toEqual([]);
  });

  test('G1: that cuts its answers gives the whole file, from where it was cut', async () => {
    await using s3 = await scene();
    await s3.store.upload('content/one', s3.file, contentOf(bytes));
    s3.server.faults.cutBodies = { afterBytes: 3_000_000, times: 5 };
    await using fetched = await s3.store.fetch('content/one', contentOf(bytes), s3.folder);
    expect((await readFile(fetched?.path ?? '')).equals(bytes)).toBe(true);
    expect(
      s3.server.requests.filter((request) => request.startsWith('GET') && request.includes('content/one')),
    ).toHaveLength(6);
  });

  test.skipIf(smallDiskLack() !== undefined)(
    'names the folder of this host whose disk is full, and not the file',
    async () => {
      await using s3 = await scene();
      using disk = smallDisk(1);
      await s3.store.upload('content/one', s3.file, contentOf(bytes));
      const fetched = s3.store.fetch('content/one', contentOf(bytes), disk.folder);
      await expect(fetched).rejects.toThrow(`${disk.folder} cannot be used: the disk is full`);
      expect(await readdir(disk.folder)).toEqual([]);
    },
  );

  test('G8: that sends more than was put there is damaged, and its answer is not read to the end', async () => {
    await using s3 = await scene();
    await s3.store.upload('content/one', s3.file, contentOf(bytes));
    s3.server.faults.endlessBodies = true;
    const fetched = s3.store.fetch('content/one', contentOf(bytes), s3.folder);
    await expect(fetched).rejects.toThrow('it has more than the 20971520 bytes that it had');
    expect(await readdir(s3.folder)).toEqual(['pipes.csv']);
    await expect(s3.store.read('content/one', 4096)).rejects.toThrow('it has more than 4096 bytes');
  });

  test.each([
    ['repeats a page', 'page', 'its listing repeats a page'],
    ['repeats names', 'names', 'its listing is not in order, or repeats names'],
    ['never ends', 'empty', 'its listing does not end'],
  ] as const)('G8: whose listing %s is a fault in words', async (_, endlessListing, words) => {
    await using s3 = await scene();
    for (const name of ['a/1', 'a/2', 'a/3', 'a/4', 'a/5']) await s3.store.write(name, Buffer.from('x'));
    s3.server.faults.endlessListing = endlessListing;
    const listed = async () => {
      for await (const { name } of s3.store.list('a/')) expect(name).toMatch(/^a\//);
    };
    await expect(listed()).rejects.toThrow(UnreachableError);
    await expect(listed()).rejects.toThrow(words);
  });

  test.each(['head', 'body'] as const)(
    'G7: that falls silent before the %s of an answer is given up, and at once by who stops',
    async (silent) => {
      await using s3 = await scene();
      await s3.store.upload('content/one', s3.file, contentOf(bytes));
      s3.server.faults.silent = silent;
      const impatient = new S3Store(settingsFor(s3.server), () => {}, connectionTo(settingsFor(s3.server), 200));
      await expect(impatient.fetch('content/one', contentOf(bytes), s3.folder)).rejects.toThrow(
        'it does not answer in time',
      );
      impatient.close();

      const asked = s3.server.requests.length;
      const stop = new AbortController();
      const stopped = s3.store.under(stop.signal).fetch('content/one', contentOf(bytes), s3.folder);
      stopped.catch(() => undefined);
      await expect.poll(() => s3.server.requests.length).toBeGreaterThan(asked);
      stop.abort();
      await expect(stopped).rejects.toThrow(AbortedError);

      const closed = s3.store.fetch('content/one', contentOf(bytes), s3.folder);
      closed.catch(() => undefined);
      await expect.poll(() => s3.server.requests.length).toBeGreaterThan(asked + 1);
      s3.store.close();
      await expect(closed).rejects.toThrow(AbortedError);
      expect(await readdir(s3.folder)).toEqual(['pipes.csv']);
    },
  );

  test('G7: an upload ends with who stops, does not wait for its parts, and leaves none behind', async () => {
    await using s3 = await scene();
    s3.server.faults.silentPart = 2;
    const stop = new AbortController();
    const stopped = s3.store.under(stop.signal).upload('content/one', s3.file, contentOf(bytes));
    stopped.catch(() => undefined);
    await expect.poll(() => s3.server.requests.some((request) => request.includes('partNumber=2'))).toBe(true);
    stop.abort();
    await expect(stopped).rejects.toThrow(AbortedError);
    expect([...s3.server.uploads, ...s3.server.objects]).toEqual([]);
  });

  test('G7: that gives no answer at all is asked as often as the client tries, and not more', async () => {
    await using s3 = await scene();
    await s3.store.upload('content/one', s3.file, contentOf(bytes));
    vi.stubEnv('AWS_MAX_ATTEMPTS', '3');
    const impatient = new S3Store(settingsFor(s3.server), () => {}, connectionTo(settingsFor(s3.server), 500));
    await impatient.stat('content/one');
    s3.server.faults.silent = 'body';
    const reading = impatient.fetch('content/one', contentOf(bytes), s3.folder);
    reading.catch(() => undefined);
    await expect.poll(() => s3.server.requests.at(-1)).toMatch(/^GET .*content\/one/);
    s3.server.faults.silent = 'head';
    const asked = s3.server.requests.length;
    await expect(reading).rejects.toThrow('it does not answer in time');
    expect(s3.server.requests.length).toBe(asked + 3);
    impatient.close();
    vi.stubEnv('AWS_MAX_ATTEMPTS', '1');
  });

  test('G10: tells its credentials to those who hide them', async () => {
    await using s3 = await scene();
    await s3.store.stat('a');
    expect(new Set(s3.secrets)).toEqual(new Set([s3Secret]));
  });

  test.each([
    [403, 'AccessDenied', 'the store refuses access to bucket wellsync-files: it belongs to somebody else'],
    [403, 'InvalidAccessKeyId', 'does not take the credentials'],
    [403, 'SignatureDoesNotMatch', 'does not take the credentials'],
    [400, 'ExpiredToken', 'does not take the credentials'],
    [400, 'AuthorizationHeaderMalformed', 'is not in region us-east-1'],
    [301, 'PermanentRedirect', 'is not in region us-east-1'],
    [503, 'SlowDown', 'answers 503'],
    [400, 'NotAStore', 'is no S3-compatible store that takes these requests'],
  ])('that answers %i %s is a fault in words', async (status, code, words) => {
    await using s3 = await scene();
    await s3.store.stat('a');
    s3.server.faults.refuse = { status, code };
    for (const use of [() => s3.store.read('a', 100), () => s3.store.write('a', Buffer.from('b'))]) {
      const error: unknown = await use().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UnreachableError);
      expect(error).toMatchObject({ message: expect.stringContaining(words), hint: expect.stringMatching(/\.$/) });
    }
  });

  test('without the bucket, without a server, without credentials, with another clock: each is told in words', async () => {
    await using s3 = await scene();
    const other = { ...settingsFor(s3.server), bucket: 'no-such-bucket' };
    await expect(new S3Store(other, () => {}).read('a', 100)).rejects.toThrow(
      'there is no bucket no-such-bucket at http://',
    );
    const nowhere = { ...settingsFor(s3.server), endpoint: 'http://127.0.0.1:1' };
    await expect(new S3Store(nowhere, () => {}).read('a', 100)).rejects.toThrow(
      'cannot be reached: nothing listens there',
    );
    await using page = await startScriptedServer([
      { body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } },
    ]);
    const wrong = new S3Store({ ...settingsFor(s3.server), endpoint: page.baseUrl }, () => {});
    await expect(wrong.read('a', 100)).rejects.toThrow('is no S3-compatible store');
    s3.server.faults.skewMs = 3_600_000;
    await expect(s3.store.read('a', 100)).rejects.toThrow(UnreachableError);
  });
});
