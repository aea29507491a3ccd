/**
 * `node scripts/test-figures.mjs REPORT ...`: prints the names of the tests that failed, each with the beginning of its first
 * error, then `N passed, N failed[, N skipped]`, for vitest's JSON reports. A test in several reports counts once: failed if it
 * failed in any, skipped if it ran in none. A file that failed although none of its tests did, as by a hook before them, is a
 * failure of its own. Exit code 1 if any test failed. A report without tests counts as a failure: it proves nothing.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/**
 * @typedef {object} Report
 * @property {ReadonlyArray<{ name: string, status: string, message?: string, assertionResults: readonly Result[] }>} testResults one a file
 *
 * @typedef {object} Result
 * @property {string} fullName
 * @property {string} status `passed`, `failed`, or one of several words for skipped
 * @property {readonly string[]} [failureMessages] with their stacks
 *
 * @typedef {'failed' | 'passed' | 'skipped'} Outcome
 * @typedef {readonly [test: string, outcome: Outcome, error?: string | undefined]} Entry
 */

/** @type {readonly Outcome[]} the first one of a test's outcomes counts */
const ranking = ['failed', 'passed', 'skipped'];

/** @param {string} status */
function outcomeOf(status) {
  return ranking.find((outcome) => outcome === status) ?? 'skipped';
}

/**
 * @param {Report['testResults'][number]} file
 * @returns {Entry[]}
 */
function entriesOfFile({ name, status, message, assertionResults }) {
  /** @type {Map<string, number>} tests of one name, as a table of cases may have them */
  const seen = new Map();
  const entries = assertionResults.map((result) => {
    const occurrence = (seen.get(result.fullName) ?? 0) + 1;
    seen.set(result.fullName, occurrence);
    const [error] = result.failureMessages ?? [];
    return /** @type {Entry} */ ([`${name} ${result.fullName} ${occurrence}`, outcomeOf(result.status), error]);
  });
  // One that could not be loaded has no test at all; one whose hook failed has tests that were skipped.
  const failedBeside = status === 'failed' && entries.every(([, outcome]) => outcome !== 'failed');
  return failedBeside ? [...entries, [name, 'failed', message]] : entries;
}

/**
 * @param {string} reportFile
 * @returns {Entry[]}
 */
function entriesOf(reportFile) {
  const text = readFileSync(reportFile, 'utf8');
  const { testResults } = text === '' ? { testResults: [] } : /** @type {Report} */ (JSON.parse(text));
  const entries = testResults.flatMap(entriesOfFile);
  return entries.some(([, outcome]) => outcome !== 'skipped') ? entries : [...entries, [reportFile, 'failed']];
}

const errorLines = 12;
const lineChars = 500;

/** @param {string} error */
function beginningOf(error) {
  return stripVTControlCharacters(error)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, errorLines)
    .map((line) => `  ${line.slice(0, lineChars)}`);
}

const reports = process.argv.slice(2);
if (reports.length === 0) throw new Error('usage: node scripts/test-figures.mjs REPORT ...');
/** @type {Map<string, Outcome[]>} */
const outcomesByTest = new Map();
/** @type {Map<string, string>} */
const errors = new Map();
for (const [test, outcome, error = ''] of reports.flatMap(entriesOf)) {
  outcomesByTest.set(test, [...(outcomesByTest.get(test) ?? []), outcome]);
  if (outcome === 'failed' && !errors.has(test)) errors.set(test, error);
}
for (const [test, error] of errors)
  console.log([`failed: ${path.relative('.', test)}`, ...beginningOf(error)].join('\n'));
const settled = [...outcomesByTest.values()].map((outcomes) => ranking.find((outcome) => outcomes.includes(outcome)));
const [failed = 0, passed = 0, skipped = 0] = ranking.map((wanted) => settled.filter((each) => each === wanted).length);
console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
process.exitCode = failed > 0 ? 1 : 0;
