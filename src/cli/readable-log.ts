/** Turns the log's JSON lines into sentences, for a command whose log goes to a person at a terminal. */
import type { DestinationStream } from 'pino';
import { z } from 'zod';
import { printable } from './words.ts';

const lineSchema = z.looseObject({
  level: z.string(),
  msg: z.string().default(''),
  because: z.string().optional(),
  message: z.string().optional(),
  target: z.string().optional(),
  err: z.looseObject({ message: z.string(), stack: z.string().optional() }).optional(),
});

/** A sentence that was just said is not said again. */
export function createLogReader(say: (text: string) => void): DestinationStream {
  let last = '';
  return {
    write(line) {
      const text = sentenceOf(line);
      if (text !== last) say(text);
      last = text;
    },
  };
}

/** `warn: 15/9-F-1 C: units are tried again: …`; an error that nobody foresaw comes with its stack. */
function sentenceOf(line: string): string {
  const { level, msg, because, message, target, err } = lineSchema.parse(JSON.parse(line));
  const reason = because ?? message ?? err?.message;
  const sentence = [level, target, msg, reason]
    .filter((part) => part !== undefined && part !== '')
    .map((part) => printable(part ?? ''));
  const stack = level === 'error' && err?.stack !== undefined ? `\n${err.stack}` : '';
  return `${sentence.join(': ')}${stack}`;
}
