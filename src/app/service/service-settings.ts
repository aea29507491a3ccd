/** The configuration of the service, as its client and the queues take it. */
import type { Config } from '../../../config/schema.ts';
import { UsageError } from '../../core/base/errors.ts';
import { Secrets } from '../../core/base/secrets.ts';
import { serviceIdentity, type ServiceIdentity } from '../../core/base/service-key.ts';
import type { QueueAddress } from '../../queue/redis/queue-names.ts';
import type { RedisLocation } from '../../queue/redis/settings.ts';
import { type SecretSettings, shownBaseUrl, type TlsSettings, type TokenSettings } from '../../service/settings.ts';

export function tokenOf({ service: { token, tokenFile, oauth } }: Config): TokenSettings {
  if (oauth === undefined) return secretOf(token, tokenFile) ?? { kind: 'none' };
  // The schema requires one of the two.
  const { clientSecret, clientSecretFile = '', ...credentials } = oauth;
  return { kind: 'client-credentials', ...credentials, clientSecret: secretOf(clientSecret, clientSecretFile) };
}

/** TLS settings of connections to the service, if the configuration has any. */
export function tlsOf({ service: { tls } }: Config): TlsSettings | undefined {
  if (tls === undefined) return undefined;
  const { passphrase, passphraseFile, ...files } = tls;
  return { ...files, passphrase: secretOf(passphrase, passphraseFile) };
}

/** The schema allows at most one of them. */
function secretOf(value: string | undefined, path: string): SecretSettings;
function secretOf(value: string | undefined, path: string | undefined): SecretSettings | undefined;
function secretOf(value: string | undefined, path: string | undefined): SecretSettings | undefined {
  if (value !== undefined) return { kind: 'value', value };
  return path === undefined ? undefined : { kind: 'file', path };
}

/** The service of the configuration as pages name it; undefined where none is configured. */
export function shownServiceOf({ service: { id, url } }: Config): string | undefined {
  return id ?? (url === undefined ? undefined : shownBaseUrl(url));
}

/** Throws UsageError if no address is configured. */
export function serviceIdentityOf(config: Config): ServiceIdentity {
  const identity = serviceIdentity(serviceUrlOf(config), config.service.id);
  // The schema has checked the address already.
  if (identity === undefined) throw new UsageError('the address of the service is not an http or https address');
  return identity;
}

const defaultPrefix = 'wellsync';

/** Where the keys of this installation are. Throws UsageError for an embedded queue, which has none. */
export function redisLocationOf({ redis, queue: { prefix } }: Config): RedisLocation {
  if (redis === undefined) throw new UsageError('no Redis is configured: the queue is embedded in the working process');
  return { redis, prefix: prefix ?? defaultPrefix };
}

export function queueAddressOf(config: Config): QueueAddress {
  return { ...redisLocationOf(config), service: serviceIdentityOf(config).key };
}

/** Throws UsageError if no address is configured. */
export function serviceUrlOf(config: Config): string {
  if (config.service.url !== undefined) return config.service.url;
  throw new UsageError('the address of the service is not set', {
    action: { kind: 'set-setting', setting: 'service.url' },
  });
}

/** The secrets of this process: the client adds what it reads from files and fetches, and the log shows none of them. */
export const knownSecrets = new Secrets();
