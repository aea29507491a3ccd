/** Owns the bearer token: where it comes from, and whether there is another one once the service has refused it. */
import { AccessError } from '../core/errors.ts';
import { readSecret } from './secret.ts';
import type { ClientCredentials, TokenSettings } from './settings.ts';

/**
 * The seam for every way to a token. Both calls throw AccessError where no usable token can be had, and TransientError
 * where one may be had later.
 */
export interface TokenSource {
  /** The token for the next request; undefined for none. */
  token(signal?: AbortSignal): Promise<string | undefined>;
  /** The service answered 401 to `refused`: whether another token is at hand now. Calls may overlap. */
  renew(refused: string | undefined, signal?: AbortSignal): Promise<boolean>;
}

/** `fromCredentials` makes the source of tokens for client credentials: the one way that needs connections. */
export function createTokenSource(
  settings: TokenSettings,
  fromCredentials: (credentials: ClientCredentials) => TokenSource,
): TokenSource {
  switch (settings.kind) {
    case 'client-credentials':
      return fromCredentials(settings);
    case 'none':
      return { token: async () => undefined, renew: async () => false };
    case 'value': {
      const value = usableToken(settings.value, 'the token of the service');
      return { token: async () => value, renew: async () => false };
    }
    case 'file':
      return new TokenFile(settings.path);
  }
}

class TokenFile implements TokenSource {
  readonly #path: string;
  #current: Promise<string> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async token(): Promise<string> {
    this.#current ??= this.#read();
    try {
      return await this.#current;
    } catch (error) {
      // A file that appears later is a token all the same.
      this.#current = undefined;
      throw error;
    }
  }

  async renew(refused: string | undefined): Promise<boolean> {
    this.#current = undefined;
    return (await this.token()) !== refused;
  }

  async #read(): Promise<string> {
    const text = await readSecret({ kind: 'file', path: this.#path }, 'the token');
    return usableToken(text, `the token file ${this.#path}`);
  }
}

/** Without the white space around it; a header takes visible ASCII only. The token itself is never shown (G10). */
export function usableToken(text: string, place: string): string {
  const token = text.trim();
  if (/^[\u0021-\u007e]+$/.test(token)) return token;
  const fault =
    token === '' ? 'is empty' : 'holds more than one token: white space or a character that no header takes';
  throw new AccessError('token', `${place} ${fault}`, { hint: 'Put the bare token there, on one line.' });
}
