/** Owns the log: JSON lines by pino on standard error, free of the secrets of the configuration (G10). */
import { pino, type DestinationStream, type Logger } from 'pino';
import type { Config } from '../../config/schema.ts';

export type LogLevel = Config['logLevel'];

const secretKeys = ['token', 'clientSecret', 'passphrase', 'authorization', 'password', 'headers.authorization'];

/** Synchronous where no stream is given: the last lines before a crash are those that matter. */
export function createLog(options: {
  readonly level: LogLevel;
  readonly config: Config;
  readonly stream?: DestinationStream;
}): Logger {
  const secrets = secretsOf(options.config);
  return pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '[secret]' },
      hooks: { streamWrite: (line) => without(line, secrets) },
    },
    options.stream ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** Whatever message of whatever library a secret gets into, this takes it out again. */
function without(line: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, '[secret]'), line);
}

/** As they would stand in a line of JSON. */
function secretsOf(config: Config): readonly string[] {
  const { password } = new URL(config.redis.url);
  const { token, oauth, tls } = config.service;
  const found = [token, oauth?.clientSecret, tls?.passphrase, password, decodeURIComponent(password)];
  return [...new Set(found)]
    .filter((secret) => secret !== undefined && secret !== '')
    .map((secret) => JSON.stringify(secret).slice(1, -1));
}
