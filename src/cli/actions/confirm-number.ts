/** What is lost for good is confirmed by its number, typed at a terminal, or by a flag where nobody can be asked (G4, G6). */
import { UsageError } from '../../core/base/errors.ts';
import type { Invocation } from '../commands/command-line.ts';
import { ask } from '../process/question.ts';

/** Why nothing is done: the number was not typed, or another one was (`whole`). Undefined where the operator typed it. */
export async function refusalOfTyped(
  question: string,
  { number, whole }: { readonly number: number; readonly whole: string },
  { output, stdin }: Pick<Invocation<unknown>, 'output' | 'stdin'>,
): Promise<string | undefined> {
  const answer = await ask(question, stdin, output);
  if (answer?.replaceAll(',', '') === String(number)) return undefined;
  return answer === undefined ? 'not answered' : `not confirmed: ${whole}`;
}

export const deletionQuestion = 'Type the number of targets to delete: ';

/**
 * Nobody can be asked here, so only a flag confirms. `what` it does, and what was not done; `look`: the command that shows
 * what would be lost.
 */
export function unconfirmed(what: string, undone: string, look?: string): UsageError {
  const advice =
    look === undefined
      ? ({ action: { kind: 'confirm-unattended' } } as const)
      : { hint: `Give --yes, after a look with: ${look}` };
  return new UsageError(`this ${what}, and nobody can be asked here: ${undone}`, advice);
}
