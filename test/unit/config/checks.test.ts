/** Settings of checks: those that make no sense are wrong use, with their line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { wellChecksOf } from '../../../src/app/job-settings.ts';
import { UsageError } from '../../../src/core/base/errors.ts';

function loaded(yaml: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'wellsync-checks-'));
  try {
    const file = path.join(folder, 'w.yaml');
    writeFileSync(file, `service: { url: "https://pds.example.com" }\nchecks:\n${yaml}\n`);
    return loadConfig({ environment: {}, file });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function faultsOf(yaml: string): readonly string[] {
  try {
    loaded(yaml);
    return [];
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.issues.map((issue) => issue.replace(/\(\S*w\.yaml, /, '('));
  }
}

test.each([
  ['  off: [jumps]', 'checks.off.0 (line 3): must be a check: '],
  ['  severity:\n    jmp: info', 'checks.severity.jmp (line 4): is not a setting of wellsync'],
  ['  severity: { jump: fatal }', 'checks.severity.jump (line 3): must be one of error, warning, info'],
  ['  partialFromHours: 24', 'checks.partialFromHours (line 3): must be above fullFlowHours (1) and below 24'],
  ['  fullFlowHours: 6\n  partialFromHours: 6', 'checks.partialFromHours (line 4): must be above fullFlowHours (6)'],
  ['  leastPressure: 5', 'checks.leastPressure (line 3): must be 0 or less'],
  [`  unitFactors: [${'2, '.repeat(21)}]`, 'checks.unitFactors (line 3): must have 20 or fewer'],
  ['  repeatDays: 31', 'checks.repeatDays (line 3): must be 30 or less'],
  ['  repeatDays: 1', 'checks.repeatDays (line 3): must be 2 or more'],
  ['  medianDays: 4\n  fewestDays: 5', 'checks.medianDays (line 3): must be fewestDays (5) or more'],
  ['  unitFactors: [6.29, 1.01]', 'checks.unitFactors.1 (line 3): must be 0.5 or less, or 2 or more'],
  ['  unitFactors: [.inf]', 'checks.unitFactors.0 (line 3): '],
  ['  jumpPercnt: 5', 'checks.jumpPercnt (line 3): is not a setting of wellsync: did you mean checks.jumpPercent?'],
  ['  hoursTolerance: "1"', 'checks.hoursTolerance (line 3): must be a number'],
])('%s', (yaml, fault) => {
  const [first = '', ...others] = faultsOf(yaml);
  expect(first.startsWith(fault), first).toBe(true);
  expect(others).toEqual([]);
});

test('a check that is off is not made, and without one nothing is checked', () => {
  expect(wellChecksOf(loaded('  off: [jump]'))?.settings.names).not.toContain('jump');
  expect(wellChecksOf(loaded('  enabled: false'))).toBeUndefined();
});
