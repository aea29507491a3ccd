/** Sources of the bearer token, and its renewal after the service has refused it. */
import { AccessError } from '../core/base/errors.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { readAccessFile } from './secret.ts';
import type { ClientCredentials, TokenSettings } from './settings.ts';

/**
 * A source of bearer tokens. Both calls throw AccessError when no usable token exists, and TransientError when one may
 * exist later.
 */
export interface TokenSource {
  /** The token for the next request; undefined for none. */
  token(signal?: AbortSignal): Promise<string | undefined>;
  /**
   * Reports that the service answered 401 to the token `refused`. Returns whether another token is available. Calls may
   * overlap.
   */
  renew(refused: string | undefined, signal?: AbortSignal): Promise<boolean>;
}

/**
 * `fromCredentials` creates the source for client credentials, the only one that needs connections. Tokens are added to
 * `secrets`.
 */
export function createTokenSource(
  settings: TokenSettings,
  secrets: Secrets,
  fromCredentials: (credentials: ClientCredentials) => TokenSource,
): TokenSource {
  switch (settings.kind) {
    case 'client-credentials':
      return fromCredentials(settings);
    case 'none':
      return { token: async () => undefined, renew: async () => false };
    case 'value': {
      const value = usableToken(settings.value, 'the token of the service');
      secrets.add(value);
      return { token: async () => value, renew: async () => false };
    }
    case 'file':
      return new TokenFile(settings.path, secrets);
  }
}

class TokenFile implements TokenSource {
  readonly #path: string;
  readonly #secrets: Secrets;
  #current: Promise<string> | undefined;

  constructor(path: string, secrets: Secrets) {
    this.#path = path;
    this.#secrets = secrets;
  }

  async token(): Promise<string> {
    this.#current ??= this.#read();
    try {
      return await this.#current;
    } catch (error) {
      // Reads the file again at the next call: it may appear later.
      this.#current = undefined;
      throw error;
    }
  }

  async renew(refused: string | undefined): Promise<boolean> {
    this.#current = undefined;
    return (await this.token()) !== refused;
  }

  async #read(): Promise<string> {
    const text = await readAccessFile(this.#path, 'the token');
    const token = usableToken(text, `the token file ${this.#path}`);
    this.#secrets.addToken(token);
    return token;
  }
}

/**
 * The token without surrounding white space. Throws AccessError for characters other than visible ASCII, which no
 * header takes; the message never shows the token (G10). `place` names its source.
 */
export function usableToken(text: string, place: string): string {
  const token = text.trim();
  if (/^[\u0021-\u007e]+$/.test(token)) return token;
  const fault =
    token === '' ? 'is empty' : 'holds more than one token: white space or a character that no header takes';
  throw new AccessError('token', `${place} ${fault}`, { hint: 'Put the bare token there, on one line.' });
}
