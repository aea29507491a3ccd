import type { Invocation } from '../commands/command-line.ts';
import { memoryBudget } from '../../core/base/memory-budget.ts';
import type { ExitCode } from '../../core/run/exit-code.ts';
import { runLimited } from '../process/limited-process.ts';
import { configOf } from './config.ts';

/**
 * Runs the command in a process with the limits of worker.memoryMb. Throws UsageError for a faulty configuration first.
 */
export async function carryOutLimited(
  args: readonly string[],
  call: Pick<Invocation<unknown>, 'environment' | 'options'>,
): Promise<ExitCode> {
  const { memoryMb } = configOf(call).worker;
  return runLimited(args, memoryBudget(memoryMb), memoryMb);
}
