/** Owns tokens by OAuth 2.0 client credentials (RFC 6749 section 4.4): fetched once for all calls, renewed before they end. */
import { z } from 'zod';
import { AbortedError, AccessError, TransientError } from '../core/errors.ts';
import { errorOfAnswer, isSuccess, notJson, type Answer, type Asked } from './classification.ts';
import type { Exchange } from './http-exchange.ts';
import { readSecret } from './secret.ts';
import type { ClientCredentials } from './settings.ts';
import { usableToken, type TokenSource } from './token-source.ts';

/** Sections 5.1 and 5.2 of RFC 6749. Some endpoints write the lifetime as text. */
const tokenAnswerSchema = z.object({ access_token: z.string(), expires_in: z.coerce.number().positive().optional() });
const errorAnswerSchema = z.object({ error: z.string().regex(/^[\w-]{1,40}$/) });

/** A token is renewed so long before its end, or at nine tenths of its life where that is later. */
const longestMarginMs = 60_000;

interface HeldToken {
  readonly token: string;
  /** Infinity where the endpoint does not say when the token ends. */
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

export interface TokenEndpoint {
  /** To the very address of the endpoint. */
  readonly exchange: Exchange;
  readonly deadlineMs: number;
  readonly now: () => number;
}

export class ClientCredentialsTokens implements TokenSource {
  readonly #credentials: ClientCredentials;
  readonly #endpoint: TokenEndpoint;
  #held: HeldToken | undefined;
  /** The fetch under way, which all callers share. */
  #fetching: Promise<HeldToken> | undefined;

  constructor(credentials: ClientCredentials, endpoint: TokenEndpoint) {
    this.#credentials = credentials;
    this.#endpoint = endpoint;
  }

  async token(signal?: AbortSignal): Promise<string> {
    const held = this.#held;
    if (held !== undefined && this.#endpoint.now() < held.renewAtMs) return held.token;
    try {
      return (await this.#fetchOnce(signal)).token;
    } catch (error) {
      // The last one is good until it ends: the endpoint may be back by then.
      if (error instanceof TransientError && held !== undefined && this.#endpoint.now() < held.endsAtMs)
        return held.token;
      throw error;
    }
  }

  async renew(refused: string | undefined, signal?: AbortSignal): Promise<boolean> {
    if (this.#held?.token === refused) this.#held = undefined;
    return (await this.token(signal)) !== refused;
  }

  /** A caller that gives up leaves the fetch to the others. */
  async #fetchOnce(signal: AbortSignal | undefined): Promise<HeldToken> {
    this.#fetching ??= this.#fetch().finally(() => (this.#fetching = undefined));
    return signal === undefined ? this.#fetching : unlessAborted(this.#fetching, signal);
  }

  async #fetch(): Promise<HeldToken> {
    const { exchange, deadlineMs, now } = this.#endpoint;
    const secret = (await readSecret(this.#credentials.clientSecret, 'the client secret')).trim();
    const { form, authorization } = questionOf(this.#credentials, secret);
    const hidden = [secret, ...(authorization === undefined ? [] : [authorization.replace('Basic ', '')])];
    const asked = { label: `POST ${exchange.baseUrl}`, hidden };
    const askedAtMs = now();
    const answer = await exchange.send(
      { method: 'POST', path: '', accept: 'application/json', contentType: formType, body: form.toString() },
      { authorization, asked, deadlineMs, signal: neverAborted },
    );
    this.#held = heldToken(answer, asked, askedAtMs);
    return this.#held;
  }
}

const formType = 'application/x-www-form-urlencoded';
const neverAborted = new AbortController().signal;

function questionOf(
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

/** RFC 6749 section 2.3.1: both are form-encoded before they are joined. */
function basic(clientId: string, secret: string): string {
  const encoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);
  return Buffer.from(`${encoded(clientId)}:${encoded(secret)}`).toString('base64');
}

/** The body of a good answer holds the token: it is never shown (G10). */
function heldToken(answer: Answer, asked: Asked, askedAtMs: number): HeldToken {
  const error = errorOfAnswer(answer, asked, askedAtMs);
  if (error !== undefined) throw error instanceof TransientError ? error : refusalOf(answer, asked);
  const { data } = tokenAnswerSchema.safeParse(parsed(answer, asked));
  if (data === undefined) {
    throw new AccessError('token', `${asked.label} answered ${answer.status} without an access_token`, {
      hint: 'Check the address of the token endpoint.',
    });
  }
  const lifeMs = (data.expires_in ?? Infinity) * 1_000;
  const endsAtMs = askedAtMs + lifeMs;
  const token = usableToken(data.access_token, `the access_token of ${asked.label}`);
  return { token, renewAtMs: endsAtMs - Math.min(longestMarginMs, lifeMs / 10), endsAtMs };
}

/** Every further request would end the same: never a fact about a well, not even a 404. */
function refusalOf(answer: Answer, asked: Asked): AccessError {
  const code = isSuccess(answer.status) ? undefined : errorAnswerSchema.safeParse(parsedOrNot(answer)).data?.error;
  const message = `${asked.label} refused the client credentials: ${answer.status}${code === undefined ? '' : ` ${code}`}`;
  return new AccessError('token', message, { hint: hints[code ?? ''] ?? anyHint });
}

const anyHint = 'Check the address of the token endpoint, the client id and its secret, scope and audience.';

/** By the error codes of section 5.2. */
const hints: Readonly<Record<string, string>> = {
  invalid_client:
    'Check the client id and its secret, and whether the endpoint takes them in the header or in the form.',
  invalid_scope: 'Check the scope.',
  unauthorized_client: 'Allow the client the grant type client_credentials at the endpoint.',
  unsupported_grant_type: 'The endpoint must offer the grant type client_credentials.',
};

function parsed(answer: Answer, asked: Asked): unknown {
  const value = parsedOrNot(answer);
  if (value === undefined) throw notJson({ ...answer, body: '' }, asked);
  return value;
}

function parsedOrNot({ body }: Answer): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

/** `work` goes on for whoever else waits for it. */
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
