/**
 * `npm run console-picture -- URL`: makes docs/console.png from a running console, such as that of
 * `npm run quickstart -- --stay`. Needs Chromium on the PATH, or in WELLSYNC_CHROMIUM.
 */
import { chromium } from 'playwright-core';
import { runScript, SetupError } from './setup/setup-error.mjs';

const file = 'docs/console.png';

await runScript(async () => {
  const [url] = process.argv.slice(2);
  if (url === undefined)
    throw new SetupError('Say where the console is: npm run console-picture -- http://127.0.0.1:8080');
  const executablePath = process.env['WELLSYNC_CHROMIUM'] ?? '/usr/bin/chromium';
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, timezoneId: 'Europe/Oslo' });
    await page.goto(url, { waitUntil: 'networkidle' });
    await page.screenshot({ path: file });
    console.log(`${file} shows ${url}.`);
    return 0;
  } finally {
    await browser.close();
  }
});
