/** TLS connections with private authorities and a client certificate, read from their files when first needed. */
import { createSecureContext, rootCertificates } from 'node:tls';
import { buildConnector } from 'undici';
import { AccessError } from '../core/base/errors.ts';
import { Secrets } from '../core/base/secrets.ts';
import { readAccessFile, readSecret } from './secret.ts';
import type { TlsSettings } from './settings.ts';

/**
 * The `connect` option of undici. An unusable file fails the request with AccessError, and is read again at the next
 * request.
 */
export function connectorFor(
  timeoutMs: number,
  tls: TlsSettings | undefined,
  secrets: Secrets,
): buildConnector.BuildOptions | buildConnector.connector {
  if (tls === undefined) return { timeout: timeoutMs };
  let made: Promise<buildConnector.connector> | undefined;
  return (options, settle) => {
    made ??= readTls(tls, secrets).then((secure) => buildConnector({ timeout: timeoutMs, ...secure }));
    made.then(
      (connect) => connect(options, settle),
      (error: Error) => {
        made = undefined;
        settle(error, null);
      },
    );
  };
}

/** Reads the files; a passphrase is added to `secrets`. Throws AccessError for a file that cannot be read or used. */
export async function readTls(
  { caFile, certFile, keyFile = certFile, passphrase }: TlsSettings,
  secrets = new Secrets(),
) {
  const secure = {
    ...(caFile === undefined
      ? {}
      : { ca: [...rootCertificates, await readAccessFile(caFile, 'the certificate authority')] }),
    ...(certFile === undefined ? {} : { cert: await readAccessFile(certFile, 'the client certificate') }),
    ...(keyFile === undefined ? {} : { key: await readAccessFile(keyFile, 'the key of the client certificate') }),
    ...(passphrase === undefined ? {} : { passphrase: await readSecret(passphrase, 'the passphrase', secrets) }),
  };
  // Node silently ignores a file without a certificate.
  if (caFile !== undefined && !secure.ca?.at(-1)?.includes('-----BEGIN CERTIFICATE-----')) {
    throw new AccessError('access-file', `${caFile} (service.tls.caFile) holds no certificate`, {
      hint: 'It must be PEM.',
    });
  }
  try {
    createSecureContext(secure);
    return secure;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    const files = [caFile, certFile, keyFile].filter((file) => file !== undefined);
    throw new AccessError('access-file', `no connection can be made with ${[...new Set(files)].join(', ')}: ${code}`, {
      hint: 'The files must be PEM, the key must be that of the certificate, and its passphrase the right one.',
    });
  }
}
