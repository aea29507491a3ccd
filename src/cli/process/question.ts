/** Questions to the operator, asked only at a terminal. */
import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import type { Output } from '../output.ts';

/** Whether an operator at a terminal can answer. */
export function isAtTerminal(stdin: Readable & { readonly isTTY?: boolean }, output: Output): boolean {
  return stdin.isTTY === true && output.stderr.isTTY === true;
}

/** The answer, trimmed; undefined on Ctrl-C and at the end of the input. */
export async function ask(question: string, stdin: Readable, output: Output): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: output.stderr });
  const closed = new Promise<undefined>((resolve) => {
    reader.once('close', () => resolve(undefined));
  });
  try {
    const answer = await Promise.race([reader.question(question), closed]);
    // Ends the line of the question before the next message.
    if (answer === undefined) output.tell('');
    return answer?.trim();
  } finally {
    reader.close();
    // A stream that is still read would keep the command from ending.
    stdin.pause();
  }
}
