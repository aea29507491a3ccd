/** The two sizes of the tests: `npm test` runs the usual one, `npm run test:full` the full one (README.md, "Tests"). */

export const isFullSuite = process.env['WELLSYNC_TEST_FULL'] === '1';

/** A size of a test: rows, kills, combinations. The file of the test has to be among `fullFiles` of vitest.config.ts. */
export function bySuite<Size>(usual: Size, full: Size): Size {
  return isFullSuite ? full : usual;
}
