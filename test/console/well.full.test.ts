/** The page of a well and the map in a real browser: what is first said, plots that can be read, and a gap filled in two clicks. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { GivenRecord } from '../../src/testing-server/data/rows.ts';
import { givenDaily, loadDailyFile } from '../../src/testing-server/data/daily-source.ts';
import { desktop, phone } from '../support/browser.ts';
import { describeInBrowser, runOf, waitMs } from '../support/in-browser.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { dailyUrl, januaryRows, UWI } from '../support/testing-server-requests.ts';

const volveFile = path.resolve('../shared/data/volve_daily_production.ndjson');
const dayMs = 86_400_000;
const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const daysAgo = (days: number): string => dayText(Date.now() - days * dayMs);

/** A well that produced from so many days ago to so many days ago. */
function recentRows(uwi: string, first: number, last: number): GivenRecord[] {
  return Array.from({ length: first - last + 1 }, (_, index) => ({
    uwi,
    date: `${daysAgo(first - index)}T00:00:00Z`,
    oilRate: 100,
    gasRate: 1_000,
    waterRate: 25,
    tubingPressure: 10,
    casingPressure: 10,
    ...(index % 5 === 0 ? { downtimeHours: 24, downtimeCode: 'WORKOVER' } : {}),
  }));
}

describeInBrowser('wells in the console', (chromium) => {
  const { readerOf } = chromium;

  const exported = (served: ServedInstallation, uwis: readonly string[], from = daysAgo(120)): Promise<string> =>
    runOf(served, { export: 'daily-production', uwis, from, to: daysAgo(0) });

  async function openWell(page: Page, uwi: string, query = ''): Promise<void> {
    await page.goto(`/wells/${encodeURIComponent(uwi)}${query}`);
    await page.locator('.u-over').first().waitFor(waitMs);
  }

  const said = (page: Page): Promise<string> => page.locator('.standing').first().innerText();
  const tip = (page: Page) => page.locator('.plot-tip');

  test('a silent well says so first, with when it was asked, and its strip and plots reach to today', async () => {
    const setup = {
      data: givenDaily([...recentRows('silent', 100, 26), ...recentRows('fine', 100, 1)]),
      maxLimit: 500,
    };
    await using served = await serveInstallation({ setup });
    await runOf(served, { export: 'daily-production', uwis: ['silent', 'fine'] });
    await using reader = await readerOf(served);
    const { page } = reader;
    await openWell(page, 'silent');
    expect(await said(page)).toMatch(
      new RegExp(`Silent since ${daysAgo(25)}, 25 days, asked last .*the service has nothing`),
    );
    expect(await page.getByRole('img', { name: /The last 92 days/ }).getAttribute('aria-label')).toBe(
      'The last 92 days: 67 present, 25 missing at the service',
    );
    await page.locator('.strip-ends').getByText(daysAgo(1)).waitFor();
    await page.getByRole('link', { name: `silent since ${daysAgo(25)} (25 days)` }).waitFor();
    // The last day of the axis is yesterday, and it has no value.
    await page.locator('#plots').focus();
    await page.keyboard.press('End');
    await expect.poll(() => page.locator('#plot-values').innerText()).toBe(`${daysAgo(1)}, missing at the service`);
    await page.getByRole('button', { name: 'Ask again for 25 days' }).click();
    await page.waitForURL(/\/runs\//);
    await openWell(page, 'fine');
    expect(await said(page)).toContain(`Read to ${daysAgo(1)}, nothing is missing.`);
    expect(reader.troubles).toEqual([]);
  });

  test('a held well says how many rows would go, and a quarantined one why, with the record', async () => {
    const early = { ...recentRows('early', 0, 0)[0], date: `${daysAgo(-9)}T00:00:00Z` } as GivenRecord;
    const setup = {
      data: givenDaily([...recentRows('held', 60, 1), ...recentRows('early', 30, 1), early]),
      maxLimit: 500,
    };
    await using served = await serveInstallation({ setup });
    await runOf(served, { export: 'daily-production', uwis: ['held', 'early'], from: daysAgo(60), to: daysAgo(-20) });
    const answer = await fetch(dailyUrl(served.service, { limit: 500 }, 'held'));
    const rows = (await answer.json()) as ReadonlyArray<{ readonly xid: string }>;
    const gone = rows.slice(5, 30).map(({ xid }) => JSON.stringify({ uwi: 'held', remove: xid }));
    served.service.state.changeDaily(gone.join('\n'));
    await runOf(served, { export: 'daily-production', uwis: ['held'], from: daysAgo(61), to: daysAgo(0) });
    await using reader = await readerOf(served);
    const { page } = reader;
    await openWell(page, 'held');
    expect(await said(page)).toMatch(
      /Held: 25 rows of .* would go, since the service no longer has them; the first of them by run/,
    );
    expect(await page.locator('.strip rect.held').count()).toBeGreaterThan(0);
    await page.getByRole('link', { name: 'See and release the held rows' }).click();
    await page.getByRole('heading', { name: 'Held rows' }).waitFor(waitMs);
    await openWell(page, 'early');
    expect(await said(page)).toMatch(/1 record quarantined without a day: /);
    await page.getByText('The record as it came').click();
    expect(await page.locator('#quarantined pre').innerText()).toContain('"oilRate": 100');
    expect(reader.troubles).toEqual([]);
  });

  test('the values of a day are read at the cursor, with its downtime, by the mouse and by the keyboard', async () => {
    const setup = { data: givenDaily(recentRows('A', 50, 1)), maxLimit: 500 };
    await using served = await serveInstallation({ setup });
    await exported(served, ['A'], daysAgo(50));
    await using reader = await readerOf(served);
    const { page } = reader;
    await openWell(page, 'A');
    const plots = await page.locator('.u-over').all();
    const boxes = await Promise.all(plots.map((plot) => plot.boundingBox()));
    expect(new Set(boxes.map((box) => `${box?.x} ${box?.width}`)).size).toBe(1);
    const [first] = boxes;
    if (first === undefined || first === null) throw new Error('the plot is not there');
    await page.mouse.move(first.x + 4, first.y + 40);
    await expect.poll(() => tip(page).innerText()).toContain(daysAgo(50));
    const text = await tip(page).innerText();
    for (const part of [
      /Oil \(bbl\/d\)\s*100/,
      /Gas \(Mscf\/d\)\s*1,000/,
      /Liquid \(bbl\/d\)\s*125/,
      /Water cut \(%\)\s*20/,
    ])
      expect(text).toMatch(part);
    expect(text).toMatch(/Gas-oil ratio \(Mscf\/bbl\)\s*10/);
    expect(text).toMatch(/Down\s*24 h, WORKOVER/);
    // Legible: no value is dimmed.
    const faint = await tip(page).evaluate((box) =>
      [box, ...box.querySelectorAll('*')].filter((each) => Number(getComputedStyle(each).opacity) < 1),
    );
    expect(faint).toEqual([]);
    await page.locator('#plots').focus();
    await page.mouse.move(0, 0);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    const values = page.locator('#plot-values');
    await expect.poll(() => values.innerText()).toContain(daysAgo(49));
    expect(await values.innerText()).toContain('Oil (bbl/d) 100');
    expect(reader.troubles).toEqual([]);
  });

  test('what is shown is in the address: range, zoom and log scale, with a table and a CSV of it', async () => {
    const setup = { data: givenDaily(recentRows('A', 800, 1)), maxLimit: 500 };
    await using served = await serveInstallation({ setup });
    await exported(served, ['A'], daysAgo(800));
    await using reader = await readerOf(served);
    const { page } = reader;
    await openWell(page, 'A');
    const current = () => page.locator('.plot-ranges [aria-current]').allInnerTexts();
    expect(await current()).toEqual(['All']);
    await page.getByRole('link', { name: '30 days' }).click();
    expect([new URL(page.url()).search, await current()]).toEqual(['?show=30d', ['30 days']]);
    await page.getByText('Table of the days shown').click();
    await expect.poll(() => page.locator('#plot-table tbody tr').count()).toBe(30);
    expect(await page.locator('#plot-table tbody tr').first().innerText()).toContain(daysAgo(1));
    await page.getByRole('link', { name: '1 year' }).click();
    await expect.poll(() => page.locator('#plot-table tbody tr').count()).toBe(365);
    await page.getByRole('link', { name: 'Log scale' }).click();
    expect(new URL(page.url()).search).toBe('?show=1y&scale=log');
    const box = await page.locator('.u-over').first().boundingBox();
    if (box === null) throw new Error('the plot is not there');
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await expect
      .poll(() => new URL(page.url()).searchParams.get('show'))
      .toMatch(/^\d{4}-\d\d-\d\d\.\.\d{4}-\d\d-\d\d$/);
    const zoomed = await page.locator('#plot-table tbody tr').count();
    expect(zoomed).toBeGreaterThan(80);
    expect(zoomed).toBeLessThan(100);
    const csv = await page.getByRole('link', { name: 'CSV' }).getAttribute('href');
    const lines = (await (await page.request.get(csv ?? '')).text()).trim().split('\n');
    expect(lines[0]).toContain('oil_rate [bbl/d]');
    expect(lines).toHaveLength(zoomed + 1);
    // Somebody else who opens the address sees the same.
    await page.reload();
    await page.locator('.u-over').first().waitFor(waitMs);
    await page.getByText('Table of the days shown').click();
    await expect.poll(() => page.locator('#plot-table tbody tr').count()).toBe(zoomed);
    expect(await current()).toEqual(['Log scale']);
    expect(reader.troubles).toEqual([]);
  });

  test('a gap is filled in two clicks, without the page moving', async () => {
    await using served = await serveInstallation({ setup: { data: givenDaily(januaryRows(31)) } });
    await runOf(served, { export: 'daily-production', uwis: [UWI], from: '2024-01-01', to: '2024-01-08' });
    await runOf(served, { export: 'daily-production', uwis: [UWI], from: '2024-01-20', to: '2024-02-01' });
    await using reader = await readerOf(served);
    const { page } = reader;
    await page.addInitScript(() => {
      const shifts = { sum: 0 };
      Object.assign(globalThis, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[])
          if (!entry.hadRecentInput) shifts.sum += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await openWell(page, UWI);
    await page.getByRole('link', { name: '2024-01-08 to 2024-01-19' }).click();
    expect(await page.getByLabel('Read again: first day').inputValue()).toBe('2024-01-08');
    expect(await page.getByLabel('Last day').inputValue()).toBe('2024-01-19');
    await expect
      .poll(() => page.locator('#backfill button').evaluate((each) => each.getBoundingClientRect().top))
      .toBeLessThan(400);
    expect(await page.evaluate(() => (globalThis as unknown as { shifts: { sum: number } }).shifts.sum)).toBeLessThan(
      0.05,
    );
    await page.getByRole('button', { name: 'Backfill' }).click();
    await page.waitForURL(/\/runs\//);
    await page.getByText(/Reconciled: \d+ read = 12 inserted/).waitFor(waitMs);
    expect(reader.troubles).toEqual([]);
  });

  test('no line of Volve runs below zero for a negative value of another one', async ({ skip }) => {
    skip(!existsSync(volveFile), 'the Volve data is not beside this checkout (../shared/data)');
    const well = '15/9-F-12';
    const records = (await readFile(volveFile, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { uwi: string; date: string; waterRate: number; gasRate: number });
    const ofWell = records.filter(({ uwi }) => uwi === well).toSorted((a, b) => b.waterRate - a.waterRate);
    const below = ofWell.at(-1);
    if (below === undefined || below.waterRate >= 0) throw new Error(`the data has no negative water rate of ${well}`);
    const day = below.date.slice(0, 10);
    await using served = await serveInstallation({ setup: { data: await loadDailyFile(volveFile), maxLimit: 500 } });
    await runOf(served, { export: 'daily-production', uwis: [well], from: '2007-01-01', to: '2017-01-01' });
    await using reader = await readerOf(served);
    const { page } = reader;
    await openWell(page, well, `?show=${day}..${day}`);
    const titles = await page.locator('.well-plot strong').allInnerTexts();
    expect(titles.slice(0, 2)).toEqual(['Liquids (bbl/d)', 'Gas (Mscf/d)']);
    await page.locator('#plots').focus();
    const values = page.locator('#plot-values');
    const stepTo = async (wanted: string): Promise<void> => {
      for (const _ of Array.from({ length: 60 })) {
        if ((await values.innerText()).startsWith(wanted)) return;
        await page.keyboard.press('ArrowLeft');
      }
      throw new Error(`the cursor does not come to ${wanted}`);
    };
    /** How far above the lower edge of its plot each value of the day is drawn. */
    const heights = () =>
      page.locator('.well-plot').evaluateAll((figures) =>
        figures.slice(0, 2).map((figure) => {
          const edge = figure.querySelector('.u-over')?.getBoundingClientRect().bottom ?? 0;
          return [...figure.querySelectorAll('.u-cursor-pt')].map((point) => {
            const { top, height } = point.getBoundingClientRect();
            return edge - top - height / 2;
          });
        }),
      );
    const gasOn = (date: string): number => ofWell.find((each) => each.date.startsWith(date))?.gasRate ?? Number.NaN;
    await stepTo(day);
    const [[oil = 0, water = 0] = [], [gas = 0] = []] = await heights();
    // Water is drawn below oil, and above the edge: its own negative value is on the axis.
    expect(water).toBeGreaterThan(0);
    expect(water).toBeLessThan(oil);
    const before = dayText(Date.parse(day) - 5 * dayMs);
    await stepTo(before);
    const [, [gasBefore = 0] = []] = await heights();
    // By two values of gas, 0 of its axis lies at the lower edge.
    const zero = gas - (gasOn(day) * (gasBefore - gas)) / (gasOn(before) - gasOn(day));
    expect(Math.abs(zero)).toBeLessThan(2);
    expect(reader.troubles).toEqual([]);
  });

  test('the map filters, opens the month that was chosen, and is where it was on the way back', async () => {
    const wells = Array.from({ length: 60 }, (_, index) => `7/${index + 1}`);
    const data = givenDaily(wells.flatMap((uwi, index) => recentRows(uwi, 150, index === 41 ? 20 : 1)));
    await using served = await serveInstallation({ setup: { data, maxLimit: 500 } });
    await exported(served, wells, daysAgo(150));
    await using reader = await readerOf(served);
    const { page } = reader;
    const cell = page.locator('#cell');
    await page.goto('/coverage');
    await page.locator('#map').focus();
    await page.keyboard.press('End');
    await expect.poll(() => cell.innerText()).toContain(`7/1, ${daysAgo(1).slice(0, 7)}: `);
    for (const _ of Array.from({ length: 54 })) await page.keyboard.press('ArrowDown');
    await expect.poll(() => cell.innerText()).toContain('7/55, ');
    const top = await page.locator('#map').evaluate((map) => map.scrollTop);
    await page.keyboard.press('Enter');
    const month = daysAgo(1).slice(0, 7);
    await page.waitForURL((url) => url.pathname === '/wells/7%2F55' && url.search === `?month=${month}`);
    await page.locator('.u-over').first().waitFor(waitMs);
    expect(await page.getByLabel('Read again: first day').inputValue()).toBe(`${month}-01`);
    expect(await page.locator('.plot-ranges [aria-current]').count()).toBe(0);
    await page.getByRole('link', { name: 'Map of all wells' }).click();
    await page.waitForURL(/\/coverage$/);
    await expect.poll(() => cell.innerText()).toContain('7/55, ');
    expect(await page.locator('#map').evaluate((map) => map.scrollTop)).toBe(top);
    await page.locator('select[name=show]').selectOption('silent');
    await page.waitForURL(/show=silent/);
    await page.getByRole('heading', { name: '1 well by month' }).waitFor();
    await page.locator('#map').focus();
    await page.keyboard.press('End');
    await expect.poll(() => cell.innerText()).toContain('7/42, ');
    await page.getByLabel('Part of the name').fill('7/5');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('No well is like that').waitFor();
    await page.goto('/coverage?name=7/5&as=table');
    expect(await page.locator('tbody th').allInnerTexts()).toEqual(['7/5', ...wells.slice(49, 59)]);
    expect(reader.troubles).toEqual([]);
  });

  test('the pages read without JavaScript, and have no finding of axe at three widths, light and dark', async () => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const data = givenDaily([...recentRows('A', 60, 1), ...recentRows('B', 60, 20)]);
    await using served = await serveInstallation({ setup: { data, maxLimit: 500 } });
    await exported(served, ['A', 'B'], daysAgo(60));
    const paths = ['/wells/A', '/wells/B?show=30d', '/coverage', '/coverage?as=table', '/coverage?name=x'];
    for (const viewport of [{ width: 1_440, height: 900 }, { width: 820, height: 1_100 }, phone]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await using reader = await readerOf(served, { viewport, colorScheme });
        const { page } = reader;
        for (const each of paths) {
          await page.goto(each, { waitUntil: 'networkidle' });
          await page.evaluate(axe);
          const findings = await page.evaluate(async () => {
            const { axe: run } = globalThis as unknown as {
              axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
            };
            return (await run.run()).violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
          });
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          expect([each, viewport.width, colorScheme, findings, overflow]).toEqual([
            each,
            viewport.width,
            colorScheme,
            [],
            0,
          ]);
        }
        expect(reader.troubles).toEqual([]);
      }
    }
    const context = await chromium.browser.newContext({
      baseURL: served.server.url,
      viewport: desktop,
      javaScriptEnabled: false,
    });
    await context.request.post('/sign-in', { form: { token: 'read' } });
    const page = await context.newPage();
    await page.goto('/coverage');
    expect(await page.locator('tbody th').allInnerTexts()).toEqual(['A', 'B']);
    await page.getByRole('link', { name: 'B', exact: true }).click();
    expect(await said(page)).toContain(`Silent since ${daysAgo(19)}`);
    expect(await page.locator('main noscript p').innerText()).toContain('The plots need JavaScript.');
    await context.close();
  });
});
