/** The log: JSON lines by pino on standard error, without the secrets that the process uses (G10). */
import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../../config/config-file.ts';
import type { Config } from '../../config/schema.ts';
import { knownSecrets } from './service/service-settings.ts';
import { recordLogLine } from './runs/run-log.ts';

const secretKeys = ['token', 'clientSecret', 'passphrase', 'authorization', 'password', 'headers.authorization'];

/** Synchronous unless a stream is given: the last lines before a crash matter most. */
export function createLog(options: {
  readonly level: LogLevel;
  readonly config: Config;
  readonly stream?: DestinationStream;
}): Logger {
  for (const secret of secretsOf(options.config)) knownSecrets.add(secret);
  return pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '[hidden]' },
      hooks: {
        streamWrite: (line) => {
          const shown = knownSecrets.hideIn(line);
          recordLogLine(shown);
          return shown;
        },
      },
    },
    options.stream ?? standardError(),
  );
}

/** Lines that a full disk keeps waiting are written when there is room; more of them are dropped. */
const maxWaitingBytes = 1_000_000;

/** A log that cannot be written must not end the work. */
function standardError(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: true, maxLength: maxWaitingBytes });
  stream.on('error', () => {});
  return stream;
}

function secretsOf(config: Config): ReadonlyArray<string | undefined> {
  const { token, oauth, tls } = config.service;
  const { url, heartbeatUrl } = config.alerts;
  return [url, heartbeatUrl, token, oauth?.clientSecret, tls?.passphrase, ...redisSecretsOf(config)];
}

function redisSecretsOf({ redis }: Config): ReadonlyArray<string | undefined> {
  if (redis === undefined) return [];
  const passphrase = redis.tls?.passphrase;
  if ('cluster' in redis) return [redis.password, passphrase];
  if ('sentinel' in redis) return [redis.password, redis.sentinel.password, passphrase];
  const { password } = new URL(redis.url);
  return [password, decodeURIComponent(password), passphrase];
}
