/** Asks at a terminal, and only there. */
import { createInterface } from 'node:readline/promises';
import type { Readable } from 'node:stream';
import { AbortedError } from '../core/errors.ts';
import type { Output } from './output.ts';

/** Whether somebody sits there who can be asked. */
export function isAtTerminal(stdin: Readable & { readonly isTTY?: boolean }, output: Output): boolean {
  return stdin.isTTY === true && output.stderr.isTTY === true;
}

/** The answer, without the white space around it. Throws AbortedError on Ctrl-C and at the end of the input. */
export async function ask(question: string, stdin: Readable, output: Output): Promise<string> {
  const reader = createInterface({ input: stdin, output: output.stderr });
  const closed = new Promise<never>((_resolve, reject) => {
    reader.once('close', () => reject(new AbortedError('not answered: nothing was deleted')));
  });
  try {
    return (await Promise.race([reader.question(question), closed])).trim();
  } finally {
    reader.close();
    // A terminal that is still listened to would keep the command from ending.
    stdin.pause();
  }
}
