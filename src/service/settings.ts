/** Owns what the client of the service is told: where the service is, how it lets us in, and how long to try. */
import { UsageError } from '../core/errors.ts';
import type { RequestRetryPolicy } from '../core/retry-timing.ts';

/** How a bearer token is had; section 5 of INTERFACE.md declares it optional. */
export type TokenSettings =
  | { readonly kind: 'none' }
  | { readonly kind: 'value'; readonly value: string }
  /** Read at the first request, and again when the service refuses the token. */
  | { readonly kind: 'file'; readonly path: string };

export interface ServiceSettings {
  /** http or https, with a path prefix where the service has one; without user info, query and fragment. */
  readonly baseUrl: string;
  readonly token: TokenSettings;
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

/** Throws UsageError; the address itself is shown only where it can hold no secret. */
export function parseBaseUrl(baseUrl: string): BaseAddress {
  const url = URL.parse(baseUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('the address of the service is not an http or https address', {
      hint: 'Write it like https://pds.example.com.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(`the address of the service, ${url.origin}, holds a user name or a password`, {
      hint: 'Give a bearer token by its own setting, so that no secret is shown with the address.',
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new UsageError(`the address of the service, ${url.origin}, holds a query or a fragment`, {
      hint: 'Leave away everything from the ? or # on.',
    });
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}
