/** The log of a worker: sentences for an operator at a terminal, JSON lines for whatever collects them elsewhere. */
import type { Logger } from 'pino';
import type { LogLevel } from '../../../config/config-file.ts';
import type { Config } from '../../../config/schema.ts';
import { createLog } from '../../app/log.ts';
import type { Output } from '../output.ts';
import { createLogReader } from '../text/readable-log.ts';

export function createWorkerLog(config: Config, output: Output): Logger {
  const level = output.quiet ? quieter(config.logLevel) : config.logLevel;
  if (output.stderr.isTTY !== true) return createLog({ level, config });
  return createLog({ level, config, stream: createLogReader((text) => output.tell(`${timeText()} ${text}`)) });
}

/** With --quiet a worker logs what went wrong alone. */
function quieter(level: LogLevel): LogLevel {
  return level === 'error' ? level : 'warn';
}

/** `07:12:03Z` */
function timeText(): string {
  return `${new Date().toISOString().slice(11, 19)}Z`;
}
