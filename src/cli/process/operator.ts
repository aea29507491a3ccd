/**
 * The operator of a command: the name, and questions, asked only at a terminal. What is lost for good is confirmed by its
 * number, typed there, or by a flag where nobody can be asked (G4, G6).
 */
import { hostname, userInfo } from 'node:os';
import { createInterface, type Interface } from 'node:readline';
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

/** Questions that follow each other: what was typed ahead answers the next one. */
export class Questions implements Disposable {
  readonly #terminal: Terminal;
  readonly #reader: Interface;
  readonly #lines: AsyncIterator<string>;
  #isClosed = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#reader = createInterface({ input: terminal.stdin, output: terminal.output.stderr });
    this.#lines = this.#reader[Symbol.asyncIterator]();
    this.#reader.once('close', () => (this.#isClosed = true));
  }

  /** The answer, trimmed; undefined on Ctrl-C and at the end of the input. */
  async ask(question: string): Promise<string | undefined> {
    // The input may have ended: what was typed ahead still answers, and Node 24 prompts no more.
    if (this.#isClosed) {
      this.#terminal.output.stderr.write(question);
    } else {
      this.#reader.setPrompt(question);
      this.#reader.prompt();
    }
    const line = await this.#lines.next();
    if (line.done !== true) return line.value.trim();
    // Ends the line of the question before the next message.
    this.#terminal.output.writeError('');
    return undefined;
  }

  [Symbol.dispose](): void {
    this.#reader.close();
    // A stream that is still read would keep the command from ending.
    this.#terminal.stdin.pause();
  }
}

async function ask(question: string, terminal: Terminal): Promise<string | undefined> {
  using questions = new Questions(terminal);
  return await questions.ask(question);
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
