/**
 * `node scripts/test-figures.mjs REPORT ...`: prints the names of the tests that failed, then `N passed, N failed[,
 * N skipped]`, for vitest's JSON reports. A test in several reports counts once: failed if it failed in any, skipped if
 * it ran in none. A file that failed although none of its tests did, as by a hook before them, is a failure of its own. Exit
 * code 1 if any test failed. A report without tests counts as a failure: it proves nothing.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {object} Report
 * @property {ReadonlyArray<{ name: string, status: string, assertionResults: readonly Result[] }>} testResults one a file
 *
 * @typedef {object} Result
 * @property {string} fullName
 * @property {string} status `passed`, `failed`, or one of several words for skipped
 *
 * @typedef {'failed' | 'passed' | 'skipped'} Outcome
 * @typedef {readonly [test: string, outcome: Outcome]} Entry
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
function entriesOfFile({ name, status, assertionResults }) {
  /** @type {Map<string, number>} tests of one name, as a table of cases may have them */
  const seen = new Map();
  const entries = assertionResults.map((result) => {
    const occurrence = (seen.get(result.fullName) ?? 0) + 1;
    seen.set(result.fullName, occurrence);
    return /** @type {Entry} */ ([`${name} ${result.fullName} ${occurrence}`, outcomeOf(result.status)]);
  });
  // One that could not be loaded has no test at all; one whose hook failed has tests that were skipped.
  const failedBeside = status === 'failed' && entries.every(([, outcome]) => outcome !== 'failed');
  return failedBeside ? [...entries, [name, 'failed']] : entries;
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

const reports = process.argv.slice(2);
if (reports.length === 0) throw new Error('usage: node scripts/test-figures.mjs REPORT ...');
/** @type {Map<string, Outcome[]>} */
const outcomesByTest = new Map();
for (const [test, outcome] of reports.flatMap(entriesOf)) {
  outcomesByTest.set(test, [...(outcomesByTest.get(test) ?? []), outcome]);
}
for (const [test, outcomes] of outcomesByTest)
  if (outcomes.includes('failed')) console.log(`failed: ${path.relative('.', test)}`);
const settled = [...outcomesByTest.values()].map((outcomes) => ranking.find((outcome) => outcomes.includes(outcome)));
const [failed = 0, passed = 0, skipped = 0] = ranking.map((wanted) => settled.filter((each) => each === wanted).length);
console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
process.exitCode = failed > 0 ? 1 : 0;
