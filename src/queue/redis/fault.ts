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

function stateOf(error: Error, states = knownStates): RedisState | undefined {
  const text = textOf(error);
  const found = states.find(([pattern]) => pattern.test(text));
  return found && { state: found[1], hint: found[2] };
}

/** A cluster keeps the fault of the node that it asked last beside its own. */
function textOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  const inner = 'lastNodeError' in error && error.lastNodeError instanceof Error ? textOf(error.lastNodeError) : '';
  return `${inner} ${code} ${error.message}`;
}

/** Why no connection can be made, and what to do. No address and no secret is in it (G10). */
export function connectionFault(cause: unknown): RedisState {
  const shown = { state: shownMessage(cause instanceof Error ? cause.message : String(cause)), hint: startHint };
  return (cause instanceof Error && stateOf(cause, [...startStates, ...knownStates])) || shown;
}

/** Whether a failover may end it: a node answers, and the primary does not. */
export function mayPassSoon(cause: unknown): boolean {
  if (!(cause instanceof Error) || /All sentinels are unreachable|Failed to refresh slots cache/.test(cause.message)) {
    return false;
  }
  return /\b(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|CLUSTERDOWN|LOADING|READONLY|MASTERDOWN)\b|Connection is closed|timed out/.test(
    textOf(cause),
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

type KnownState = readonly [pattern: RegExp, state: string, hint: string];

const startHint = 'Start Redis there (redis-server, or docker compose up redis), or set WELLSYNC_REDIS_URL.';

const rightsHint =
  'Give its user the rights that docs/redis.md section 2 writes out, with the prefix of wellsync: ACL LOG shows what was refused.';
const clusterHint =
  'Name some nodes of the cluster by redis.cluster.nodes: wellsync then keeps its keys on one primary.';

/** At the start a fault of the connection is told more closely than in the middle of the work. */
const startStates: readonly KnownState[] = [
  [/ECONNREFUSED/, 'nothing answers there', startHint],
  [/ENOTFOUND|EAI_AGAIN/, 'its host name is not known', startHint],
  [
    /ETIMEDOUT/,
    'it does not answer',
    'See whether a firewall lies between, and whether that port speaks TLS (rediss://) or not (redis://).',
  ],
  [
    /ECONNRESET|socket hang up/,
    'it ends the connection',
    'Where it speaks TLS, write rediss://, and name a client certificate that it accepts by redis.tls.certFile.',
  ],
];

/** Replies first, in the order in which they are looked for: a script's error repeats the text of its command. */
const knownStates: readonly KnownState[] = [
  [/\bOOM\b/, 'it has no memory left', 'Raise its maxmemory, or remove what others keep there.'],
  [
    /\bNOREPLICAS\b/,
    'no replica follows its primary closely enough (min-replicas-to-write)',
    'See whether its replicas are up and connected (INFO replication); after a failover it goes on by itself.',
  ],
  [/\bREADONLY\b/, 'it is a read-only replica', 'Set WELLSYNC_REDIS_URL to the primary, or wait for its failover.'],
  [/\bMISCONF\b/, 'it cannot save its data to disk', 'Look at the disk of Redis, and at its log.'],
  [/\bLOADING\b/, 'it is loading its data', 'It goes on by itself.'],
  [/\b(?:CROSSSLOT|MOVED|ASK)\b/, 'it is a node of a cluster, and is not used as one', clusterHint],
  [/cluster support disabled/, 'it is no cluster', 'Name it by redis.url in place of redis.cluster.'],
  [
    /\b(?:CLUSTERDOWN|MASTERDOWN|TRYAGAIN|FAILOVER|UNBLOCKED)\b|Too many Cluster redirections/,
    'it has no primary',
    'See whether it is failing over.',
  ],
  [/\bBUSY\b/, 'it is busy with a script', 'It goes on by itself.'],
  [
    /\bNOAUTH\b/,
    'it does not let us in: it asks for a password',
    'Name it by redis.passwordFile (WELLSYNC_REDIS_PASSWORD_FILE).',
  ],
  [
    /\bWRONGPASS\b|invalid (?:username-)?password/i,
    'it does not let us in: user or password is wrong, or the user is disabled',
    'Check the user in WELLSYNC_REDIS_URL (or redis.username) and the password file.',
  ],
  [/\bNOPERM\b/, 'its user may not do what wellsync does', rightsHint],
  [/\bEXECABORT\b/, 'it refused a transaction', 'See what its log says.'],

  // Faults of connections; those of TLS by the codes of Node and OpenSSL.
  [
    /\bERR_TLS_CERT_ALTNAME_INVALID\b/,
    'its certificate is for another name than its address',
    'Write the address as the certificate names it, or have it certified for that name or IP address.',
  ],
  [
    /\b(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?)\b/,
    'its certificate is of an authority that is not trusted',
    'Name the certificate of the private authority by redis.tls.caFile.',
  ],
  [
    /\b(?:CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)\b/,
    'its certificate has expired, or is not valid yet',
    'Renew the certificate of Redis, and see whether the clock of this host is right.',
  ],
  [
    /ALERT_CERTIFICATE_REQUIRED|alert certificate required|ALERT_HANDSHAKE_FAILURE|alert handshake failure/i,
    'it asks for a client certificate',
    'Name it by redis.tls.certFile, and its key by redis.tls.keyFile.',
  ],
  [
    /ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_(?:EXPIRED|UNKNOWN|REVOKED))|alert (?:unknown ca|bad certificate)/i,
    'it does not accept our client certificate',
    'Have the certificate of redis.tls.certFile signed by the authority that Redis trusts, and see whether it has expired.',
  ],
  [
    /WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG/i,
    'it does not speak TLS there',
    'Write redis:// in place of rediss:// (or leave redis.tls out), or the port on which it speaks TLS.',
  ],
  [
    /All sentinels are unreachable|None of startup nodes is available|Failed to refresh slots cache/,
    'none of its nodes answers, or none of them knows a primary',
    'See whether the nodes in the configuration are up, and which primary they name.',
  ],
  [
    /\b(?:ECONN[A-Z]+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b|Connection is closed|Connection closed|timed out|Socket timeout|max retries per request|isn't (?:writeable|ready)|Cluster isn't ready/i,
    'it does not answer',
    startHint,
  ],
];
