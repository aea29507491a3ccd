/** The common part of tests in Chromium: a browser for the tests of a file, and its readers. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { browserLack, openReader, type Reader, startBrowser } from './browser.ts';
import type { ServedInstallation } from './served-install.ts';

export const waitMs = { timeout: 60_000 };

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
