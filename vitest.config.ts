/** The tests, by what they stand on: one project a folder of test/. */
import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { SkippedReporter } from './test/support/skipped-reporter.ts';

const seconds = 1000;

/**
 * `order` lets projects run one after the other, and those of one order at once, with so many files at a time. The tests
 * that kill processes wait for leases most of their time: they run beside those that are busy.
 */
function project(
  name: string,
  options: { readonly order: number; readonly files: number; readonly testTimeoutMs: number },
): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      testTimeout: options.testTimeoutMs,
      hookTimeout: options.testTimeoutMs,
      maxWorkers: options.files,
      sequence: { groupOrder: options.order },
    },
  };
}

const reportFile = process.env['WELLSYNC_TEST_REPORT'];

export default defineConfig({
  test: {
    projects: [
      project('core', { order: 1, files: 2, testTimeoutMs: 20 * seconds }),
      project('contract', { order: 2, files: 2, testTimeoutMs: 30 * seconds }),
      project('repository', { order: 3, files: 2, testTimeoutMs: 60 * seconds }),
      project('integration', { order: 4, files: 3, testTimeoutMs: 90 * seconds }),
      project('fault', { order: 4, files: 3, testTimeoutMs: 150 * seconds }),
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
