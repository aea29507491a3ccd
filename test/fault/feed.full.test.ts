/** Readers of a feed while it is replaced, by two publishers at once and by processes that are killed. */
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../support/cli.ts';
import { type FeedUnderTest, inFolder, openFeed, readFeed, readFeedRows } from '../support/feed.ts';
import { postgresLack } from '../support/postgres/database.ts';
import { temporaryPostgres } from '../support/postgres/warehouse.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { dayOf, guard, load, reading, row } from '../support/warehouse-batches.ts';
import { openTemporaryDuckdb } from '../support/warehouse-duckdb.ts';
import type { OpenWarehouse } from '../support/warehouse-under-test.ts';

const lack = await postgresLack('newest');
const wells = ['A', 'B'];
const days = 31;

/** Every row of all wells has the number as its oil rate. */
function nightOf(number: number) {
  return wells.map((uwi, unit) =>
    reading(
      Array.from({ length: days }, (_, index) => row(unit * 100 + index, dayOf(index + 1), { oilRate: number })),
      { uwi, unit, from: '2024-01-01', to: '2024-12-31' },
    ),
  );
}

/**
 * Reads each version that it sees, as docs/feed.md says, until told to stop; returns their number. Throws for half a month,
 * and for restatements that are not one after another.
 */
async function follow(feed: FeedUnderTest, signal: AbortSignal): Promise<number> {
  let [versions, version, cursor] = [0, 0, 0];
  let newest = 0;
  for (let isLast = false; !isLast;) {
    isLast = signal.aborted;
    const manifest = await feed.manifest();
    if (manifest.version === version) {
      await sleep(2);
      continue;
    }
    expect(manifest.version).toBeGreaterThan(version);
    ({ version } = manifest);
    versions += 1;
    for (const file of manifest.files) {
      if (file.table === 'restatements' && (file.last ?? 0) > cursor) {
        const numbers = (await readFeedRows(inFolder(feed.folder), file)).map((each) => each['restatement_no']);
        expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => cursor + index + 1));
        cursor += numbers.length;
      }
      if (file.month === undefined) continue;
      const rows = await readFeedRows(inFolder(feed.folder), file);
      const rates = new Set(rows.map((each) => Number(each['oil_rate'])));
      expect([rows.length, rates.size]).toEqual([wells.length * days, 1]);
      const [rate = 0] = rates;
      expect(rate).toBeGreaterThanOrEqual(newest);
      newest = rate;
    }
    expect(cursor).toBe(manifest.lastRestatement);
  }
  return versions;
}

async function expectWholeInReplacements(open: OpenWarehouse, times: number): Promise<void> {
  const { warehouse, another, dispose } = await open();
  const other = another();
  await using feed = await openFeed(warehouse);
  try {
    await load(warehouse, nightOf(1));
    await feed.publish();
    const ending = new AbortController();
    const following = follow(feed, ending.signal);
    const replacing = (async () => {
      for (let number = 2; number <= times; number += 1) {
        await load(warehouse, nightOf(number), guard, Date.UTC(2024, 6, 1) + number * 1_000);
        await Promise.all([feed.publish(), feed.publish({ warehouse: other })]);
      }
    })().finally(() => ending.abort());
    await Promise.all([replacing, following]);
    const { manifest, rows } = await feed.read();
    expect(manifest.version).toBeGreaterThanOrEqual(times);
    expect(rows.daily_production.every(({ oil_rate: rate }) => rate === times)).toBe(true);
    expect(rows.restatements).toHaveLength((times - 1) * wells.length * days);
    expect(await following).toBeGreaterThan(1);
    expect(await feed.verify()).toMatchObject({ faults: [] });
  } finally {
    await dispose();
  }
}

describe('the feed while it is replaced', () => {
  test('G1, G2: never shows half a month in 200 replacements by two publishers at once', async () => {
    await expectWholeInReplacements(openTemporaryDuckdb, 200);
  });

  describe.skipIf(lack !== undefined)(`from PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
    const open = temporaryPostgres('newest');
    test('G1, G2: never shows half a month while two hosts publish at once', async () => {
      await expectWholeInReplacements(open, 15);
    });
  });

  test('G1, G7: is whole whenever its publisher is killed, and right after the next publication', async () => {
    const uwis = ['A', 'B'];
    const records = uwis.flatMap((uwi) =>
      Array.from({ length: 400 }, (_, index) => ({
        uwi,
        date: new Date(Date.UTC(2023, 0, index + 1)).toISOString(),
        oilRate: index,
        gasRate: 0,
        waterRate: 0,
        tubingPressure: 0,
        casingPressure: 0,
      })),
    );
    await using server = await startTestingServer({ data: givenDaily(records) });
    await using home = await cliHome(server.url, { config: 'feed: { maxMonths: 4 }' });
    const place = path.join(home.folder, 'feed');
    await mkdir(place);
    Object.assign(home.env, { WELLSYNC_FEED_URL: place });
    const exported = await home.here([
      'export',
      'daily-production',
      '--uwi',
      'A',
      '--uwi',
      'B',
      '--from',
      '2023-01-01',
      '--to',
      '2024-12-31',
      '--inline',
    ]);
    expect(exported.code, exported.stderr).toBe(0);
    const partsThere = async () =>
      (await readdir(place, { recursive: true })).filter((name) => name.includes('part-')).length;
    for (const files of [1, 4, 7]) {
      const before = await partsThere();
      const publishing = home.start(['feed', 'publish', '--all']);
      const ended = new AbortController();
      void publishing.ended.then(() => ended.abort());
      while (!ended.signal.aborted && (await partsThere()) < before + files) await sleep(1);
      publishing.signal('SIGKILL');
      await publishing.ended;
      expect((await readFeed(inFolder(place))).rows.daily_production).toHaveLength(records.length);
    }
    const last = await home.here(['feed', 'publish', '--json']);
    expect(last.code, last.stderr).toBe(0);
    expect(JSON.parse(last.stdout)).toMatchObject({ monthsDue: 0 });
    const verified = await home.here(['feed', 'verify']);
    expect(verified.code, verified.stdout).toBe(0);
  });
});
