/**
 * Checks that .ci/run names the tests that failed and counts each executed test once, and that a run without tests is not a success.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';

type Statuses = Readonly<Record<string, string>>;

/** A report of vitest with one file, and the status of each of its tests. */
function reportOf(statuses: Statuses, file = 'a.test.ts', fileStatus = 'passed'): string {
  const assertionResults = Object.entries(statuses).map(([fullName, status]) => ({ fullName, status }));
  return JSON.stringify({ testResults: [{ name: file, status: fileStatus, assertionResults }] });
}

interface Figures {
  /** The lines before the last one. */
  readonly failures: readonly string[];
  /** The last line. */
  readonly line: string | undefined;
  readonly code: number | null;
}

function figuresOf(...reports: readonly string[]): Figures {
  const folder = mkdtempSync(path.join(tmpdir(), 'wellsync-figures-'));
  try {
    const files = reports.map((report, index) => {
      const file = path.join(folder, `${index}.json`);
      writeFileSync(file, report);
      return file;
    });
    const { stdout, status } = spawnSync(process.execPath, ['scripts/test-figures.mjs', ...files], {
      encoding: 'utf8',
    });
    const lines = stdout.trimEnd().split('\n');
    return { failures: lines.slice(0, -1), line: lines.at(-1), code: status };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const broken = JSON.stringify({ testResults: [{ name: 'b.test.ts', status: 'failed', assertionResults: [] }] });

test.each([
  ['all passed', [reportOf({ one: 'passed', two: 'passed' })], '2 passed, 0 failed', 0],
  [
    'some were skipped',
    [reportOf({ one: 'passed', two: 'skipped', three: 'todo', four: 'pending' })],
    '1 passed, 0 failed, 3 skipped',
    0,
  ],
  ['one failed', [reportOf({ one: 'passed', two: 'failed' })], '1 passed, 1 failed', 1],
  ['all were skipped', [reportOf({ one: 'skipped' })], '0 passed, 1 failed, 1 skipped', 1],
  ['the tests left no report', [''], '0 passed, 1 failed', 1],
  ['one of two suites left no report', [reportOf({ one: 'passed' }), ''], '1 passed, 1 failed', 1],
  [
    'a hook of a file failed, and its tests were skipped',
    [reportOf({ one: 'passed' }), reportOf({ two: 'skipped' }, 'b.test.ts', 'failed')],
    '1 passed, 1 failed, 1 skipped',
    1,
  ],
  ['a test of a file failed', [reportOf({ one: 'failed' }, 'b.test.ts', 'failed')], '0 passed, 1 failed', 1],
  ['a file could not be loaded', [reportOf({ one: 'passed' }), broken], '1 passed, 1 failed', 1],
  [
    'two suites ran different files',
    [reportOf({ one: 'passed' }), reportOf({ one: 'passed' }, 'b.test.ts')],
    '2 passed, 0 failed',
    0,
  ],
  [
    'two suites ran the same tests',
    [
      reportOf({ both: 'passed', first: 'failed', second: 'passed', either: 'skipped', each: 'failed' }),
      reportOf({ both: 'passed', first: 'passed', second: 'failed', either: 'passed', each: 'failed' }),
    ],
    '2 passed, 3 failed',
    1,
  ],
])('the figures where %s', (_, reports, line, code) => {
  const figures = figuresOf(...reports);
  expect({ line: figures.line, code: figures.code }).toEqual({ line, code });
  expect(figures.failures.length).toBe(Number(/, (\d+) failed/.exec(line)?.[1]));
});

test('the tests that failed stand before the figures', () => {
  expect(figuresOf(reportOf({ one: 'passed', two: 'failed' }), broken).failures).toEqual([
    'failed: a.test.ts two 1',
    'failed: b.test.ts',
  ]);
});

test('the beginning of its error stands below a test that failed', () => {
  const stack = Array.from({ length: 20 }, (_, index) => `    at ${index}`).join('\n');
  const failureMessages = [`\u001B[31mError: broken\u001B[39m\n\n${stack}`, 'Error: by it'];
  const assertionResults = [{ fullName: 'one', status: 'failed', failureMessages }];
  const unloaded = { name: 'b.test.ts', status: 'failed', message: 'no such module', assertionResults: [] };
  const report = JSON.stringify({ testResults: [{ name: 'a.test.ts', status: 'failed', assertionResults }, unloaded] });
  expect(figuresOf(report).failures).toEqual([
    'failed: a.test.ts one 1',
    '  Error: broken',
    ...Array.from({ length: 11 }, (_, index) => `      at ${index}`),
    'failed: b.test.ts',
    '  no such module',
  ]);
});

test('cases of one name count one by one', () => {
  const result = { fullName: 'each case', status: 'passed' };
  const report = JSON.stringify({
    testResults: [{ name: 'a.test.ts', status: 'passed', assertionResults: [result, result] }],
  });
  expect(figuresOf(report)).toEqual({ failures: [], line: '2 passed, 0 failed', code: 0 });
});
