import { UsageError } from '../../core/base/errors.ts';
import type { Invocation } from '../commands/command-line.ts';
import { ask } from '../process/question.ts';

/** Why nothing is deleted: the number was not typed, or another one was. Undefined where the operator typed `targets`. */
export async function refusalOfTyped(
  targets: number,
  whole: string,
  { output, stdin }: Pick<Invocation<unknown>, 'output' | 'stdin'>,
): Promise<string | undefined> {
  const answer = await ask('Type the number of targets to delete: ', stdin, output);
  if (answer?.replaceAll(',', '') === String(targets)) return undefined;
  return answer === undefined ? 'not answered' : `not confirmed: ${whole}`;
}

/** Nobody can be asked here, so only a flag confirms. `look`: the command that shows what would be deleted. */
export function unconfirmed(what: string, look?: string): UsageError {
  const advice =
    look === undefined
      ? ({ action: { kind: 'confirm-unattended' } } as const)
      : { hint: `Give --yes, after a look with: ${look}` };
  return new UsageError(`this deletes ${what}, and nobody can be asked here: nothing was deleted`, advice);
}
