/**
 * `node scripts/test-figures.mjs REPORT`: prints `N passed, N failed[, N skipped]` of vitest's JSON report. Ends with
 * code 1 where anything failed, and where nothing ran: an empty report proves nothing.
 */
import { readFileSync } from 'node:fs';

/**
 * @typedef {object} Report
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests skipped, by whichever way
 * @property {number} numTodoTests
 * @property {ReadonlyArray<{ status: string, assertionResults: readonly unknown[] }>} testResults one a file
 */

/** @param {string} file */
function readReport(file) {
  const text = readFileSync(file, 'utf8');
  return text === '' ? undefined : /** @type {Report} */ (JSON.parse(text));
}

/** @param {Report | undefined} report */
function figuresOf(report) {
  if (report === undefined) return { passed: 0, failed: 0, skipped: 0 };
  // A file that could not even be loaded has no tests to fail.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node scripts/test-figures.mjs REPORT');
const { passed, failed, skipped } = figuresOf(readReport(file));
console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
