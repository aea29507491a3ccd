/**
 * States of Redis that pass, by the words of its replies and of its connections. Work waits for their end; none of them is
 * a fault of wellsync.
 */
import { OutageError, WellsyncError } from '../../core/base/errors.ts';
import { connectionStates, replyStates, type RedisState } from './fault-words.ts';

/** The outage that an error of a call to Redis reports; undefined for any other error. */
export function redisOutage(error: unknown): OutageError | undefined {
  if (error instanceof OutageError && error.part === 'redis') return error;
  if (!(error instanceof Error) || error instanceof WellsyncError) return undefined;
  const state = stateOf(error);
  return state === undefined ? undefined : outageOf(state, error);
}

/** As {@link redisOutage}, and for any other reply with an error too: a worker that gets one asks again without a pause. */
export function refusalByRedis(error: Error): OutageError | undefined {
  const known = redisOutage(error);
  if (known !== undefined || error.name !== 'ReplyError') return known;
  return outageOf({ state: `it answers ${shownMessage(error.message)}`, hint: 'See what its log says.' }, error);
}

function outageOf({ state, hint }: RedisState, cause: Error): OutageError {
  return new OutageError('redis', 'redis-outage', `Redis cannot be used: ${state}`, { hint, cause });
}

function stateOf(error: Error): RedisState | undefined {
  const words = wordsOf(error);
  return [...replyStates, ...connectionStates].find(({ pattern }) => pattern.test(words));
}

/** A cluster keeps the fault of the node that it asked last beside its own. */
function wordsOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  const inner = 'lastNodeError' in error && error.lastNodeError instanceof Error ? wordsOf(error.lastNodeError) : '';
  return `${inner} ${code} ${error.message}`;
}

/** Why no connection can be made, and what to do. No address and no secret is in it (G10). */
export function connectionFault(cause: unknown): { readonly reason: string; readonly hint: string } {
  const hint = 'Start Redis there (redis-server, or docker compose up redis), or set WELLSYNC_REDIS_URL.';
  if (!(cause instanceof Error)) return { reason: shownMessage(String(cause)), hint };
  const state = stateOf(cause);
  const words = wordsOf(cause);
  // At the start it is told more closely than in the middle of the work.
  if (/ECONNREFUSED/.test(words)) return { reason: 'nothing answers there', hint };
  if (/ENOTFOUND|EAI_AGAIN/.test(words)) return { reason: 'its host name is not known', hint };
  if (/ETIMEDOUT/.test(words)) {
    return {
      reason: 'it does not answer',
      hint: 'See whether a firewall lies between, and whether that port speaks TLS (rediss://) or not (redis://).',
    };
  }
  if (/ECONNRESET|socket hang up/.test(words)) {
    return {
      reason: 'it ends the connection',
      hint: 'Where it speaks TLS, write rediss://, and name a client certificate that it accepts by redis.tls.certFile.',
    };
  }
  return { reason: state?.state ?? shownMessage(cause.message), hint: state?.hint ?? hint };
}

/** Whether a failover may end it: a node answers, and the primary does not. */
export function mayPassSoon(cause: unknown): boolean {
  if (!(cause instanceof Error) || /All sentinels are unreachable|Failed to refresh slots cache/.test(cause.message)) {
    return false;
  }
  return /\b(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|CLUSTERDOWN|LOADING|READONLY|MASTERDOWN)\b|Connection is closed|timed out/.test(
    wordsOf(cause),
  );
}

/** A message may repeat the address: nothing before an @ is shown (G10). */
function shownMessage(message: string): string {
  return message.replaceAll(/\S*@/g, '').replaceAll(/\s+/g, ' ').slice(0, 200);
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
