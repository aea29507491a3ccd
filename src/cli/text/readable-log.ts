/** Converts the log's JSON lines to sentences, for a command at a terminal. */
import type { DestinationStream } from 'pino';
import { z } from 'zod';
import { printable } from '../../core/base/text.ts';

const lineSchema = z.looseObject({
  level: z.string(),
  msg: z.string().default(''),
  because: z.string().optional(),
  message: z.string().optional(),
  target: z.string().optional(),
  err: z.looseObject({ message: z.string(), stack: z.string().optional() }).optional(),
});

/** Omits a sentence that repeats the previous one. */
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

/** `warn: 15/9-F-1 C: units are tried again: …`; an unknown error comes with its stack. */
function sentenceOf(line: string): string {
  const { level, msg, because, message, target, err } = lineSchema.parse(JSON.parse(line));
  const reason = because ?? message ?? err?.message;
  const sentence = [level, target, msg, reason]
    .filter((part) => part !== undefined && part !== '')
    .map((part) => printable(part ?? ''));
  const stack = level === 'error' && err?.stack !== undefined ? `\n${err.stack}` : '';
  return `${sentence.join(': ')}${stack}`;
}
