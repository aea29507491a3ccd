/** The words of Redis, of its client and of TLS for a Redis that cannot be used, in plain words with what to do. */

export interface RedisState {
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
export const replyStates: readonly KnownState[] = [
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
export const connectionStates: readonly KnownState[] = [
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
