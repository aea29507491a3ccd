/** Names every skipped test with its reason at the end of a run: a test that does not run must not go unseen. */
import type { Reporter, TestCase, TestModule } from 'vitest/node';

function lineOf(testCase: TestCase): string {
  const result = testCase.result();
  const reason = (result.state === 'skipped' && result.note) || 'no reason is given';
  return `  ${testCase.fullName}: ${reason}`;
}

export class SkippedReporter implements Reporter {
  onTestRunEnd(testModules: readonly TestModule[]): void {
    const lines = testModules.flatMap((module) => [...module.children.allTests('skipped')].map(lineOf));
    if (lines.length > 0) console.log(`\nskipped:\n${lines.join('\n')}`);
  }
}
