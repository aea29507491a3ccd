/** The rules of WCAG and of good practice that a page breaks, by axe-core. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const source = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Each with the elements. */
export async function axeFindingsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(await source);
  return page.evaluate(inBrowser);
}

async function inBrowser(): Promise<readonly string[]> {
  interface Axe {
    run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
  }
  const { axe } = globalThis as unknown as { axe: Axe };
  const { violations } = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] });
  return violations.map(({ id, impact, nodes }) =>
    `${impact} ${id}: ${nodes.map(({ html }) => html).join(' | ')}`.slice(0, 600),
  );
}
