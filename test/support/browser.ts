/** Debian's Chromium, driven by playwright-core: pages as their readers see them. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { mayInstall } from '../../scripts/setup/debian.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The first Chromium of the PATH, or that of WELLSYNC_CHROMIUM. */
export function browserProgram(): string | undefined {
  const named = process.env['WELLSYNC_CHROMIUM'];
  if (named !== undefined && named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find((file) => existsSync(file));
}

/** Why there is no browser; undefined where one is, or browser-setup.ts can install it. */
export function browserLack(): string | undefined {
  if (browserProgram() !== undefined || mayInstall()) return undefined;
  return 'no Chromium: put one into the PATH, or name it in WELLSYNC_CHROMIUM';
}

export async function startBrowser(): Promise<Browser> {
  const executablePath = browserProgram();
  if (executablePath === undefined)
    throw new Error('Chromium could not be installed: put one into the PATH, or name it in WELLSYNC_CHROMIUM');
  // As root, Chromium has no sandbox of its own; it sees the pages of these tests alone.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

export const desktop = { width: 1280, height: 900 };
export const phone = { width: 390, height: 844 };

export interface Reader extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What went wrong in the browser: errors of scripts, refused loads, requests to elsewhere. */
  readonly troubles: readonly string[];
}

/** A reader who has signed in with the token. Requests to any other server are refused, and a trouble. */
export async function openReader(
  browser: Browser,
  url: string,
  options: {
    readonly token?: string;
    readonly viewport?: typeof desktop;
    readonly colorScheme?: 'light' | 'dark';
  } = {},
): Promise<Reader> {
  const { token, viewport = desktop, colorScheme = 'light' } = options;
  const context = await browser.newContext({
    baseURL: url,
    viewport,
    colorScheme,
    timezoneId: 'Europe/Oslo',
    acceptDownloads: true,
  });
  // The cookie of the answer stays in the browser.
  if (token !== undefined) await context.request.post('/sign-in', { form: { token } });
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') troubles.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) troubles.push(`left: ${request.url()}`);
  });
  return {
    context,
    page,
    troubles,
    async [Symbol.asyncDispose]() {
      await context.close();
    },
  };
}
