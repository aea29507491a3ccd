/** Colour for the words of a state, at a terminal: each word says the same without it. Pure. */
import { styleText } from 'node:util';

type Colour = 'green' | 'red' | 'yellow';

const colours: Readonly<Record<string, Colour>> = {
  done: 'green',
  ok: 'green',
  failed: 'red',
  cancelled: 'yellow',
  warning: 'yellow',
};

/** A state as a cell of a table, or as the first word of a line that goes on with a sentence. */
const states = /(?<=^| {2})(?:done|ok|failed|cancelled|warning)(?= {2}|$)|^(?:Done|Failed|Cancelled)(?=[:,. ])/gm;

export function withColour(text: string): string {
  return text.replaceAll(states, (word) => {
    const colour = colours[word.toLowerCase()];
    return colour === undefined ? word : styleText(colour, word, { validateStream: false });
  });
}
