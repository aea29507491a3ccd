/** Owns what the client of the service is told: where the service is, how it lets us in, and how long to try. */
import { UsageError } from '../core/errors.ts';
import type { RequestRetryPolicy } from '../core/retry-timing.ts';

/** How a bearer token is had; section 5 of INTERFACE.md declares it optional. */
export type TokenSettings =
  | { readonly kind: 'none' }
  | { readonly kind: 'value'; readonly value: string }
  /** Read at the first request, and again when the service refuses the token. */
  | { readonly kind: 'file'; readonly path: string }
  | ClientCredentials;

/** A secret as it is, or the file that holds it: read whenever it is needed, so that it can be replaced. */
export type SecretSettings =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'file'; readonly path: string };

/** OAuth 2.0 client credentials (RFC 6749 section 4.4): tokens come from an endpoint, and are renewed before they end. */
export interface ClientCredentials {
  readonly kind: 'client-credentials';
  /** http or https, without user info, query and fragment. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: SecretSettings;
  readonly scope?: string | undefined;
  readonly audience?: string | undefined;
  /** Where the endpoint looks for id and secret: the Authorization header (Basic), which is the default, or the form. */
  readonly credentialsIn?: 'header' | 'form' | undefined;
}

/** PEM files; each is read at the first connection. */
export interface TlsSettings {
  /** Authorities that are trusted besides the well-known ones. */
  readonly caFile?: string | undefined;
  /** The certificate that the client shows. */
  readonly certFile?: string | undefined;
  /** Its key; it may stand in the file of the certificate. */
  readonly keyFile?: string | undefined;
  /** What the key is encrypted with. */
  readonly passphrase?: SecretSettings | undefined;
}

export interface ServiceSettings {
  /** http or https, with a path prefix where the service has one; without user info, query and fragment. */
  readonly baseUrl: string;
  readonly token: TokenSettings;
  /** For the connections to the service and to the token endpoint alike. */
  readonly tls?: TlsSettings | undefined;
  /** For the connection, for the head of an answer, and for each pause in its body. */
  readonly timeoutMs: number;
  /** Most connections at one time in this process. */
  readonly concurrency: number;
  /** An answer with a larger body is given up, so that a broken server cannot eat the memory (G8). */
  readonly maxBodyBytes: number;
  readonly retry: RequestRetryPolicy;
}

export interface BaseAddress {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path of the address without a closing slash; empty for most. */
  readonly prefix: string;
}

/** Throws UsageError; the address itself is shown only where it can hold no secret. `name` says whose address it is. */
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

/** The address as the service client names itself by it. */
export function shownBaseUrl(baseUrl: string): string {
  const { origin, prefix } = parseBaseUrl(baseUrl);
  return `${origin}${prefix}`;
}
