/** Checks that the service's address accepts connections, without assuming an endpoint. */
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContextOptions } from 'node:tls';
import { codeOf } from '../core/base/file-fault.ts';
import type { Action } from '../core/base/action.ts';
import { AccessError, UnreachableError } from '../core/base/errors.ts';
import { readTls } from './http-exchange.ts';
import type { TlsSettings } from './settings.ts';

const timeoutMs = 5_000;

/**
 * Connects and disconnects; for https after the handshake and the check of the certificate. Throws
 * UnreachableError('service'), and AccessError for files of `tls` that cannot be used.
 */
export async function checkServiceReach(baseUrl: string, tls: TlsSettings | undefined): Promise<void> {
  const url = new URL(baseUrl);
  try {
    await connected(url, tls === undefined ? {} : await readTls(tls));
  } catch (error) {
    if (error instanceof AccessError) throw error;
    throw new UnreachableError('service', `the service at ${url.origin} cannot be reached: ${plain(error)}`, {
      ...remedyOf(error),
      cause: error,
    });
  }
}

function connected(url: URL, secure: SecureContextOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = dial(url, secure);
    const settle = (outcome: () => void): void => {
      socket.destroy();
      outcome();
    };
    socket.setTimeout(timeoutMs, () =>
      settle(() => reject(new Error(`it does not answer within ${timeoutMs / 1_000} s`))),
    );
    socket.once('error', (error) => settle(() => reject(error)));
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => settle(resolve));
  });
}

function dial(url: URL, secure: SecureContextOptions): Socket {
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  if (url.protocol === 'http:') return connectPlain({ host, port: Number(url.port || 80) });
  // Server name for the certificate; an IP address is not allowed (RFC 6066).
  return connectTls({
    ...secure,
    host,
    port: Number(url.port || 443),
    ...(isIP(host) === 0 ? { servername: host } : {}),
  });
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name could not be looked up',
  EHOSTUNREACH: 'there is no route to its host',
  ENETUNREACH: 'there is no route to its network',
  ECONNRESET: 'it hangs up',
  ETIMEDOUT: 'it does not answer',
};

const otherName = 'ERR_TLS_CERT_ALTNAME_INVALID';

function remedyOf(error: unknown): { readonly hint: string } | { readonly action: Action } {
  const code = codeOf(error);
  if (code === otherName)
    return { hint: 'Check the host name in the address: the certificate must be made out to it.' };
  // Node's codes for faults of certificates.
  if (/CERT|SIGNATURE|ISSUER/.test(code))
    return { hint: 'For a certificate of a private authority name that by service.tls.caFile.' };
  return { action: { kind: 'check-address', setting: 'service.url' } };
}

function plain(error: unknown): string {
  const code = codeOf(error);
  if (code === otherName) return 'its certificate is of another host name';
  // Messages of the TLS library name its own source files.
  if (/^ERR_SSL_|^EPROTO$/.test(code)) return 'it does not speak TLS there (is its address one of http?)';
  return reasons[code] ?? (error instanceof Error ? error.message : String(error));
}
