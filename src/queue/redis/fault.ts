/**
 * States of Redis that pass, by the words of its replies and of its connections. Work waits for their end; none of them is
 * a fault of wellsync.
 */
import { OutageError, WellsyncError } from '../../core/base/errors.ts';

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

/** The words of Redis, of its client and of TLS for a Redis that cannot be used, in plain words with what to do. */
interface RedisState {
  /** Follows `Redis cannot be used:`. */
  readonly state: string;
  readonly hint: string;
}

type KnownState = RedisState & { readonly pattern: RegExp };

const rightsHint =
  'Give its user the rights that docs/redis.md section 2 writes out, with the prefix of wellsync: ACL LOG shows what was refused.';
const clusterHint =
  'Name some nodes of the cluster by redis.cluster.nodes: wellsync then keeps its keys on one primary.';

/** Replies, in the order in which they are looked for: a script's error repeats the words of its command. */
const replyStates: readonly KnownState[] = [
  {
    pattern: /\bOOM\b/,
    state: 'it has no memory left',
    hint: 'Raise its maxmemory, or remove what others keep there.',
  },
  {
    pattern: /\bNOREPLICAS\b/,
    state: 'no replica follows its primary closely enough (min-replicas-to-write)',
    hint: 'See whether its replicas are up and connected (INFO replication); after a failover it goes on by itself.',
  },
  {
    pattern: /\bREADONLY\b/,
    state: 'it is a read-only replica',
    hint: 'Set WELLSYNC_REDIS_URL to the primary, or wait for its failover.',
  },
  {
    pattern: /\bMISCONF\b/,
    state: 'it cannot save its data to disk',
    hint: 'Look at the disk of Redis, and at its log.',
  },
  { pattern: /\bLOADING\b/, state: 'it is loading its data', hint: 'It goes on by itself.' },
  {
    pattern: /\b(?:CROSSSLOT|MOVED|ASK)\b/,
    state: 'it is a node of a cluster, and is not used as one',
    hint: clusterHint,
  },
  {
    pattern: /cluster support disabled/,
    state: 'it is no cluster',
    hint: 'Name it by redis.url in place of redis.cluster.',
  },
  {
    pattern: /\b(?:CLUSTERDOWN|MASTERDOWN|TRYAGAIN|FAILOVER|UNBLOCKED)\b|Too many Cluster redirections/,
    state: 'it has no primary',
    hint: 'See whether it is failing over.',
  },
  { pattern: /\bBUSY\b/, state: 'it is busy with a script', hint: 'It goes on by itself.' },
  {
    pattern: /\bNOAUTH\b/,
    state: 'it does not let us in: it asks for a password',
    hint: 'Name it by redis.passwordFile (WELLSYNC_REDIS_PASSWORD_FILE).',
  },
  {
    pattern: /\bWRONGPASS\b|invalid (?:username-)?password/i,
    state: 'it does not let us in: user or password is wrong, or the user is disabled',
    hint: 'Check the user in WELLSYNC_REDIS_URL (or redis.username) and the password file.',
  },
  { pattern: /\bNOPERM\b/, state: 'its user may not do what wellsync does', hint: rightsHint },
  { pattern: /\bEXECABORT\b/, state: 'it refused a transaction', hint: 'See what its log says.' },
];

/** Faults of connections; those of TLS by the codes of Node and OpenSSL. */
const connectionStates: readonly KnownState[] = [
  {
    pattern: /\bERR_TLS_CERT_ALTNAME_INVALID\b/,
    state: 'its certificate is for another name than its address',
    hint: 'Write the address as the certificate names it, or have it certified for that name or IP address.',
  },
  {
    pattern:
      /\b(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?)\b/,
    state: 'its certificate is of an authority that is not trusted',
    hint: 'Name the certificate of the private authority by redis.tls.caFile.',
  },
  {
    pattern: /\b(?:CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)\b/,
    state: 'its certificate has expired, or is not valid yet',
    hint: 'Renew the certificate of Redis, and see whether the clock of this host is right.',
  },
  {
    pattern: /ALERT_CERTIFICATE_REQUIRED|alert certificate required|ALERT_HANDSHAKE_FAILURE|alert handshake failure/i,
    state: 'it asks for a client certificate',
    hint: 'Name it by redis.tls.certFile, and its key by redis.tls.keyFile.',
  },
  {
    pattern:
      /ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(?:EXPIRED|UNKNOWN|REVOKED))|alert (?:unknown ca|bad certificate)/i,
    state: 'it does not accept our client certificate',
    hint: 'Have the certificate of redis.tls.certFile signed by the authority that Redis trusts, and see whether it has expired.',
  },
  {
    pattern: /WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG/i,
    state: 'it does not speak TLS there',
    hint: 'Write redis:// in place of rediss:// (or leave redis.tls out), or the port on which it speaks TLS.',
  },
  {
    pattern: /All sentinels are unreachable|None of startup nodes is available|Failed to refresh slots cache/,
    state: 'none of its nodes answers, or none of them knows a primary',
    hint: 'See whether the nodes in the configuration are up, and which primary they name.',
  },
  {
    pattern:
      /\b(?:ECONN[A-Z]+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b|Connection is closed|Connection closed|timed out|Socket timeout|max retries per request|isn't (?:writeable|ready)|Cluster isn't ready/i,
    state: 'it does not answer',
    hint: 'Start Redis there (redis-server, or docker compose up redis), or set WELLSYNC_REDIS_URL.',
  },
];
