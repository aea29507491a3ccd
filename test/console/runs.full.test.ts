/** What an operator does on the pages of runs, in a real browser: finds a run, learns why it failed, mends it, starts one. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { desktop, phone, type Reader } from '../support/browser.ts';
import { describeInBrowser, type InBrowser, waitMs } from '../support/in-browser.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { januaryRows } from '../support/testing-server-requests.ts';

const tablet = { width: 820, height: 1_100 };
const wells = ['15/9-F-12', '15/9-F-14', '24/4-A-120', '24/4-A-121', '24/4-A-122'];
const quickly = 'queue: { attempts: 1 }\nservice: { retry: { attempts: 1 } }\n';

describeInBrowser('runs in a browser', (chromium) => {
  /** Wells whose requests are answered with a sign-in page. */
  const behindProxy = new Set<string>();
  let served: ServedInstallation;
  let nightly = '';
  let oneDay = '';
  beforeAll(async () => {
    served = await serveInstallation({
      setup: {
        data: givenDaily(wells.flatMap((uwi) => januaryRows(uwi === '15/9-F-12' ? 10 : 31, uwi))),
        onRequest: ({ url }) =>
          [...behindProxy].some((uwi) => url.includes(encodeURIComponent(uwi))) ? 'htmlPage' : undefined,
      },
      config: quickly,
    });
    nightly = await ended({ export: 'daily-production', uwis: wells });
    oneDay = await ended({ export: 'daily-production', uwis: ['15/9-F-12'], from: '2024-01-20', to: '2024-01-21' });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
  });

  const readerOf = (options: Parameters<InBrowser['readerOf']>[1] = {}): Promise<Reader> =>
    chromium.readerOf(served, options);

  async function ended(json: object): Promise<string> {
    const answer = await served.server.ask('/api/v1/runs', { token: 'operate', json });
    const { runId } = (await answer.json()) as { runId: string };
    await vi.waitFor(async () => {
      const run: unknown = await (await served.server.ask(`/api/v1/runs/${runId}`, { token: 'read' })).json();
      expect(run).toMatchObject({ finishedAt: expect.any(String) });
    }, waitMs);
    return runId;
  }

  test('the list says what each run covered, and filters by well, by state and by person', async () => {
    await using reader = await readerOf();
    const { page } = reader;
    await page.goto('/runs');
    const rows = page.locator('.runs tbody tr');
    expect(await rows.count()).toBe(2);
    expect(await rows.first().textContent()).toContain('15/9-F-12, 2024-01-20');
    expect(await rows.last().textContent()).toContain('5 wells, incremental');
    await page.getByLabel('Well, equipment or file').fill('24/4-A-121');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/well=24/);
    expect(await rows.count()).toBe(1);
    await page.getByRole('link', { name: '5 wells, incremental' }).click();
    await page.waitForURL(new RegExp(nightly));
    expect(await page.title()).toContain('5 wells, incremental · Daily production');
    await page.goto('/runs?by=nobody');
    await page.getByText('No run fits these filters').waitFor(waitMs);
    await page.goto('/runs?state=done&by=OPERATE');
    expect(await rows.count()).toBe(2);
    expect(reader.troubles).toEqual([]);
  });

  test('a row of the list changes its state without a load', async () => {
    await using reader = await readerOf();
    const { page } = reader;
    await page.goto('/runs?job=export+daily-production&well=24%2F4-A-122');
    const rows = page.locator('.runs tbody tr');
    const before = await rows.count();
    await ended({ export: 'daily-production', uwis: ['24/4-A-122'] });
    await expect.poll(async () => rows.count(), waitMs).toBe(before + 1);
    await expect.poll(async () => rows.first().textContent(), waitMs).toMatch(/24\/4-A-122, incremental.*done/);
    expect(reader.troubles).toEqual([]);
  });

  test('the wells of a run have state, rows and days, are filtered by name, and lead to their pages', async () => {
    await using reader = await readerOf();
    const { page } = reader;
    await page.goto(`/runs/${nightly}`);
    const rows = page.locator('#wells tbody tr');
    expect(await rows.count()).toBe(5);
    await page.getByLabel('Part of the name of the well').fill('24/4-a');
    await page.getByRole('button', { name: 'Show wells' }).click();
    await page.waitForURL(/name=24/);
    expect(await rows.count()).toBe(3);
    expect(await rows.first().textContent()).toMatch(/24\/4-A-120.*done.*31/);
    await page.goto(`/runs/${nightly}?unit=failed#wells`);
    await page.getByText('No such well in this run').waitFor(waitMs);
    await page.getByRole('link', { name: 'Show all of them' }).click();
    await page.locator('#wells').getByRole('link', { name: '15/9-F-14' }).click();
    await page.waitForURL(/\/wells\/15%2F9-F-14/);
    expect(reader.troubles).toEqual([]);
  });

  test('a backfill says that the service has nothing and the gap remains, and leads back to the well', async () => {
    await using reader = await readerOf();
    const { page } = reader;
    await page.goto(`/runs/${oneDay}`);
    await page.getByText('The service has nothing for that day; the gap remains.').waitFor(waitMs);
    await page.getByRole('main').getByRole('link', { name: '15/9-F-12' }).first().click();
    await page.waitForURL(/\/wells\/15%2F9-F-12/);
    const again = await ended({
      export: 'daily-production',
      uwis: ['15/9-F-14'],
      from: '2024-01-02',
      to: '2024-01-05',
    });
    await page.goto(`/runs/${again}`);
    await page.getByText('Nothing changed: the warehouse had a row for each of the 3 days before.').waitFor(waitMs);
    expect(reader.troubles).toEqual([]);
  });

  test('why a run failed is in its headline, its wells are folded by reason; what is left is retried', async () => {
    const failing = ['24/4-A-120', '24/4-A-121', '24/4-A-122', '15/9-F-14'];
    for (const uwi of failing) behindProxy.add(uwi);
    const runId = await ended({ export: 'daily-production', uwis: wells });
    const line = { level: 'error', time: '2026-03-01T02:15:00.000Z', runId, msg: 'a well failed', well: '24/4-A-120' };
    await (await served.server.app.queue('prompt')).runLog.append(runId, [JSON.stringify(line)]);
    await using reader = await readerOf();
    const { page } = reader;
    await page.goto(`/runs/${runId}`);
    const headline = page.locator('.lead');
    expect(await headline.textContent()).toMatch(/^4 of 5 wells failed: .*sign-in page/);
    expect((await headline.boundingBox())?.y).toBeLessThan(desktop.height);
    expect(await page.locator('.reasons > li').count()).toBe(1);
    await page.getByText('4 wells', { exact: true }).click();
    await page.locator('.reasons').getByRole('link', { name: '24/4-A-121' }).waitFor(waitMs);
    await page.getByLabel('Level').selectOption('error');
    await page.getByRole('button', { name: 'Show lines' }).click();
    await page.waitForURL(/level=error/);
    expect(await page.locator('#log tbody tr').allTextContents()).toEqual([
      expect.stringMatching(/:15:00.*a well failed.*A-120/),
    ]);
    behindProxy.clear();
    await page.getByRole('button', { name: 'Retry what is not done' }).click();
    await page.getByText('Done: 5 wells.').first().waitFor(waitMs);
    const attempts = page.getByRole('table', { name: 'Attempts of the run' });
    expect(await attempts.locator('tbody tr').allTextContents()).toEqual([
      expect.stringMatching(/^2.*done.*Done: 5 wells\..*delete/),
      expect.stringMatching(/^1.*failed.*Failed: 4 of 5 wells.*operate/),
    ]);
    expect(reader.troubles).toEqual([]);
  });

  test('a run that is cancelled has one state at a time', async () => {
    served.service.state.setOptions({ latencyMs: 1_500 });
    await using reader = await readerOf();
    const { page } = reader;
    const answer = await served.server.ask('/api/v1/runs', {
      token: 'operate',
      json: { export: 'daily-production', uwis: wells, from: '2023-01-01' },
    });
    const { runId } = (await answer.json()) as { runId: string };
    await page.goto(`/runs/${runId}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    const states = page.locator('.title .state');
    await expect.poll(async () => states.allTextContents(), waitMs).toEqual(['cancelled']);
    expect(await page.getByText('Cancelled: ').count()).toBeGreaterThan(0);
    served.service.state.setOptions({ latencyMs: 0 });
    expect(reader.troubles).toEqual([]);
  });

  test('an export of chosen wells is shown in words, and started by a second click', async () => {
    await using reader = await readerOf();
    const { page } = reader;
    await page.goto('/runs');
    await page.getByRole('link', { name: 'Start an export' }).click();
    await page.getByLabel('One name a line').fill('15/9-F-12\n15/9-F-14\n\nnew well\n');
    await page.getByLabel('First day').fill('2024-01-01');
    await page.getByLabel('Last day').fill('2024-01-07');
    await page.getByRole('button', { name: 'Show what will run' }).click();
    await page
      .getByText('Daily production: 15/9-F-12, 15/9-F-14 and new well, 2024-01-01 to 2024-01-07.')
      .waitFor(waitMs);
    await page.getByText('The warehouse knows 2 of the 3 names. Never read into it: "new well".').waitFor(waitMs);
    const runs = async (): Promise<unknown> =>
      (await served.server.ask('/api/v1/runs?limit=1', { token: 'read' })).json();
    const before = JSON.stringify(await runs());
    await page.getByRole('button', { name: 'Change it' }).click();
    expect(JSON.stringify(await runs()).slice(0, 60)).toBe(before.slice(0, 60));
    await page.getByLabel('One name a line').fill('15/9-F-12\n15/9-F-14');
    await page.getByRole('button', { name: 'Show what will run' }).click();
    await page.getByRole('button', { name: 'Start it' }).click();
    await page.waitForURL(/\/runs\//);
    await page.getByRole('heading', { name: '15/9-F-12 and 15/9-F-14, 2024-01-01 to 2024-01-07' }).waitFor(waitMs);
    await page.goto('/start');
    await page.getByRole('button', { name: 'Show what will run' }).click();
    await page.locator('#start .form-state').filter({ hasText: /\w/ }).waitFor(waitMs);
    expect(reader.troubles.filter((trouble) => !/42[02]/.test(trouble))).toEqual([]);
  });

  test('the rows that a push rejected are downloaded from its run, which leads to the next push', async () => {
    await using reader = await readerOf();
    const { page } = reader;
    const file = 'sourceNetworkId,sourceId,enabled\nN,P1,true\nN,P2,perhaps\n';
    const choose = (name: string, content: string) =>
      page.getByLabel('CSV file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(content) });
    await page.goto('/push');
    await choose('pipes.csv', file);
    await page.getByRole('button', { name: 'Push it' }).click();
    await page.getByRole('heading', { name: 'pipes.csv' }).waitFor(waitMs);
    const download = page.waitForEvent('download', waitMs);
    await page.getByRole('link', { name: 'Download the rejected rows' }).click(waitMs);
    const rejects = await readFile(await (await download).path(), 'utf8');
    await page.getByRole('link', { name: 'Push corrected rows' }).click();
    await page.waitForURL(/\/push\?corrects=/);
    await choose('mended.csv', rejects.replaceAll('perhaps', 'false'));
    await page.getByRole('button', { name: 'Push it' }).click();
    await page.getByText('Reconciled: 1 row = 1 accepted').waitFor(waitMs);
    expect(reader.troubles).toEqual([]);
  });

  test('the pages of runs have no finding of axe and no overflow, at three widths, light and dark', async () => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const failing = await ended({ export: 'daily-production', uwis: ['..', wells[0]] });
    const paths = ['/runs', '/runs?state=failed&well=none', `/runs/${nightly}`, `/runs/${oneDay}`, `/runs/${failing}`];
    for (const viewport of [desktop, tablet, phone]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await using reader = await readerOf({ viewport, colorScheme });
        const { page } = reader;
        for (const each of [...paths, '/start', '/push']) {
          await page.goto(each);
          const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          await page.evaluate(axe);
          const findings = await page.evaluate(axeFindings);
          expect([each, viewport.width, colorScheme, width, findings]).toEqual([
            each,
            viewport.width,
            colorScheme,
            0,
            [],
          ]);
        }
        expect(reader.troubles).toEqual([]);
      }
    }
  });
});

/** Runs in the browser: the rules of WCAG that the page breaks, with the elements. */
async function axeFindings(): Promise<readonly string[]> {
  interface Axe {
    run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
  }
  const { axe } = globalThis as unknown as { axe: Axe };
  const { violations } = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] });
  return violations.map(({ id, impact, nodes }) =>
    `${impact} ${id}: ${nodes.map(({ html }) => html).join(' | ')}`.slice(0, 600),
  );
}
