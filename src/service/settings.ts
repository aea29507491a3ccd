/** Settings of the service client: address, credentials, TLS, time-outs and attempts. */
import { readFile } from 'node:fs/promises';
import { AccessError, UsageError } from '../core/base/errors.ts';
import { fileReason } from '../core/base/file-fault.ts';
import type { RequestRetryPolicy } from '../core/run/retry-decision.ts';
import type { Secrets } from '../core/base/secrets.ts';

/** Source of the bearer token, which is optional (docs/interface.md section 5). */
export type TokenSettings =
  | { readonly kind: 'none' }
  | { readonly kind: 'value'; readonly value: string }
  /** Read at the first request, and again when the service refuses the token. */
  | { readonly kind: 'file'; readonly path: string }
  | ClientCredentials;

/** A secret, or the file that holds it. The file is read at each use, so that it can be replaced. */
export type SecretSettings =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'file'; readonly path: string };

/**
 * OAuth 2.0 client credentials (RFC 6749 section 4.4): an endpoint issues tokens, which are renewed before they expire.
 */
export interface ClientCredentials {
  readonly kind: 'client-credentials';
  /** http or https, without user info, query and fragment. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: SecretSettings;
  readonly scope?: string | undefined;
  readonly audience?: string | undefined;
  /** Where id and secret are sent: in the Authorization header (Basic), the default, or in the form. */
  readonly credentialsIn?: 'header' | 'form' | undefined;
}

/** PEM files, read at the first connection. */
export interface TlsSettings {
  /** Authorities to trust besides the well-known ones. */
  readonly caFile?: string | undefined;
  /** Certificate of the client. */
  readonly certFile?: string | undefined;
  /** Key of the certificate; by default in the certificate's file. */
  readonly keyFile?: string | undefined;
  /** Passphrase of the key. */
  readonly passphrase?: SecretSettings | undefined;
}

export interface ServiceSettings {
  /** http or https, with an optional path prefix; without user info, query and fragment. */
  readonly baseUrl: string;
  readonly token: TokenSettings;
  /** For connections to the service and to the token endpoint. */
  readonly tls?: TlsSettings | undefined;
  /** Time-out of one request, from its connection to the last byte of its answer. */
  readonly timeoutMs: number;
  /** Most concurrent connections of this process. */
  readonly concurrency: number;
  /**
   * Most bytes of an answer's body. A larger one is an error, so that a broken server cannot exhaust the memory (G8).
   */
  readonly maxBodyBytes: number;
  readonly retry: RequestRetryPolicy;
}

export interface BaseAddress {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path of the address without its final slash; usually empty. */
  readonly prefix: string;
}

/**
 * Parses a base address. `name` names it in messages. Throws UsageError; its message shows the address only when that
 * holds no secret.
 */
export function parseBaseUrl(baseUrl: string, name = 'the address of the service'): BaseAddress {
  const url = URL.parse(baseUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`${name} is not an http or https address`, {
      hint: 'Write it like https://pds.example.com.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(`${name}, ${url.origin}, holds a user name or a password`, {
      hint: 'Give a secret by its own setting, so that none is shown with the address.',
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new UsageError(`${name}, ${url.origin}, holds a query or a fragment`, {
      hint: 'Leave away everything from the ? or # on.',
    });
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/** The address as messages show it. */
export function shownBaseUrl(baseUrl: string): string {
  const { origin, prefix } = parseBaseUrl(baseUrl);
  return `${origin}${prefix}`;
}

// Reads secrets from their files, and remembers each, so that no text shows it (G10).

/**
 * Reads a secret, without white space around it, and adds it to `secrets`. `name` names it in messages. Throws
 * AccessError, which never holds the secret (G10).
 */
export async function readSecret(secret: SecretSettings, name: string, secrets: Secrets): Promise<string> {
  const text = secret.kind === 'value' ? secret.value : await readAccessFile(secret.path, name);
  secrets.add(text);
  return text.trim();
}

/** The text of a file needed for access to the service. Throws AccessError when it cannot be read. */
export async function readAccessFile(path: string, name: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new AccessError('access-file', `${name} file ${path} cannot be read: ${fileReason(error)}`, {
      hint: 'Check the path and who may read the file.',
      cause: error,
    });
  });
}
