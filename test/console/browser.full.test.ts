/** What readers do on the pages, in a real browser: see a gap and fill it, mend rejected rows, apply a plan, read a plot. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { givenDaily, loadDailyFile } from '../../src/testing-server/data/daily-source.ts';
import { axeFindingsOf } from '../support/axe.ts';
import { desktop, phone } from '../support/browser.ts';
import { well as fieldWell, smallField } from '../support/cleanup-cli.ts';
import { describeInBrowser, runOf, waitMs } from '../support/in-browser.ts';
import { serveInstallation } from '../support/served-install.ts';
import { dailyUrl, januaryRows, UWI } from '../support/testing-server-requests.ts';

const volveFile = path.resolve('../shared/data/volve_daily_production.ndjson');
const hostile = `"><script>alert(1)</script>' \u202Enihton`;
const long = 'x'.repeat(300);

describeInBrowser('the console', ({ readerOf }) => {
  test('G4: held rows are released by a click: a run of the same job, for the wells with held rows alone', async () => {
    const wells = Array.from({ length: 4 }, (_, index) => `well ${index}`);
    await using served = await serveInstallation({
      setup: { data: givenDaily(wells.flatMap((uwi) => januaryRows(31, uwi))), maxLimit: 100 },
    });
    const { state } = served.service;
    const asked = { export: 'daily-production', uwis: wells, from: '2024-01-01', to: '2024-02-01' };
    await runOf(served, asked);
    for (const uwi of wells.slice(2)) {
      const answer = await fetch(dailyUrl(served.service, { limit: 100 }, uwi));
      const rows = ((await answer.json()) as ReadonlyArray<{ readonly xid: string }>).slice(0, 10);
      state.changeDaily(rows.map(({ xid }) => JSON.stringify({ uwi, remove: xid })).join('\n'));
    }
    await runOf(served, { ...asked, from: '2023-01-01' });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/runs');
    await page.locator('main a[href^="/runs/2"]').first().click();
    await page.getByRole('heading', { name: 'Held rows' }).waitFor(waitMs);
    await page.getByRole('checkbox', { name: /20 rows leave the warehouse/ }).check();
    const heldBy = page.url();
    await page.getByRole('button', { name: 'Release 20 rows' }).click();
    await page.waitForURL((url) => url.href !== heldBy);
    await page.getByText('Done: 2 wells.').waitFor(waitMs);
    await page.goto(heldBy);
    await page.getByText('Counts').first().waitFor(waitMs);
    expect(await page.getByRole('heading', { name: 'Held rows' }).count()).toBe(0);
  });

  test('a click on a gap of the map leads to its backfill, which is watched to its end', async () => {
    await using served = await serveInstallation({ setup: { data: givenDaily(januaryRows(31)) } });
    await runOf(served, { export: 'daily-production', uwis: [UWI], from: '2024-01-01', to: '2024-01-08' });
    await runOf(served, { export: 'daily-production', uwis: [UWI], from: '2024-01-20', to: '2024-02-01' });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/coverage');
    await page.locator('#map').focus();
    await page.keyboard.press('Home');
    await expect.poll(async () => page.locator('#cell').textContent()).toMatch(/2024-01: .*19 present, 12 never read/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/wells\//);
    await page.getByRole('link', { name: '2024-01-08 to 2024-01-19' }).click();
    await page.getByRole('button', { name: 'Backfill' }).click();
    await page.waitForURL(/\/runs\//);
    await page.getByText(/Reconciled: \d+ read = 12 inserted/).waitFor(waitMs);
    await page.goto('/coverage');
    await page.locator('#map').focus();
    await page.keyboard.press('Home');
    await expect.poll(async () => page.locator('#cell').textContent()).toMatch(/2024-01: 31 present$/);
    expect(reader.troubles).toEqual([]);
  });

  test('a run is cancelled in place, and a click that comes twice does one thing', async () => {
    await using served = await serveInstallation({ setup: { data: givenDaily(januaryRows(31)), latencyMs: 1_500 } });
    await using reader = await readerOf(served);
    const { page } = reader;
    // A well that was never read has no page.
    await runOf(served, { export: 'daily-production', uwis: [UWI], from: '2024-01-01', to: '2024-01-02' });
    await page.goto(`/wells/${encodeURIComponent(UWI)}?from=2024-01-01&to=2024-02-01`);
    await page.getByRole('button', { name: 'Backfill' }).dblclick();
    await page.waitForURL(/\/runs\//);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('cancelled').first().waitFor(waitMs);
    await page.goto('/runs');
    expect(await page.locator('tbody tr').count()).toBe(2);
    expect(reader.troubles).toEqual([]);
  });

  test('a file with bad rows is checked and pushed; its rejects are downloaded, mended and pushed', async () => {
    await using served = await serveInstallation();
    await using reader = await readerOf(served);
    const { page } = reader;
    const file = 'sourceNetworkId,sourceId,enabled\nN,P1,true\nN,P2,perhaps\n';
    const choose = (name: string, text: string) =>
      page.getByLabel('CSV file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
    await page.goto('/push');
    await choose('pipes.csv', file);
    await page.getByRole('button', { name: 'Check the file' }).click();
    await page.getByText('was checked, and nothing was sent').waitFor(waitMs);
    expect(await page.locator('#look').textContent()).toContain('"perhaps" is neither true nor false');
    expect(served.service.state.pipes()).toEqual([]);
    await page.getByRole('button', { name: 'Push it' }).click();
    await page.waitForURL(/\/runs\//);
    const download = page.waitForEvent('download', waitMs);
    await page.getByRole('link', { name: 'Download the rejected rows' }).click(waitMs);
    const rejects = await readFile(await (await download).path(), 'utf8');
    expect(rejects).toContain('perhaps');
    await page.goto('/push');
    await choose('mended.csv', rejects.replaceAll('perhaps', 'false'));
    await page.getByRole('button', { name: 'Push it' }).click();
    await page.getByText('Reconciled: 1 row = 1 accepted').waitFor(waitMs);
    await page.goto('/push');
    await choose('again.csv', file);
    await page.getByRole('button', { name: 'Push it' }).click();
    await page.getByText('Nothing was sent: this content was pushed').waitFor(waitMs);
    expect(
      served.service.state
        .pipes()
        .map(({ sourceId }) => sourceId)
        .toSorted(),
    ).toEqual(['P1', 'P2']);
    expect(reader.troubles).toEqual([]);
  });

  test('a cleanup is planned, and applied by its typed number of targets', async () => {
    await using served = await serveInstallation({
      setup: { assets: smallField() },
      config: 'cleanup: { maxShareOfWellsPercent: 100 }\n',
    });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/cleanup');
    await page.getByLabel('Kind').selectOption('wellbores');
    await page.getByLabel('Well', { exact: true }).fill(fieldWell);
    await page.getByRole('button', { name: 'Make a plan', exact: true }).click();
    await page.waitForURL(/\/cleanup\/./);
    await page.getByLabel('Number of targets').fill('2');
    await page.getByRole('button', { name: 'Delete 1 target' }).click();
    await page
      .getByText(/plan .* has 1 target|1 target/)
      .first()
      .waitFor(waitMs);
    expect(served.service.state.deletions()).toEqual([]);
    await page.getByLabel('Number of targets').fill('1');
    await page.getByRole('button', { name: 'Delete 1 target' }).click();
    await page.waitForURL(/\/runs\//);
    await page.getByText(/Reconciled: 1 target/).waitFor(waitMs);
    expect(served.service.state.deletions()).toHaveLength(1);
    expect(reader.troubles.filter((trouble) => !trouble.includes('409'))).toEqual([]);
  });

  test('the plot of a well shows the numbers of Volve, and what a restated day was before', async ({ skip }) => {
    skip(!existsSync(volveFile), 'the Volve data is not beside this checkout (../shared/data)');
    const well = '15/9-F-14';
    const records = (await readFile(volveFile, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { uwi: string; date: string; oilRate: number });
    const day = records.find(({ uwi, oilRate }) => uwi === well && oilRate > 100);
    if (day === undefined) throw new Error(`the data has no ${well}`);
    await using served = await serveInstallation({ setup: { data: await loadDailyFile(volveFile), maxLimit: 500 } });
    await runOf(served, { export: 'daily-production', uwis: [well], from: '2007-01-01', to: '2017-01-01' });
    await using reader = await readerOf(served);
    const { page } = reader;
    const series = page.waitForResponse(/\/series$/);
    await page.goto(`/wells/${encodeURIComponent(well)}`);
    await page.locator('.u-over').first().waitFor(waitMs);
    const shown = (await (await series).json()) as { days: number[]; values: Record<string, number[]> };
    const expected = records.filter(({ uwi }) => uwi === well).toSorted((a, b) => a.date.localeCompare(b.date));
    expect(shown.values['oil_rate']).toEqual(expected.map(({ oilRate }) => oilRate));
    const tip = page.locator('.plot-tip');
    const over = await page.locator('.u-over').first().boundingBox();
    if (over === null) throw new Error('the plot is not there');
    await page.mouse.move(over.x + over.width / 4, over.y + over.height / 2);
    await expect.poll(async () => tip.textContent()).toMatch(/20\d\d-\d\d-\d\d.*Oil/);
    const [told = ''] = /^\d{4}-\d\d-\d\d/.exec((await tip.textContent()) ?? '') ?? [];
    const row = expected.find(({ date }) => date.startsWith(told));
    const rate = row?.oilRate.toLocaleString('en-GB', { maximumFractionDigits: 3 }) ?? 'none';
    expect(await tip.textContent()).toContain(rate);
    // Zooms by dragging.
    await page.mouse.down();
    await page.mouse.move(over.x + over.width * 0.7, over.y + over.height / 2, { steps: 4 });
    await page.mouse.up();
    expect(reader.troubles).toEqual([]);
  });

  test('a page that is left open says that nobody answers, and comes back by itself', async () => {
    await using served = await serveInstallation({ works: false });
    await using reader = await readerOf(served);
    const { page, context } = reader;
    await page.goto('/');
    await context.setOffline(true);
    await page.getByText('No answer from wellsync').waitFor(waitMs);
    await context.setOffline(false);
    await expect.poll(async () => page.locator('#banner').textContent(), waitMs).toBe('');
    served.server.setAccess({ tokens: [] });
    served.server.pass(10_000);
    await page.getByText('Your session has ended').waitFor(waitMs);
  });

  test('a reader who signs out in one tab is told so in the others, where nothing is sent any more', async () => {
    await using served = await serveInstallation({ works: false });
    await using reader = await readerOf(served);
    const { page, context } = reader;
    await page.goto('/push');
    await page
      .getByLabel('CSV file')
      .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('sourceNetworkId,sourceId\n') });
    const other = await context.newPage();
    await other.goto('/');
    const kept = await context.cookies();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('heading', { name: 'Sign in' }).waitFor(waitMs);
    expect(await context.cookies()).toEqual([]);
    await page.getByRole('button', { name: 'Push it' }).click();
    await page.getByText('You are no longer signed in: load the page again. Nothing was sent.').waitFor(waitMs);
    // A cookie that was copied before counts no more, and the reader comes back to the page.
    await context.addCookies(kept);
    await page.reload();
    await page.getByText('Your session has ended').waitFor(waitMs);
    await page.getByLabel('Token').fill('operate');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Push network pipes' }).waitFor(waitMs);
  });

  test('every page is readable: no finding of axe, no overflow, nothing from elsewhere, at desktop and phone width', async () => {
    const uwis = [UWI, hostile, long];
    await using served = await serveInstallation({
      setup: { data: givenDaily(uwis.flatMap((uwi) => januaryRows(10, uwi))) },
      config: 'cleanup: { maxShareOfWellsPercent: 100 }\n',
    });
    const paths = async (page: Page): Promise<readonly string[]> => {
      await page.goto('/runs');
      const runs = await page
        .locator('.runs tbody a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
      const named = uwis.map((uwi) => `/wells/${encodeURIComponent(uwi)}`);
      const fixed = ['/', '/runs', '/coverage', '/coverage/stale', '/coverage/unknown', '/push', '/cleanup'];
      return [...fixed, '/schedules', '/service', '/nowhere', ...named, ...runs.flatMap((href) => href ?? [])];
    };
    const look = async (viewport: typeof desktop, colorScheme: 'light' | 'dark'): Promise<void> => {
      await using reader = await readerOf(served, { viewport, colorScheme });
      const { page } = reader;
      for (const each of await paths(page)) {
        await page.goto(each);
        const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect([each, colorScheme, width]).toEqual([each, colorScheme, 0]);
        const findings = await axeFindingsOf(page);
        expect([each, colorScheme, findings]).toEqual([each, colorScheme, []]);
      }
      expect(reader.troubles.filter((trouble) => !trouble.includes('404'))).toEqual([]);
    };
    // With nothing, then with runs of each kind.
    await look(desktop, 'light');
    await runOf(served, { export: 'daily-production', uwis: [...uwis, 'none'] });
    await look(desktop, 'light');
    await look(desktop, 'dark');
    await look(phone, 'light');
    await look(phone, 'dark');
  });
});
