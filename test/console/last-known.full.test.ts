/** The warehouse is away while somebody reads: a page shows what is known with its time and the reason, and heals by itself. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { axeFindingsOf } from '../support/axe.ts';
import { cliHome } from '../support/cli.ts';
import { startConsoleOf, tokensOfRoles } from '../support/console.ts';
import { describeInBrowser, waitMs } from '../support/in-browser.ts';
import { createDatabase } from '../support/postgres/database.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { schedulesByRole } from '../support/schedules-by-role.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { startWithTenDays, UWI } from '../support/testing-server-requests.ts';
import { startHolder } from '../support/warehouse-processes.ts';

const config = `warehouse: { lockWaitMs: 300 }\n${schedulesByRole}`;
const wellPath = `/wells/${encodeURIComponent(UWI)}`;

/** An installation with a run, a well, an alert and schedules, whose file nobody holds. */
async function withData(served: Pick<ServedInstallation, 'server' | 'home'>): Promise<string> {
  await served.server.ask('/api/v1/schedules/apply', { method: 'POST', token: 'delete' });
  await served.home.here(['export', 'daily-production', '--uwi', UWI, '--uwi', 'gone', '--inline']);
  const { runs } = await served.server.app.ledger.runs.list({ limit: 1 });
  return runs[0]?.runId ?? '';
}

const headingOf = (page: Page) => page.locator('main h1').textContent();
const banner = (page: Page) => page.locator('#banner');

/** Buttons that would change something. */
const acts = (page: Page) => page.locator('form[data-asks] button, #start button');

describeInBrowser('a warehouse that is away', ({ readerOf }) => {
  test('each page shows what is known of a file that is held, its acts are disabled, and it heals by itself', async () => {
    await using served = await serveInstallation({ config, works: false });
    const runId = await withData(served);
    const paths = [
      '/',
      '/runs',
      `/runs/${runId}`,
      '/coverage',
      '/coverage/stale',
      '/coverage/unknown',
      wellPath,
      '/schedules',
      '/service',
      '/push',
      '/cleanup',
      '/search?text=go',
      '/start',
    ];
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/');
    const place = await page.locator('.place').textContent();
    const known = new Map<string, string | null>();
    for (const path of paths) {
      await page.goto(path);
      known.set(path, await headingOf(page));
      expect([path, await banner(page).isVisible()]).toEqual([path, false]);
    }
    {
      await using holder = await startHolder(served.server.app.warehouse.location);
      const reason = new RegExp(String.raw`As of today .* ago: Process ${holder.pid}\b`);
      for (const path of paths) {
        await page.goto(path);
        await banner(page).getByText(reason).waitFor(waitMs);
        expect([path, await headingOf(page)]).toEqual([path, known.get(path)]);
        expect([path, await page.locator('.place').textContent()]).toEqual([path, place]);
        for (const act of await acts(page).all()) expect([path, await act.isDisabled()]).toEqual([path, true]);
        expect([path, await axeFindingsOf(page)]).toEqual([path, []]);
      }
      // The plots of a well are those that were drawn last.
      await page.goto(wellPath);
      await page.locator('.u-over').first().waitFor(waitMs);
      // What was never shown is not known: it is said, and it opens once it can be.
      await page.goto('/runs?by=nobody');
      await page.getByText('opens once it can be shown').waitFor(waitMs);
      await page.goto(wellPath);
      await banner(page).getByText(reason).waitFor(waitMs);
    }
    await banner(page).waitFor({ state: 'hidden', ...waitMs });
    expect(new URL(page.url()).pathname).toBe(wellPath);
    await expect.poll(async () => acts(page).first().isDisabled(), waitMs).toBe(false);
    expect(reader.troubles.filter((trouble) => !trouble.includes('503'))).toEqual([]);
  });

  test('an open page says so by itself, keeps the click of its reader, and says when it is over', async () => {
    await using served = await serveInstallation({ config, works: false });
    await withData(served);
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.goto('/schedules');
    await page.goto('/');
    const state = page.locator('main .state').first();
    const colour = () => state.evaluate((element) => getComputedStyle(element).filter);
    const fresh = await colour();
    {
      await using holder = await startHolder(served.server.app.warehouse.location);
      await banner(page).getByText(`${holder.pid}`).waitFor(waitMs);
      expect(await colour()).not.toBe(fresh);
      await expect.poll(async () => acts(page).first().isDisabled(), waitMs).toBe(true);
      await page.getByRole('link', { name: 'Schedules', exact: true }).first().click();
      await page.waitForURL('**/schedules', waitMs);
      await page.goBack();
      await page.waitForURL((url) => url.pathname === '/', waitMs);
      await banner(page).getByText(`${holder.pid}`).waitFor(waitMs);
    }
    await banner(page).waitFor({ state: 'hidden', ...waitMs });
    expect(await colour()).toBe(fresh);
    expect(reader.troubles).toEqual([]);
  });

  test('the same of a PostgreSQL server that is stopped', async () => {
    const postgres = await startPostgres('newest');
    try {
      const { url: warehouseUrl } = await createDatabase(postgres.adminUrl);
      await using service = await startWithTenDays();
      await using home = await cliHome(service.url, { warehouseUrl });
      await using server = await startConsoleOf(home, { http: { tokens: tokensOfRoles, requestsPerMinute: 100_000 } });
      const served = { service, home, server };
      await withData(served);
      await using reader = await readerOf(served);
      const { page } = reader;
      for (const path of [wellPath, '/']) await page.goto(path);
      await postgres.stop();
      await banner(page)
        .getByText(/As of today .* ago: .*PostgreSQL/)
        .waitFor(waitMs);
      await page.goto(wellPath);
      await banner(page)
        .getByText(/As of today .* ago: .*PostgreSQL/)
        .waitFor(waitMs);
      expect(await headingOf(page)).toBe(UWI);
      await postgres.start();
      await banner(page).waitFor({ state: 'hidden', ...waitMs });
    } finally {
      await postgres.dispose();
    }
  });
});
