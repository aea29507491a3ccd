import { EmptyListError } from '../../app/exports/csv-list.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { EmptyOption } from '../commands/empty-option.ts';

/** Ends with 0 where a list is empty and --allow-empty says that it may be. */
export async function unlessEmpty(
  { options, output }: Invocation<EmptyOption>,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EmptyListError) || options.allowEmpty === undefined) throw error;
    const { message } = error;
    if (output.json) await output.document({ state: 'nothing-to-do', message });
    else await output.print(`Nothing to do: ${message}.`);
    return exitCodes.done;
  }
}
