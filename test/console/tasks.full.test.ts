/** The questions of somebody on call, by clicks alone from the overview, counted; the other tasks are beside their pages. */
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { GivenRecord } from '../../src/testing-server/data/rows.ts';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { browserLack, openReader, phone, type Reader, startBrowser } from '../support/browser.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { dailyUrl } from '../support/testing-server-requests.ts';

const lack = browserLack();
const waitMs = { timeout: 60_000 };
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
const years = Array.from({ length: 4 }, (_, index) => `for years ${index}`);
const quickly = 'queue: { attempts: 1 }\nservice: { retry: { attempts: 1 } }\n';

function rowsOf(uwi: string, first: number, last: number, more: object = {}): GivenRecord[] {
  return Array.from({ length: first - last + 1 }, (_, index) => ({
    uwi,
    date: `${daysAgo(first - index)}T00:00:00Z`,
    oilRate: 100,
    gasRate: 1_000,
    waterRate: 25,
    tubingPressure: 10,
    casingPressure: 10,
    ...more,
  }));
}

describe.skipIf(lack !== undefined)(`tasks in a browser${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  let browser: Browser;
  let served: ServedInstallation;
  const behindProxy = new Set<string>();
  beforeAll(async () => {
    browser = await startBrowser();
    const data = givenDaily([
      ...years.flatMap((uwi) => rowsOf(uwi, 460, 400)),
      ...rowsOf('lately', 60, 20),
      ...rowsOf('held', 60, 1),
      ...rowsOf('broken', 60, 2),
      ...rowsOf('broken', 1, 1, { oilRate: 'n/a' }),
      ...rowsOf('gap', 60, 1),
    ]);
    served = await serveInstallation({
      setup: {
        data,
        maxLimit: 500,
        onRequest: ({ url }) => ([...behindProxy].some((uwi) => url.includes(uwi)) ? 'htmlPage' : undefined),
      },
      config: quickly,
    });
    await ended({ uwis: [...years, 'lately', 'held', 'broken'] });
    // Wells are found silent by a run of a whole list.
    await ended({ fromWarehouse: true });
    await ended({ uwis: ['gap'], from: daysAgo(60), to: daysAgo(30) });
    await ended({ uwis: ['gap'], from: daysAgo(20), to: daysAgo(0) });
    const rows = (await (await fetch(dailyUrl(served.service, { limit: 500 }, 'held'))).json()) as { xid: string }[];
    const gone = rows.slice(5, 45).map(({ xid }) => JSON.stringify({ uwi: 'held', remove: xid }));
    served.service.state.changeDaily(gone.join('\n'));
    await ended({ uwis: ['held'], from: daysAgo(60), to: daysAgo(0) });
    behindProxy.add('lately');
    await ended({ uwis: ['lately', 'held'] }, 'failed');
    behindProxy.clear();
  });
  afterAll(async () => {
    await browser?.close();
    await served?.[Symbol.asyncDispose]();
  });

  async function ended(args: object, state = 'done'): Promise<void> {
    const json = { export: 'daily-production', ...args };
    const { runId } = (await (await served.server.ask('/api/v1/runs', { token: 'operate', json })).json()) as {
      runId: string;
    };
    await vi.waitFor(async () => {
      const run: unknown = await (await served.server.ask(`/api/v1/runs/${runId}`, { token: 'read' })).json();
      expect(run).toMatchObject({ state });
    }, waitMs);
  }

  /** A reader at the overview, whose clicks are counted. */
  async function onCall(options: Parameters<typeof openReader>[2] = {}) {
    const reader: Reader = await openReader(browser, served.server.url, { token: 'delete', ...options });
    const done = { clicks: 0 };
    await reader.page.goto('/');
    const click = async (what: Locator): Promise<void> => {
      done.clicks += 1;
      await what.click(waitMs);
    };
    return { ...reader, done, click };
  }

  test.each([
    ['held', /^Held: 40 rows .* would go, since the service no longer has them/],
    ['broken', /^1 day quarantined .*oilRate is "n\/a", not a number/],
    // The wells that are silent for years are behind it.
    ['lately', /^The last read, of .* failed .*web page/s],
  ])('why %s has no data is one click from the overview, and the first sentence of its page', async (uwi, sentence) => {
    await using reader = await onCall();
    const { page, click, done } = reader;
    await click(page.getByRole('link', { name: uwi, exact: true }).first());
    expect(await page.locator('.standing p').first().innerText()).toMatch(sentence);
    expect(done.clicks).toBe(1);
    expect(reader.troubles).toEqual([]);
  });

  test('the well that fell silent last is named before those that are silent for years', async () => {
    await using reader = await onCall();
    const { page } = reader;
    const silent = page.locator('li', { has: page.getByRole('heading', { name: '5 silent wells' }) });
    expect(await silent.getByRole('link').first().innerText()).toBe('lately');
    expect(await silent.getByText(`no day of production after ${daysAgo(20)}`).count()).toBe(1);
  });

  test('why a run failed is one click from the overview, in a sentence without the answer of the service', async () => {
    await using reader = await onCall();
    const { page, click, done } = reader;
    const failed = page.locator('li', { has: page.getByRole('heading', { name: '1 well failed' }) });
    expect(await failed.innerText()).toContain('the service answered with a web page, as a sign-in page is one');
    expect(await failed.innerText()).not.toContain('<');
    await click(failed.getByRole('link', { name: 'See the run' }));
    expect(await page.locator('.lead').innerText()).toMatch(/^1 of 2 wells failed: .*sign-in page/);
    expect(done.clicks).toBe(1);
  });

  test('quarantined records are one click from the overview', async () => {
    await using reader = await onCall();
    const { page, click } = reader;
    await click(page.getByRole('link', { name: 'See the record' }));
    await page.waitForURL(/\/wells\/broken#quarantined/);
    expect(await page.locator('#quarantined').innerText()).toContain('oilRate is "n/a", not a number');
  });

  test('all gaps are read in two clicks from the overview', async () => {
    await using reader = await onCall();
    const { page, click, done } = reader;
    await click(page.getByRole('navigation').getByRole('link', { name: 'Coverage' }));
    await click(page.getByRole('button', { name: 'Read just the gaps' }));
    await page.waitForURL(/\/runs\//, waitMs);
    await page.getByText(/Reconciled: \d+ read = 10 inserted/).waitFor(waitMs);
    expect(done.clicks).toBe(2);
    expect(reader.troubles).toEqual([]);
  });

  test('no page moves while it loads, on a phone', async () => {
    await using reader = await onCall({ viewport: phone });
    const { page } = reader;
    await page.addInitScript(() => {
      const shifts = { sum: 0 };
      Object.assign(globalThis, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & { value: number })[]) shifts.sum += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    for (const path of ['/', '/runs', '/wells/held', '/coverage']) {
      await page.goto(path, { waitUntil: 'networkidle' });
      const sum = await page.evaluate(() => (globalThis as unknown as { shifts: { sum: number } }).shifts.sum);
      expect([path, sum < 0.05]).toEqual([path, true]);
    }
  });

  test('a wrong name leads to the wells that begin like it, and a page that is not there says so', async () => {
    await using reader = await onCall();
    const { page } = reader;
    await page.goto('/wells/latest');
    expect(await page.getByRole('main').getByRole('link').allInnerTexts()).toContain('lately');
    await page.goto('/nowhere');
    expect(await page.getByRole('main').innerText()).toContain('There is no such page.');
  });
});
