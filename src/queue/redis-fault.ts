/**
 * States of Redis that pass, by the words of its replies and of its connections. Work waits for their end; none of them is
 * a fault of wellsync.
 */
import { OutageError, WellsyncError } from '../core/base/errors.ts';

/** In the order in which they are looked for: a script's error repeats the words of its command. */
const states: ReadonlyArray<readonly [words: RegExp, state: string, hint: string]> = [
  [/\bOOM\b/, 'it has no memory left', 'Raise its maxmemory, or remove what others keep there.'],
  [/\bREADONLY\b/, 'it is a read-only replica', 'Set WELLSYNC_REDIS_URL to the primary, or wait for its failover.'],
  [/\bMISCONF\b/, 'it cannot save its data to disk', 'Look at the disk of Redis, and at its log.'],
  [/\bLOADING\b/, 'it is loading its data', 'It goes on by itself.'],
  [
    /\b(?:CLUSTERDOWN|MASTERDOWN|NOREPLICAS|TRYAGAIN|FAILOVER)\b/,
    'it has no primary',
    'See whether it is failing over.',
  ],
  [/\bBUSY\b/, 'it is busy with a script', 'It goes on by itself.'],
  [
    /\b(?:NOAUTH|WRONGPASS|NOPERM)\b|invalid password/i,
    'it does not let us in',
    'Check user and password in WELLSYNC_REDIS_URL.',
  ],
  [/\bEXECABORT\b/, 'it refused a transaction', 'See what its log says.'],
  [
    /\b(?:ECONN[A-Z]+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b|Connection is closed|Connection closed|timed out|max retries per request|isn't writeable/i,
    'it does not answer',
    'Start Redis there (redis-server, or docker compose up redis), or set WELLSYNC_REDIS_URL.',
  ],
];

/** The outage that an error of a call to Redis reports; undefined for any other error. */
export function redisOutage(error: unknown): OutageError | undefined {
  if (error instanceof OutageError && error.part === 'redis') return error;
  if (!(error instanceof Error) || error instanceof WellsyncError) return undefined;
  const words = `${'code' in error ? String(error.code) : ''} ${error.message}`;
  const found = states.find(([pattern]) => pattern.test(words));
  if (found === undefined) return undefined;
  const [, state, hint] = found;
  return new OutageError('redis', 'redis-outage', `Redis cannot be used: ${state}`, { hint, cause: error });
}

/** The same object, whose methods reject with an OutageError where a state of Redis made them fail. */
export function withOutages<T extends object>(part: T): T {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        try {
          return await (Reflect.apply(member, target, args) as unknown);
        } catch (error) {
          throw redisOutage(error) ?? error;
        }
      };
    },
  });
}
