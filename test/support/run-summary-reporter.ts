/**
 * Prints each failed test at once, so that a run that is interrupted has named it; at the end the slowest files, the
 * slowest tests, every skipped test with its reason, and the errors that came from no test: a run with one has failed.
 */
import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node';

const slowestCount = 15;

interface Timed {
  readonly name: string;
  readonly durationMs: number;
}

export class RunSummaryReporter implements Reporter {
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    if (state === 'failed') console.log(`\nfailed: ${nameOf(test)}\n  ${errors[0]?.message ?? 'no error is given'}`);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    printSection('slowest files', slowest(modules.map(timeOfFile)).map(timeLine));
    printSection('slowest tests', slowest(tests.map(timeOfTest)).map(timeLine));
    printSection('skipped', this.#skippedLines(tests));
    printSection(
      'failed: errors outside of the tests',
      errors.map(({ message, stack }) => stack ?? message),
    );
  }

  /** With --testNamePattern every other test counts as skipped, without a reason: those are omitted. */
  #skippedLines(tests: readonly TestCase[]): readonly string[] {
    return tests
      .filter((test) => test.result().state === 'skipped')
      .map((test) => ({ name: nameOf(test), reason: reasonOf(test) }))
      .filter(({ reason }) => !this.#isFiltered || reason !== undefined)
      .map(({ name, reason = 'no reason is given' }) => `${name}: ${reason}`);
  }
}

function printSection(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title}:\n${lines.map((line) => `  ${line}`).join('\n')}`);
}

function slowest(timed: readonly Timed[]): readonly Timed[] {
  return timed.toSorted((left, right) => right.durationMs - left.durationMs).slice(0, slowestCount);
}

function timeLine({ name, durationMs }: Timed): string {
  return `${(durationMs / 1000).toFixed(1).padStart(6)} s  ${name}`;
}

/** Including imports and hooks: the time during which a worker was busy. */
function timeOfFile(module: TestModule): Timed {
  const { duration, setupDuration, collectDuration, prepareDuration } = module.diagnostic();
  return {
    name: module.relativeModuleId,
    durationMs: duration + setupDuration + collectDuration + prepareDuration,
  };
}

function timeOfTest(test: TestCase): Timed {
  return { name: nameOf(test), durationMs: test.diagnostic()?.duration ?? 0 };
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}

function reasonOf(test: TestCase): string | undefined {
  const result = test.result();
  return result.state === 'skipped' ? result.note : undefined;
}
