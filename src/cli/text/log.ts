/**
 * The log of a command: sentences for an operator at a terminal, JSON lines for whatever collects them elsewhere.
 */
import type { DestinationStream, Logger } from 'pino';
import { z } from 'zod';
import type { LogLevel } from '../../../config/config-file.ts';
import type { Config } from '../../../config/schema.ts';
import { createLog } from '../../app/log.ts';
import { causeOf } from '../../app/runs/run-document.ts';
import { printable } from '../../core/base/text.ts';
import type { Output } from '../output.ts';

export function createWorkerLog(config: Config, output: Output): Logger {
  const level = output.quiet ? quieter(config.logLevel) : config.logLevel;
  if (output.stderr.isTTY !== true) return createLog({ level, config });
  return createLog({ level, config, stream: createLogReader((text) => output.writeError(`${timeText()} ${text}`)) });
}

/** With --quiet a worker logs what went wrong alone. */
function quieter(level: LogLevel): LogLevel {
  return level === 'error' ? level : 'warn';
}

/** `07:12:03Z` */
function timeText(): string {
  return `${new Date().toISOString().slice(11, 19)}Z`;
}

const lineSchema = z.looseObject({
  level: z.string(),
  msg: z.string().default(''),
  because: z.string().optional(),
  message: z.string().optional(),
  target: z.string().optional(),
  err: z.looseObject({ message: z.string(), stack: z.string().optional() }).optional(),
});

/** Lines of targets that say the same but for the target: the report counts all of them. */
const mostAlike = 3;

/** Converts the log's JSON lines to sentences. Omits a sentence that repeats the previous one, and what befell more than a few targets alike. */
export function createLogReader(say: (text: string) => void): DestinationStream {
  let last = '';
  const alike = new Map<string, number>();
  return {
    write(line) {
      const { text, kind } = sentenceOf(line);
      if (text === last) return;
      last = text;
      const count = kind === undefined ? 0 : (alike.get(kind) ?? 0) + 1;
      if (kind !== undefined) alike.set(kind, count);
      if (count <= mostAlike) say(text);
      else if (count === mostAlike + 1) say('The same of others is left out: the report counts all.');
    },
  };
}

/**
 * `warn: 15/9-F-1 C: tried again: …`; an unknown error comes with its stack. `kind`: what a line of a target says without
 * it.
 */
function sentenceOf(line: string): { readonly text: string; readonly kind: string | undefined } {
  const { level, msg, because, message, target, err } = lineSchema.parse(JSON.parse(line));
  const reason = because ?? message ?? err?.message ?? '';
  const text = (...parts: readonly (string | undefined)[]): string =>
    parts
      .filter((part) => part !== undefined && part !== '')
      .map((part) => printable(part ?? ''))
      .join(': ');
  const stack = level === 'error' && err?.stack !== undefined ? `\n${err.stack}` : '';
  const kind = target === undefined ? undefined : text(level, msg, causeOf({ target, message: reason }));
  return { text: `${text(level, target, msg, reason)}${stack}`, kind };
}
