/** The tests, by what they stand on: one project a folder of test/. */
import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { ProjectSequencer } from './test/support/project-sequencer.ts';
import { RunSummaryReporter } from './test/support/run-summary-reporter.ts';
import { isFullSuite } from './test/support/suite-size.ts';

const seconds = 1000;

/**
 * What `npm run test:full` runs, in sizes that `npm test` has no time for: properties, repeated kills, more combinations. A
 * file whose name ends in `.full.test.ts` runs there alone.
 */
const fullFiles = [
  '*.full.test.ts',
  '*.property.test.ts',
  '*.model.test.ts',
  'export-matrix*.test.ts',
  'push-file.test.ts',
  'duckdb-ledger.test.ts',
  'duckdb-rows.test.ts',
  'mornings.test.ts',
];
const usualSetup = ['test/support/property-seed.ts'];
const fullSetup = [...usualSetup, 'test/support/full-suite-setup.ts'];
const fullTimeoutMs = 900 * seconds;

/**
 * `order` lets projects run one after the other, and those of one order at once, with so many files at a time: more than
 * there are cores, since most tests wait for processes, leases and the disk for half of their time. Projects of one order
 * share one number.
 */
function project(
  name: string,
  options: {
    readonly order: number;
    readonly files: number;
    readonly testTimeoutMs: number;
    /** Whether files share processes, and with them modules, which are then loaded once a process. */
    readonly sharesProcesses?: boolean;
    /** Whether a file may ask for a PostgreSQL server. */
    readonly hasPostgres?: boolean;
    /** Whether a file may start a browser. */
    readonly hasBrowser?: boolean;
  },
): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      include: isFullSuite ? fullFiles.map((file) => `test/${name}/**/${file}`) : [`test/${name}/**/*.test.ts`],
      exclude: isFullSuite ? [] : ['**/*.full.test.ts'],
      setupFiles: isFullSuite ? fullSetup : usualSetup,
      globalSetup: [
        ...(options.hasPostgres === true ? ['test/support/postgres/shared-postgres.ts'] : []),
        ...(options.hasBrowser === true ? ['test/support/browser-setup.ts'] : []),
      ],
      testTimeout: isFullSuite ? fullTimeoutMs : options.testTimeoutMs,
      hookTimeout: isFullSuite ? fullTimeoutMs : options.testTimeoutMs,
      maxWorkers: options.files,
      isolate: options.sharesProcesses !== true,
      sequence: { groupOrder: options.order },
    },
  };
}

const reportFile = process.env['WELLSYNC_TEST_REPORT'];

export default defineConfig({
  test: {
    projects: [
      // A third of the time of unit tests was the loading of modules, once a file.
      project('unit', { order: 1, files: 2, testTimeoutMs: 60 * seconds, sharesProcesses: true }),
      project('contract', {
        order: 2,
        files: 5,
        testTimeoutMs: 150 * seconds,
        hasPostgres: true,
        sharesProcesses: !isFullSuite,
      }),
      project('repository', { order: 2, files: 5, testTimeoutMs: 150 * seconds }),
      project('integration', {
        order: 2,
        files: 5,
        testTimeoutMs: 150 * seconds,
        hasPostgres: true,
        sharesProcesses: !isFullSuite,
      }),
      project('console', {
        order: 2,
        files: 5,
        testTimeoutMs: 150 * seconds,
        sharesProcesses: !isFullSuite,
        hasBrowser: true,
      }),
      project('model', { order: 2, files: 5, testTimeoutMs: 150 * seconds }),
      project('fault', { order: 2, files: 5, testTimeoutMs: 150 * seconds, hasPostgres: true }),
      // Walks keep all cores busy by themselves.
      project('walk', { order: 3, files: 1, testTimeoutMs: 150 * seconds }),
      // What a busy machine does to a storm is no fault of the program.
      project('storm', { order: 4, files: 2, testTimeoutMs: 150 * seconds, hasPostgres: true }),
    ],
    sequence: { sequencer: ProjectSequencer },
    reporters: [
      'dot',
      new RunSummaryReporter(),
      ...(reportFile === undefined ? [] : [['json', { outputFile: reportFile }] satisfies [string, unknown]]),
    ],
    // The default of 1 s is too short where every core is busy.
    expect: { poll: { timeout: 60 * seconds, interval: 20 } },
    // `.only` left behind would pass everything else by.
    allowOnly: process.env['CI'] === undefined,
  },
});
