/** Shows that the last line of .ci/run says what ran, and that nothing run is not taken for nothing wrong. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';

const noTests = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };

function figuresOf(report: string): { readonly line: string; readonly code: number | null } {
  const folder = mkdtempSync(path.join(tmpdir(), 'wellsync-figures-'));
  try {
    const file = path.join(folder, 'report.json');
    writeFileSync(file, report);
    const { stdout, status } = spawnSync(process.execPath, ['scripts/test-figures.mjs', file], { encoding: 'utf8' });
    return { line: stdout, code: status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test.each([
  ['all passed', { numPassedTests: 12 }, '12 passed, 0 failed', 0],
  [
    'some were skipped',
    { numPassedTests: 12, numPendingTests: 1, numTodoTests: 1 },
    '12 passed, 0 failed, 2 skipped',
    0,
  ],
  ['one failed', { numPassedTests: 11, numFailedTests: 1 }, '11 passed, 1 failed', 1],
  ['nothing ran', {}, '0 passed, 0 failed', 1],
  [
    'a file could not be loaded',
    { numPassedTests: 12, testResults: [{ status: 'failed', assertionResults: [] }] },
    '12 passed, 1 failed',
    1,
  ],
])('the figures where %s', (_, figures, line, code) => {
  expect(figuresOf(JSON.stringify({ ...noTests, ...figures }))).toEqual({ line: `${line}\n`, code });
});

test('the figures where the tests left no report', () => {
  expect(figuresOf('')).toEqual({ line: '0 passed, 0 failed\n', code: 1 });
});
