/**
 * The operator of a command: the name, and questions, asked only at a terminal. What is lost for good is confirmed by its
 * number, typed there, or by a flag where nobody can be asked (G4, G6).
 */
import { hostname, userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { UsageError } from '../../core/base/errors.ts';
import type { Output } from '../output.ts';

/** Where an operator is asked. */
interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly output: Output;
}

/** The operator of this command, for the ledger: `user@host`. */
export function operatorName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A container may run under a user id without a name.
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}

/** Whether an operator at a terminal can answer. */
export function isAtTerminal({ stdin, output }: Terminal): boolean {
  return stdin.isTTY === true && output.stderr.isTTY === true;
}

/** Asks the operator; undefined where nobody can answer. */
export function questionAt(terminal: Terminal): ((question: string) => Promise<string | undefined>) | undefined {
  return isAtTerminal(terminal) ? (question) => ask(question, terminal) : undefined;
}

/** The answer, trimmed; undefined on Ctrl-C and at the end of the input. */
async function ask(question: string, { stdin, output }: Terminal): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: output.stderr });
  const closed = new Promise<undefined>((resolve) => {
    reader.once('close', () => resolve(undefined));
  });
  try {
    const answer = await Promise.race([reader.question(question), closed]);
    // Ends the line of the question before the next message.
    if (answer === undefined) output.writeError('');
    return answer?.trim();
  } finally {
    reader.close();
    // A stream that is still read would keep the command from ending.
    stdin.pause();
  }
}

export const deletionQuestion = 'Type the number of targets to delete: ';

/** Why nothing is done: the number was not typed, or another one was (`whole`). Undefined where the operator typed it. */
export async function refusalOfTyped(
  question: string,
  { number, whole }: { readonly number: number; readonly whole: string },
  terminal: Terminal,
): Promise<string | undefined> {
  const answer = await ask(question, terminal);
  if (answer?.replaceAll(',', '') === String(number)) return undefined;
  return answer === undefined ? 'not answered' : `not confirmed: ${whole}`;
}

/**
 * Nobody can be asked here, so only a flag confirms. `what` it does, and what was not done; `shownBy`: the command that shows
 * what would be lost.
 */
export function unconfirmed(what: string, undone: string, shownBy?: string): UsageError {
  const advice =
    shownBy === undefined
      ? ({ action: { kind: 'confirm-unattended' } } as const)
      : { hint: `Give --yes, after a look with: ${shownBy}` };
  return new UsageError(`this ${what}, and nobody can be asked here: ${undone}`, advice);
}
