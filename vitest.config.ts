/** The tests, by what they stand on: one project a folder of test/. */
import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { SkippedReporter } from './test/support/skipped-reporter.ts';

const seconds = 1000;

/**
 * `order` lets heavy projects run one after the other: two cores measure nothing when everything runs at once.
 */
function project(
  name: string,
  options: { readonly order: number; readonly testTimeoutMs: number },
): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      testTimeout: options.testTimeoutMs,
      hookTimeout: options.testTimeoutMs,
      maxWorkers: 2,
      sequence: { groupOrder: options.order },
    },
  };
}

const reportFile = process.env['WELLSYNC_TEST_REPORT'];

export default defineConfig({
  test: {
    projects: [
      project('core', { order: 1, testTimeoutMs: 20 * seconds }),
      project('contract', { order: 2, testTimeoutMs: 30 * seconds }),
      project('repository', { order: 3, testTimeoutMs: 60 * seconds }),
      project('integration', { order: 4, testTimeoutMs: 90 * seconds }),
      project('fault', { order: 5, testTimeoutMs: 150 * seconds }),
    ],
    reporters: [
      'dot',
      new SkippedReporter(),
      ...(reportFile === undefined ? [] : [['json', { outputFile: reportFile }] satisfies [string, unknown]]),
    ],
    // `.only` left behind would pass everything else by.
    allowOnly: process.env['CI'] === undefined,
  },
});
