/** `wellsync feed`, and the publication after a run, as an operator sees them. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { inFolder, readFeed } from '../../support/feed.ts';
import { januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const exportAll = ['export', 'daily-production', '--uwi', UWI, '--to', '2024-02-01', '--inline'];

async function homeWithFeed(serviceUrl: string, settings = '{}') {
  const home = await cliHome(serviceUrl, { config: `feed: ${settings}` });
  const place = path.join(home.folder, 'feed');
  await mkdir(place);
  Object.assign(home.env, { WELLSYNC_FEED_URL: place });
  return { ...home, place };
}

describe('wellsync feed', () => {
  test('G2: is published after a run, again by its command, and verified, with words for each fault', async () => {
    await using server = await startWithTenDays();
    await using home = await homeWithFeed(server.url);
    expect((await home.here(['feed', 'publish'])).code).toBe(5);
    const exported = await home.here(exportAll);
    expect(exported.code, exported.stderr).toBe(0);
    expect((await readFeed(inFolder(home.place))).rows.daily_production).toHaveLength(10);
    const same = await home.here(['feed', 'publish']);
    expect(same.stdout).toBe(`The feed in ${home.place} is as the warehouse: version 1.\n`);

    const [, corrected = { uwi: UWI }] = januaryRows(2);
    server.state.changeDaily(JSON.stringify({ ...corrected, oilRate: 2.5 }));
    await home.here(exportAll);
    const verified = await home.here(['feed', 'verify']);
    expect(verified.stdout).toMatch(/^All whole: 5 files of version 2 in .*, 1\d rows\.\n$/);
    expect(verified.code).toBe(0);
    const { manifest } = await readFeed(inFolder(home.place));
    const [coverage, daily] = manifest.files.map((file) => file.path);
    await rm(path.join(home.place, coverage ?? ''));
    await writeFile(path.join(home.place, daily ?? ''), 'PAR1');
    const damaged = await home.here(['feed', 'verify']);
    expect(damaged.code).toBe(1);
    expect(damaged.stdout).toContain(`2 faults in 5 files of version 2 in ${home.place}`);
    expect(damaged.stdout).toMatch(/^ {2}coverage\/part-\w+\.parquet +it is missing$/m);
    expect(damaged.stdout).toMatch(/^ {2}daily_production\/\S+ +it has 4 bytes, and had \d+$/m);
    const document = JSON.parse((await home.here(['feed', 'verify', '--json'])).stdout) as object;
    expect(document).toMatchObject({ version: 2, files: 5, faults: [{ what: coverage }, { what: daily }] });

    const whole = await home.here(['feed', 'publish', '--all', '--json']);
    expect(JSON.parse(whole.stdout)).toMatchObject({
      version: 3,
      isNew: true,
      months: 1,
      files: 4,
      address: home.place,
    });
    expect((await home.here(['feed', 'verify'])).code).toBe(0);
  });

  test('tells what to set where there is no place for it, and goes on where the place is away', async () => {
    await using server = await startWithTenDays();
    await using home = await homeWithFeed(server.url, '{ afterRuns: false, format: csv }');
    await home.here(exportAll);
    const none = await home.here(['feed', 'verify']);
    expect([none.code, none.stdout]).toEqual([1, expect.stringMatching(/^Nothing was published to .* yet\./)]);
    await rm(home.place, { recursive: true });
    const away = await home.here(['feed', 'publish']);
    expect(away.code).toBe(5);
    expect(away.stderr).toContain(`there is no folder ${home.place}, which feed.url names`);
    Object.assign(home.env, { WELLSYNC_FEED_URL: '' });
    const unset = await home.here(['feed', 'publish']);
    expect(unset.code).toBe(2);
    expect(unset.stderr).toContain('feed.url is not set');
  });

  test('G7: a run ends as it would without a feed whose place is away, and the next one publishes both', async () => {
    await using server = await startWithTenDays();
    await using home = await homeWithFeed(server.url);
    await rm(home.place, { recursive: true });
    const exported = await home.here(exportAll);
    expect(exported.code, exported.stderr).toBe(0);
    expect(exported.stderr).toContain('the feed could not be published');
    const late = async () => {
      const sql = "SELECT state FROM alert WHERE kind = 'feed-late'";
      return JSON.parse((await home.here(['query', sql, '--json'])).stdout) as unknown;
    };
    expect(await late()).toEqual([{ state: 'open' }]);
    await mkdir(home.place);
    await home.here(exportAll);
    expect(await late()).toEqual([{ state: 'resolved' }]);
    expect((await readFeed(inFolder(home.place))).rows.daily_production).toHaveLength(10);
  });
});
