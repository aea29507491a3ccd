/** The feed in an S3-compatible store: conditional writes where it takes them, and what it tells where it does not answer. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { UnreachableError } from '../../../src/core/base/errors.ts';
import { S3Store } from '../../../src/files/s3-store.ts';
import { openFeed, readFeed } from '../../support/feed.ts';
import { s3Secret, startS3Server } from '../../support/s3-server.ts';
import { openTemporaryDuckdb } from '../../support/warehouse-duckdb.ts';
import { dailyRows, loadOne, reading } from '../../support/warehouse-batches.ts';

beforeAll(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDWELLSYNCTEST');
  vi.stubEnv('AWS_MAX_ATTEMPTS', '1');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', s3Secret);
});
afterAll(() => vi.unstubAllEnvs());

async function scene() {
  const server = await startS3Server();
  const { warehouse, dispose } = await openTemporaryDuckdb();
  const feed = await openFeed(warehouse);
  const { endpoint, bucket } = server;
  const settings = { bucket, endpoint, prefix: 'feed', region: undefined, pathStyle: true, setting: 'feed' } as const;
  const place = new S3Store(settings, () => {});
  return {
    server,
    warehouse,
    place,
    publish: () => feed.publish({ place }),
    verify: () => feed.verify({ place }),
    read: () => readFeed((name) => readFile(server.objects.get(`feed/${name}`)?.file ?? name)),
    async [Symbol.asyncDispose]() {
      place.close();
      await feed[Symbol.asyncDispose]();
      await dispose();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe('the feed in an S3-compatible store', () => {
  test.each([
    ['that takes conditional writes', false],
    ['that takes none', true],
  ])('G1: %s has the rows of each version', async (_, isUnconditional) => {
    await using s3 = await scene();
    s3.server.faults.isUnconditional = isUnconditional;
    for (const days of [20, 40, 35]) {
      await loadOne(s3.warehouse, reading(dailyRows(days), { from: '2024-01-01', to: '2025-01-01' }), {
        maxShare: 1,
        maxRows: 9,
        allow: true,
      });
      await s3.publish();
      const { rows, manifest } = await s3.read();
      expect(rows.daily_production.map(({ production_day: day }) => day)).toEqual(
        dailyRows(days).map(({ day }) => day),
      );
      expect(manifest.monthsDue).toBe(0);
    }
    expect(await s3.verify()).toMatchObject({ faults: [] });
  });

  test('G1: a manifest that another program replaced meanwhile stays, and what is due stays due', async () => {
    await using s3 = await scene();
    await loadOne(s3.warehouse, reading(dailyRows(3)));
    await s3.publish();
    const manifest = s3.server.objects.get('feed/manifest.json');
    await loadOne(s3.warehouse, reading(dailyRows(4)));
    const foreign = Buffer.from(
      String(await s3.place.read('manifest.json', 100_000)).replace('"version": 1,', '"version": 9,'),
    );
    const upload = s3.place.upload.bind(s3.place);
    s3.place.upload = async (...args) => {
      await upload(...args);
      await s3.place.write('manifest.json', foreign);
    };
    await expect(s3.publish()).rejects.toThrow('was replaced by another program meanwhile');
    expect(await s3.place.read('manifest.json', 100_000)).toEqual(foreign);
    s3.place.upload = upload;
    if (manifest !== undefined) s3.server.objects.set('feed/manifest.json', manifest);
    expect(await s3.publish()).toMatchObject({ version: 2, months: 1 });
    expect((await s3.read()).rows.daily_production).toHaveLength(4);
  });

  test('G10: names its own settings where it cannot be reached, and no secret', async () => {
    await using s3 = await scene();
    await loadOne(s3.warehouse, reading(dailyRows(3)));
    s3.server.faults.refuse = { status: 403, code: 'AccessDenied' };
    const fault = await s3.publish().catch((error: unknown) => error as UnreachableError);
    expect(fault).toBeInstanceOf(UnreachableError);
    expect(fault).toMatchObject({ hint: expect.stringContaining('Check the name in feed.url') as string });
    expect(JSON.stringify(fault)).not.toContain(s3Secret);
  });
});
