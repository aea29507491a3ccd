/** Sources of the bearer token, and its renewal after the service has refused it. */
import { z } from 'zod';
import { parsedJson } from '../core/base/text.ts';
import { AbortedError, AccessError, TransientError } from '../core/base/errors.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { textBody } from './answer-body.ts';
import { type Answer, errorOfAnswer, isSuccess, notJson, type RequestContext } from './classification.ts';
import type { Exchange } from './http-exchange.ts';
import { type ClientCredentials, readAccessFile, readSecret, type TokenSettings } from './settings.ts';

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
      return fixedToken(undefined);
    case 'value': {
      const value = usableToken(settings.value, 'the token of the service');
      secrets.add(value);
      return fixedToken(value);
    }
    case 'file':
      return tokenFile(settings.path, secrets);
  }
}

function fixedToken(token: string | undefined): TokenSource {
  return { token: async () => token, renew: async () => false };
}

function tokenFile(path: string, secrets: Secrets): TokenSource {
  let current: Promise<string> | undefined;
  const read = async (): Promise<string> => {
    const token = usableToken(await readAccessFile(path, 'the token'), `the token file ${path}`);
    secrets.addToken(token);
    return token;
  };
  const token = async (): Promise<string> => {
    current ??= read();
    try {
      return await current;
    } catch (error) {
      // Reads the file again at the next call: it may appear later.
      current = undefined;
      throw error;
    }
  };
  const renew = async (refused: string | undefined): Promise<boolean> => {
    current = undefined;
    return (await token()) !== refused;
  };
  return { token, renew };
}

/**
 * The token without surrounding white space. Throws AccessError for characters other than visible ASCII, which no
 * header takes; the message never shows the token (G10). `source` names where it comes from.
 */
function usableToken(text: string, source: string): string {
  const token = text.trim();
  if (/^[\u0021-\u007e]+$/.test(token)) return token;
  const fault =
    token === '' ? 'is empty' : 'holds more than one token: white space or a character that no header takes';
  throw new AccessError('token', `${source} ${fault}`, { hint: 'Put the bare token there, on one line.' });
}

// Tokens by OAuth 2.0 client credentials (RFC 6749 section 4.4): fetched once for all calls, renewed before they
// expire.

/** RFC 6749 sections 5.1 and 5.2. Some endpoints send the lifetime as text. */
const tokenAnswerSchema = z.object({
  access_token: z.string(),
  expires_in: z.coerce.number().positive().optional().catch(undefined),
});
const errorAnswerSchema = z.object({
  error: z.enum([
    'invalid_request',
    'invalid_client',
    'invalid_grant',
    'unauthorized_client',
    'unsupported_grant_type',
    'invalid_scope',
  ]),
});

/** Margin before the end of a token at which it is renewed; a tenth of its life when that is shorter. */
const longestMarginMs = 60_000;

interface IssuedToken {
  readonly token: string;
  /** Infinity when the endpoint does not send a lifetime. */
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

interface TokenEndpoint {
  /** Sends to exactly the address of the endpoint. */
  readonly exchange: Exchange;
  readonly deadlineMs: number;
  readonly now: () => number;
  /** The client secret and the tokens are added to it. */
  readonly secrets: Secrets;
}

export class ClientCredentialsTokens implements TokenSource {
  readonly #credentials: ClientCredentials;
  readonly #endpoint: TokenEndpoint;
  #current: IssuedToken | undefined;
  /** The running fetch, shared by all callers. */
  #fetching: Promise<IssuedToken> | undefined;

  constructor(credentials: ClientCredentials, endpoint: TokenEndpoint) {
    this.#credentials = credentials;
    this.#endpoint = endpoint;
  }

  async token(signal?: AbortSignal): Promise<string> {
    const current = this.#current;
    if (current !== undefined && this.#endpoint.now() < current.renewAtMs) return current.token;
    try {
      return (await this.#fetchOnce(signal)).token;
    } catch (error) {
      // The current token is valid until it expires; the endpoint may be back by then.
      if (error instanceof TransientError && current !== undefined && this.#endpoint.now() < current.endsAtMs)
        return current.token;
      throw error;
    }
  }

  async renew(refused: string | undefined, signal?: AbortSignal): Promise<boolean> {
    if (this.#current?.token === refused) this.#current = undefined;
    return (await this.token(signal)) !== refused;
  }

  /** Starts or joins the shared fetch. A caller that aborts does not cancel it for the others. */
  async #fetchOnce(signal: AbortSignal | undefined): Promise<IssuedToken> {
    this.#fetching ??= this.#fetch().finally(() => (this.#fetching = undefined));
    return signal === undefined ? this.#fetching : unlessAborted(this.#fetching, signal);
  }

  async #fetch(): Promise<IssuedToken> {
    const { exchange, deadlineMs, now, secrets } = this.#endpoint;
    const secret = await readSecret(this.#credentials.clientSecret, 'the client secret', secrets);
    const { form, authorization } = tokenRequestOf(this.#credentials, secret);
    const context = { label: `POST ${exchange.baseUrl}`, isRead: false, hasToken: true, secrets };
    const requestedAtMs = now();
    const room = exchange.openRoom();
    const body = form.toString();
    const answer = await exchange
      .send({ ...tokenRequest, body }, { authorization, context, deadlineMs, signal: neverAborted, room })
      .finally(() => room.close());
    this.#current = issuedToken(answer, context, requestedAtMs);
    secrets.addToken(this.#current.token);
    return this.#current;
  }
}

const tokenRequest = {
  method: 'POST',
  endpoint: 'token',
  path: '',
  accept: 'application/json',
  contentType: 'application/x-www-form-urlencoded',
} as const;
const neverAborted = new AbortController().signal;

function tokenRequestOf(
  { clientId, scope, audience, credentialsIn = 'header' }: ClientCredentials,
  secret: string,
): { readonly form: URLSearchParams; readonly authorization: string | undefined } {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope !== undefined) form.set('scope', scope);
  if (audience !== undefined) form.set('audience', audience);
  if (credentialsIn === 'header') return { form, authorization: `Basic ${basic(clientId, secret)}` };
  form.set('client_id', clientId);
  form.set('client_secret', secret);
  return { form, authorization: undefined };
}

/** RFC 6749 section 2.3.1: both values are form-encoded before they are joined. */
function basic(clientId: string, secret: string): string {
  const encoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);
  return Buffer.from(`${encoded(clientId)}:${encoded(secret)}`).toString('base64');
}

/**
 * Reads the token from an answer. Any body of the endpoint may hold a token or repeat the client secret, so no message
 * shows more of it than an error code of RFC 6749 section 5.2 (G10).
 */
function issuedToken(answer: Answer, context: RequestContext, requestedAtMs: number): IssuedToken {
  const error = errorOfAnswer({ ...answer, body: textBody('') }, context, requestedAtMs);
  if (error !== undefined) throw error instanceof TransientError ? error : refusalOf(answer, context);
  const body = parsedJson(answer.body.text());
  if (body === undefined) throw notJson({ ...answer, body: textBody('') }, context);
  const { data } = tokenAnswerSchema.safeParse(body);
  if (data === undefined) {
    throw new AccessError('token', `${context.label} answered ${answer.status} without an access_token`, {
      hint: 'Check the address of the token endpoint.',
    });
  }
  const lifeMs = (data.expires_in ?? Infinity) * 1_000;
  const endsAtMs = requestedAtMs + lifeMs;
  const token = usableToken(data.access_token, `the access_token of ${context.label}`);
  return { token, renewAtMs: endsAtMs - Math.min(longestMarginMs, lifeMs / 10), endsAtMs };
}

/**
 * The error for a refused request. Never specific to a well, not even a 404: every further request would end the same.
 */
function refusalOf(answer: Answer, context: RequestContext): AccessError {
  const code = isSuccess(answer.status)
    ? undefined
    : errorAnswerSchema.safeParse(parsedJson(answer.body.text())).data?.error;
  const message = `${context.label} refused the client credentials: ${answer.status}${code === undefined ? '' : ` ${code}`}`;
  return new AccessError('token', message, { hint: hints[code ?? ''] ?? anyHint });
}

const anyHint = 'Check the address of the token endpoint, the client id and its secret, scope and audience.';

/** Hints by error code (RFC 6749 section 5.2). */
const hints: Readonly<Record<string, string>> = {
  invalid_client:
    'Check the client id and its secret, and whether the endpoint takes them in the header or in the form.',
  invalid_scope: 'Check the scope.',
  unauthorized_client: 'Allow the client the grant type client_credentials at the endpoint.',
  unsupported_grant_type: 'The endpoint must offer the grant type client_credentials.',
};

/** Rejects when the signal aborts; `work` continues for its other callers. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let end = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    end = () => reject(new AbortedError(undefined, { cause: signal.reason }));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
