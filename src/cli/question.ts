/** Asks at a terminal, and only there. */
import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import type { Output } from './output.ts';

/** Whether somebody sits there who can be asked. */
export function isAtTerminal(stdin: Readable & { readonly isTTY?: boolean }, output: Output): boolean {
  return stdin.isTTY === true && output.stderr.isTTY === true;
}

/** The answer, without the white space around it; undefined on Ctrl-C and at the end of the input. */
export async function ask(question: string, stdin: Readable, output: Output): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: output.stderr });
  const closed = new Promise<undefined>((resolve) => {
    reader.once('close', () => resolve(undefined));
  });
  try {
    const answer = await Promise.race([reader.question(question), closed]);
    // What is said next must not stand on the line of the question.
    if (answer === undefined) output.say('');
    return answer?.trim();
  } finally {
    reader.close();
    // A terminal that is still listened to would keep the command from ending.
    stdin.pause();
  }
}
