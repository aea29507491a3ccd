/** What somebody on call does, in a real browser: what needs me, which well, start, plan, and what is away. */
import { expect, test } from 'vitest';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { axeFindingsOf } from '../support/axe.ts';
import { desktop, phone } from '../support/browser.ts';
import { smallField } from '../support/cleanup-cli.ts';
import { schedulesByRole, writeSelection } from '../support/schedules-by-role.ts';
import { describeInBrowser, runOf, waitMs } from '../support/in-browser.ts';
import { serveInstallation } from '../support/served-install.ts';
import { januaryRows, UWI } from '../support/testing-server-requests.ts';
import { startHolder } from '../support/warehouse-processes.ts';

const tablet = { width: 820, height: 1_100 };
const hostile = 'abc\u202Egnp.exe';

describeInBrowser('the console on call', (chromium) => {
  const { readerOf } = chromium;

  test('what failed is the first thing on the first page; a retry is one click, and what is solved is gone at once', async () => {
    await using served = await serveInstallation();
    const runId = await runOf(served, { export: 'daily-production', uwis: ['..', UWI] }, 'failed');
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/');
    await page.getByRole('heading', { name: '1 error needs you' }).waitFor(waitMs);
    await page.getByRole('heading', { name: '1 well failed' }).waitFor(waitMs);
    await page.getByRole('button', { name: 'Retry what is not done' }).click();
    await page.waitForURL(`**/runs/${runId}`);
    await page.goto('/');
    await page.getByText('Acknowledge …').click();
    await page.getByLabel('Reason, which others see').fill('no such well');
    await page.getByRole('button', { name: 'Acknowledge', exact: true }).click();
    await page.getByRole('heading', { name: 'Nothing needs you' }).waitFor(waitMs);
    await page.getByRole('heading', { name: 'Acknowledged' }).click();
    await page.getByText('no such well').waitFor(waitMs);
    await page.getByText('Close …').click();
    await page.getByLabel('Reason, which others see').fill('left out of the list');
    await page.getByRole('button', { name: 'It is solved' }).click();
    await page.getByRole('heading', { name: 'Acknowledged' }).waitFor({ state: 'detached', ...waitMs });
    expect(reader.troubles).toEqual([]);
  });

  test('what a reader has begun to write stays while the page is renewed', async () => {
    await using served = await serveInstallation();
    await runOf(served, { export: 'daily-production', uwis: ['..'] }, 'failed');
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/');
    await page.getByText('Acknowledge …').click();
    const reason = page.getByLabel('Reason, which others see');
    await reason.fill('asked the data office');
    await page.getByRole('heading', { name: 'What needs you' }).click();
    await runOf(served, { export: 'daily-production', uwis: [UWI] });
    await page.waitForResponse((answer) => answer.url().includes('/live?') && answer.status() === 200, waitMs);
    await page.waitForResponse((answer) => answer.url().includes('/live?'), waitMs);
    expect(await reason.inputValue()).toBe('asked the data office');
    await reason.fill('');
    await page.getByRole('heading', { name: 'What needs you' }).click();
    await page.getByText('2 runs in the last 24 hours').waitFor(waitMs);
    expect(reader.troubles).toEqual([]);
  });

  test('one well out of 2,000 is found by a part of its name, with and without a suggestion', async () => {
    const uwis = Array.from({ length: 2_000 }, (_, index) => `${1 + (index % 30)}/${1 + (index % 12)}-A-${index}`);
    await using served = await serveInstallation({
      setup: { data: givenDaily(uwis.flatMap((uwi) => januaryRows(1, uwi))) },
    });
    await runOf(served, { export: 'daily-production', uwis }, 'done', { timeout: 140_000 });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/');
    const search = page.getByRole('combobox', { name: 'Search wells' });
    await search.fill('a-1234');
    await page.getByRole('option', { name: '5/11-A-1234' }).waitFor(waitMs);
    await search.press('ArrowDown');
    await search.press('Enter');
    await page.waitForURL('**/wells/5%2F11-A-1234');
    // Without waiting for a suggestion.
    await page.getByRole('combobox', { name: 'Search wells' }).fill('5/11-a-1234');
    await page.getByRole('combobox', { name: 'Search wells' }).press('Enter');
    await page.waitForURL('**/wells/5%2F11-A-1234');
    expect(reader.troubles).toEqual([]);
  });

  test('why a well has no data is one click from the overview: its alert leads to its page', async () => {
    await using served = await serveInstallation();
    await runOf(served, { export: 'daily-production', uwis: [UWI, 'gone'] });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/');
    await page.getByRole('link', { name: 'gone', exact: true }).click();
    await page.waitForURL('**/wells/gone');
    await page.getByText('The service does not know it').first().waitFor(waitMs);
    expect(reader.troubles).toEqual([]);
  });

  test('a schedule is started in one click, and shows its run, its words and its next times', async () => {
    await using served = await serveInstallation({ config: schedulesByRole, setup: { assets: smallField() } });
    await writeSelection(served.home);
    await served.server.ask('/api/v1/schedules/apply', { method: 'POST', token: 'delete' });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/');
    await page.getByText('What comes next').waitFor(waitMs);
    expect(await page.locator('main').textContent()).toContain('nightly');
    await page.goto('/schedules');
    const nightly = page.locator('#nightly');
    expect(await nightly.textContent()).toContain('on day 1 of each month at 07:00');
    expect(await nightly.locator('time').count()).toBe(3);
    await nightly.getByRole('button', { name: 'Run now' }).click();
    await page.waitForURL(/\/runs\//);
    const runId = page.url().split('/').at(-1) ?? '';
    await page.goto('/schedules');
    await nightly.locator(`a[href="/runs/${runId}"]`).waitFor(waitMs);
    expect(reader.troubles).toEqual([]);
  });

  test('a cleanup is planned from a file, its fields fit its kind, and it is applied by its number', async () => {
    await using served = await serveInstallation({
      setup: { assets: smallField() },
      config: 'cleanup: { maxShareOfWellsPercent: 100 }\n',
    });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/cleanup');
    expect(await page.getByLabel('Equipment', { exact: true }).isVisible()).toBe(false);
    await page.getByLabel('Kind').selectOption('time-series');
    expect(await page.getByLabel('Equipment', { exact: true }).isVisible()).toBe(true);
    expect(await page.getByLabel('Well', { exact: true }).isVisible()).toBe(false);
    const choose = (text: string) =>
      page
        .getByLabel('Targets, a CSV file')
        .setInputFiles({ name: 'targets.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await choose('kind,well,equipment,source_id\nwellbores,,,\n');
    await page.getByRole('button', { name: 'Make a plan of the file' }).click();
    await page
      .getByText('Targets.csv has 1 row with a fault. Line 2: wellbores need a well. Nothing was planned')
      .waitFor(waitMs);
    await choose('kind,well,equipment,source_id\nwellbores,spared,,\n');
    await page.getByRole('button', { name: 'Make a plan of the file' }).click();
    await page.waitForURL(/\/cleanup\/./);
    await page.getByLabel('Number of targets').fill('1');
    await page.getByRole('button', { name: 'Delete 1 target' }).click();
    await page.waitForURL(/\/runs\//);
    await page.getByText(/Reconciled: 1 target/).waitFor(waitMs);
    expect(served.service.state.deletions()).toHaveLength(1);
  });

  test('the service, Redis and the disk are checked in one click, and nobody at work is said first', async () => {
    await using served = await serveInstallation({ works: false, config: schedulesByRole });
    await served.server.ask('/api/v1/schedules/apply', { method: 'POST', token: 'delete' });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/');
    expect(await page.locator('main h1').textContent()).toBe('Nobody works: nothing will start');
    expect(await page.locator('.note').first().textContent()).toMatch(/nightly is due at .*, and will not start/);
    await page.goto('/service');
    await page.getByRole('link', { name: 'Check every part' }).click();
    await page.getByRole('heading', { name: 'Checks' }).waitFor(waitMs);
    const checks = (await page.locator('main').textContent()) ?? '';
    for (const part of ['service', 'warehouse', 'disk']) expect(checks).toContain(part);
  });

  test('a server that is gone is a banner with the age of the page, whose states are greyed', async () => {
    await using served = await serveInstallation();
    await runOf(served, { export: 'daily-production', uwis: [UWI] });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/');
    await page.locator('main .state').first().waitFor(waitMs);
    expect(await page.locator('#banner').isVisible()).toBe(false);
    const colourOf = () =>
      page
        .locator('main .state')
        .first()
        .evaluate((state) => getComputedStyle(state).color);
    const colour = await colourOf();
    await served.server.stop();
    await page.getByText(/No answer from wellsync\. This page shows today .*, \d+ s ago/).waitFor(waitMs);
    expect(await colourOf()).not.toBe(colour);
  });

  test('a page that cannot be made never takes the click of its reader away, and opens once it can be made', async () => {
    await using served = await serveInstallation({ works: false, config: 'warehouse: { lockWaitMs: 2000 }\n' });
    await using reader = await readerOf(served);
    const { page } = reader;
    {
      await using holder = await startHolder(served.server.app.warehouse.location);
      await page.goto('/');
      await page.getByText(`${holder.pid}`).first().waitFor(waitMs);
      expect(await page.locator('.place').textContent()).not.toContain('no service yet');
      for (const [name, path] of [
        ['Runs', '/runs'],
        ['Schedules', '/schedules'],
      ] as const) {
        // The page asks for itself meanwhile.
        await page.waitForRequest((request) => !request.isNavigationRequest(), waitMs);
        await page.getByRole('link', { name, exact: true }).click();
        await page.waitForURL(`**${path}`, waitMs);
      }
    }
    await page.getByText('Nothing starts by itself').waitFor(waitMs);
  });

  test('without JavaScript pages read, and instead of a button there is its command', async () => {
    await using served = await serveInstallation();
    await runOf(served, { export: 'daily-production', uwis: [UWI, 'gone', hostile] });
    const context = await chromium.browser.newContext({ baseURL: served.server.url, javaScriptEnabled: false });
    await context.request.post('/sign-in', { form: { token: 'delete' } });
    const page = await context.newPage();
    await page.goto('/');
    // Selectors by text do not see what is within noscript.
    expect(await page.locator('noscript .banner').isVisible()).toBe(true);
    await page.goto('/push');
    expect(await page.getByRole('button', { name: 'Push it' }).isVisible()).toBe(false);
    const command = page.locator('noscript .command');
    expect([await command.isVisible(), await command.textContent()]).toEqual([
      true,
      'wellsync push network-pipes FILE',
    ]);
    await page.getByRole('searchbox').fill('GON');
    await page.getByRole('searchbox').press('Enter');
    await page.getByRole('link', { name: 'gone' }).click();
    await page.waitForURL('**/wells/gone');
    // What turns the direction of writing is shown, also in the title of the tab.
    await page.goto(`/wells/${encodeURIComponent(hostile)}`);
    expect(await page.title()).toBe(String.raw`abc\u202egnp.exe · wellsync`);
    await context.close();
  });

  test('no finding of axe and no overflow at three widths, light and dark', async () => {
    await using served = await serveInstallation({ config: schedulesByRole, setup: { assets: smallField() } });
    await served.server.ask('/api/v1/schedules/apply', { method: 'POST', token: 'delete' });
    await runOf(served, { export: 'daily-production', uwis: [UWI, 'gone', '..', hostile] }, 'failed');
    const paths = [
      '/',
      '/schedules',
      '/service',
      '/service?check=yes',
      '/cleanup',
      '/search?text=g',
      '/search',
      '/wells/gonr',
    ];
    for (const viewport of [desktop, tablet, phone]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await using reader = await readerOf(served, { viewport, colorScheme });
        const { page } = reader;
        for (const path of paths) {
          await page.goto(path);
          for (const fold of await page.locator('main details > summary').all()) await fold.click();
          if (path === '/') {
            await page.locator('#search').fill('go');
            await page.getByRole('option').first().waitFor(waitMs);
          }
          const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          expect([path, viewport.width, colorScheme, width]).toEqual([path, viewport.width, colorScheme, 0]);
          const findings = await axeFindingsOf(page);
          expect([path, viewport.width, colorScheme, findings]).toEqual([path, viewport.width, colorScheme, []]);
        }
        expect(reader.troubles.filter((trouble) => !trouble.includes('404'))).toEqual([]);
      }
    }
  });
});
