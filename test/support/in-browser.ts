/** The common part of tests in Chromium: a browser for the tests of a file, its readers, and runs that are waited for. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { browserLack, openReader, type Reader, startBrowser } from './browser.ts';
import type { ServedInstallation } from './served-install.ts';

export const waitMs = { timeout: 60_000, interval: 100 };

export interface InBrowser {
  readonly browser: Browser;
  /** A reader of the installation's pages, by default one who may do everything. */
  readonly readerOf: (
    served: Pick<ServedInstallation, 'server'>,
    options?: Parameters<typeof openReader>[2],
  ) => Promise<Reader>;
}

/** Tests that share a browser; skipped where there is none, with the reason in their title. */
export function describeInBrowser(title: string, tests: (chromium: InBrowser) => void): void {
  const lack = browserLack();
  describe.skipIf(lack !== undefined)(`${title}${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(async () => {
      await browser?.close();
    });
    tests({
      get browser() {
        return browser;
      },
      readerOf: ({ server }, options = {}) => openReader(browser, server.url, { token: 'delete', ...options }),
    });
  });
}

/** Starts a run by the API, and waits until it is in this state. Returns its id. */
export async function runOf(
  { server }: ServedInstallation,
  request: object,
  state = 'done',
  within: { readonly timeout: number } = waitMs,
): Promise<string> {
  const answer = await server.ask('/api/v1/runs', { token: 'operate', json: request });
  const { runId } = (await answer.json()) as { runId: string };
  const run = async (): Promise<unknown> => (await server.ask(`/api/v1/runs/${runId}`, { token: 'read' })).json();
  await expect.poll(run, within).toMatchObject({ state });
  return runId;
}
