/**
 * Who a caller of the HTTP API is, and what it may do (docs/design.md section 11). A token counts wherever it comes from,
 * and so does the session of a reader who signed in with one; the user whom a proxy names counts from
 * `http.trustedProxies` alone; a caller on this host counts without any of these only where nothing else is set, and
 * nothing hints at a proxy or at a page of another host.
 */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { type HttpSettings, isClientName, networksOf } from '../../../config/http-settings.ts';
import { UsageError, WellsyncError } from '../../core/base/errors.ts';
import { mayActAs, type Role } from '../../core/base/action.ts';
import { isDay, isExpired } from '../../core/run/token-expiry.ts';
import { hashOfToken, Sessions } from './sessions.ts';

/** What a request says of its caller. */
interface Caller {
  readonly remoteAddress: string | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether the request changes something. */
  readonly isChange: boolean;
}

export interface Identity {
  readonly kind: 'token' | 'user' | 'loopback';
  /** Who did what, in runs, plans and the audit: `nightly (token)`. */
  readonly actor: string;
  readonly name: string;
  readonly role: Role;
  /** The hash of its token. */
  readonly sha256?: string;
  /** The hash of the session by which the token came, for a reader who signed in. */
  readonly session?: string;
}

/** 401: nobody that is known. */
export class NotAdmittedError extends WellsyncError {
  override readonly name = 'NotAdmittedError';
}

/** A token was given, and is none: a guess, or one that was removed. */
export class WrongTokenError extends NotAdmittedError {}

/** 403: known, and not allowed this. */
export class ForbiddenError extends WellsyncError {
  override readonly name = 'ForbiddenError';
}

/** How long a token may count after it left the configuration. */
const rereadMs = 5_000;

const loopback = networksOf(['127.0.0.0/8', '::1']);
const forwardedHeaders = ['forwarded', 'via', 'x-real-ip', 'x-original-host'];

export class Access {
  readonly #readSettings: () => HttpSettings;
  readonly #now: () => number;
  readonly #onStale: (fault: unknown) => void;
  readonly #isOpen: boolean;
  readonly #sessions: Sessions;
  #isStale = false;
  #settings: HttpSettings;
  #readAtMs: number;

  /**
   * `readSettings` is called now, and again every few seconds while requests come; where it throws later, the last
   * settings stay, and `onStale` is called with the first fault. Throws UsageError for an address that others reach, with
   * nothing to know them by.
   */
  constructor(
    readSettings: () => HttpSettings,
    {
      now = Date.now,
      onStale = () => {},
    }: { readonly now?: () => number; readonly onStale?: (fault: unknown) => void } = {},
  ) {
    this.#readSettings = readSettings;
    this.#now = now;
    this.#onStale = onStale;
    this.#sessions = new Sessions(now);
    this.#settings = readSettings();
    this.#readAtMs = now();
    const isClosed = hasTokens(this.#settings) || hasProxies(this.#settings);
    const isHere = isLoopbackHost(this.#settings.host);
    if (!isClosed && !isHere) throw openToAll(this.#settings.host);
    // Decided once: the removal of the last token lets nobody in.
    this.#isOpen = !isClosed;
  }

  /** Throws NotAdmittedError, and ForbiddenError for a user without a role or a page of another host. */
  identify(caller: Caller): Identity {
    const settings = this.#current();
    const authorization = headerOf(caller, 'authorization');
    if (authorization !== undefined) return identityOfToken(authorization, settings, this.#now());
    const identity = this.#signedIn(caller) ?? userOf(caller, settings) ?? this.#identityHere(caller, settings);
    // What a browser sends by itself must not let a page of another host act (a header with a token is never sent by itself, a cookie is).
    if (caller.isChange) refuseFromElsewhere(caller);
    return identity;
  }

  /** Throws WrongTokenError, and NotAdmittedError for a token that has expired. */
  identifyToken(token: string): Identity {
    return identityOfToken(`Bearer ${token}`, this.#current(), this.#now());
  }

  /** Opens the session of a reader who showed a token, in place of the one that the browser had; returns its id. */
  signIn({ sha256 = '' }: Identity, browser: Pick<Caller, 'headers'>): string {
    this.signOut(browser);
    return this.#sessions.open(sha256);
  }

  signOut(browser: Pick<Caller, 'headers'>): void {
    const id = sessionInCookie(browser);
    if (id !== undefined) this.#sessions.close(id);
  }

  /** Whether a browser shows a session that is over. */
  hasEndedSession(browser: Pick<Caller, 'headers'>): boolean {
    return sessionInCookie(browser) !== undefined && this.#signedIn(browser) === undefined;
  }

  /**
   * The address of the client: that of the connection or, where that is a trusted proxy, the last one in X-Forwarded-For
   * that is none. What stands before it there the client wrote itself.
   */
  addressOf({ remoteAddress = '', headers }: Pick<Caller, 'remoteAddress' | 'headers'>): string {
    const proxies = networksOf(this.#current().trustedProxies);
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').map(bareAddress);
    let address = bareAddress(remoteAddress);
    while (isIn(proxies, address)) {
      const before = forwarded.pop() ?? '';
      if (isIP(before) === 0) return address;
      address = before;
    }
    return address;
  }

  /** Whether an address is that of a proxy by which many clients come. */
  isProxy(address: string | undefined): boolean {
    return isIn(networksOf(this.#current().trustedProxies), address);
  }

  /** Whether one who was let in, with a role, still is. */
  isStill(identity: Identity): boolean {
    const { tokens, users, otherUsers } = this.#current();
    const { kind, name, role, sha256, session } = identity;
    if (kind === 'loopback') return this.#isOpen && tokens.length === 0;
    if (session !== undefined && this.#sessions.ofHash(session) === undefined) return false;
    const token = tokens.find((each) => each.sha256 === sha256 && !isExpired(each, this.#now()));
    const now = kind === 'token' ? token?.role : roleOfUser(name, { users, otherUsers });
    return now !== undefined && mayActAs(now, role);
  }

  /** Undefined without a session, and for one that is over: the reader may be known otherwise. */
  #signedIn(browser: Pick<Caller, 'headers'>): Identity | undefined {
    const { tokens } = this.#current();
    const id = sessionInCookie(browser);
    const session = id === undefined ? undefined : this.#sessions.find(id);
    if (session === undefined) return undefined;
    const token = tokens.find(({ sha256 }) => sha256 === session.tokenSha256);
    if (token === undefined || isExpired(token, this.#now())) return undefined;
    return { ...identityOf(token), session: session.hash };
  }

  #identityHere(caller: Caller, settings: HttpSettings): Identity {
    const { remoteAddress, headers } = caller;
    const isHere = isIn(loopback, remoteAddress) && isLoopbackHost(hostNameOf(headers['host']));
    const isOpen = this.#isOpen && !hasTokens(settings) && !hasProxies(settings);
    if (isOpen && isHere && !isForwarded(headers, settings)) {
      return { kind: 'loopback', name: 'this machine', actor: 'this machine', role: 'operate' };
    }
    // No guess: a restart of the server ends the sessions of all open pages at once, which then ask again and again.
    if (sessionInCookie(caller) !== undefined) {
      throw new NotAdmittedError('session-ended', 'the session has ended: nothing was done', {
        hint: 'Load the page again, and sign in.',
      });
    }
    throw new NotAdmittedError('unauthenticated', 'a token is needed', {
      hint: 'Send it in the header Authorization, as: Bearer TOKEN.',
    });
  }

  #current(): HttpSettings {
    const agoMs = this.#now() - this.#readAtMs;
    // Less than none: the clock was set back, which must keep no removed token alive.
    if (agoMs >= 0 && agoMs < rereadMs) return this.#settings;
    this.#readAtMs = this.#now();
    try {
      this.#settings = this.#readSettings();
      this.#isStale = false;
      // A token that comes back, or gets a later last day, does not bring them back.
      const counting = this.#settings.tokens.filter((token) => !isExpired(token, this.#now()));
      const known = new Set(counting.map(({ sha256 }) => sha256));
      this.#sessions.closeWhere(({ tokenSha256 }) => !known.has(tokenSha256));
    } catch (error) {
      // A file that is being written, or is faulty: who was known stays known.
      if (!this.#isStale) this.#onStale(error);
      this.#isStale = true;
    }
    return this.#settings;
  }
}

/** Throws ForbiddenError unless the caller may act in this role. */
export function requireRole({ role, name }: Identity, needed: Role): void {
  if (mayActAs(role, needed)) return;
  throw new ForbiddenError('forbidden', `this needs the role ${needed}, and ${name} has the role ${role}`);
}

type Token = HttpSettings['tokens'][number];

function identityOfToken(authorization: string, { tokens }: HttpSettings, nowMs: number): Identity {
  const [, given] = /^Bearer +([\w.~+/-]+=*) *$/i.exec(authorization) ?? [];
  // Hashes are compared, so that the time that it takes tells nothing of a token.
  const sha256 = given === undefined ? undefined : hashOfToken(given);
  const known = tokens.find((token) => token.sha256 === sha256);
  if (known === undefined) {
    throw new WrongTokenError('unauthenticated', 'the token is not known', {
      hint: 'It may have been removed, or cut when it was copied.',
    });
  }
  // Not counted as a wrong one: whoever sends it had a right one.
  if (isExpired(known, nowMs)) {
    throw new NotAdmittedError('token-expired', `the token ${known.name} expired with ${known.expires ?? ''} (UTC)`, {
      hint: 'Whoever runs this server makes another one, and puts its line in place of the old one.',
    });
  }
  return identityOf(known);
}

function identityOf({ name, role, sha256 }: Token): Identity {
  return { kind: 'token', name, actor: `${name} (token)`, role, sha256 };
}

/** The cookie of a reader who signed in to the console. */
export const sessionCookie = 'wellsync_session';

function sessionInCookie({ headers }: Pick<Caller, 'headers'>): string | undefined {
  const { cookie } = headers;
  const pairs = (typeof cookie === 'string' ? cookie : '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${sessionCookie}=`))?.slice(sessionCookie.length + 1);
}

/** Undefined where no trusted proxy names a user. */
function userOf(caller: Caller, settings: HttpSettings): Identity | undefined {
  const { trustedProxies, userHeader } = settings;
  const name = headerOf(caller, userHeader);
  if (name === undefined || !isIn(networksOf(trustedProxies), caller.remoteAddress)) return undefined;
  const role = roleOfUser(name, settings);
  // A client that sends the header too makes it a list.
  if (role === undefined || !/^[\w.@ -]{1,80}$/.test(name)) {
    throw new ForbiddenError('forbidden', 'this user has no role here', { hint: 'http.users names those who have.' });
  }
  return { kind: 'user', name, actor: `${name} (proxy)`, role };
}

function roleOfUser(name: string, { users, otherUsers }: Pick<HttpSettings, 'users' | 'otherUsers'>): Role | undefined {
  return Object.hasOwn(users, name) ? users[name] : otherUsers;
}

function hasTokens({ tokens }: HttpSettings): boolean {
  return tokens.length > 0;
}

function hasProxies({ trustedProxies }: HttpSettings): boolean {
  return trustedProxies.length > 0;
}

function isForwarded(headers: Caller['headers'], { userHeader }: HttpSettings): boolean {
  return Object.keys(headers).some(
    (name) => name.startsWith('x-forwarded-') || forwardedHeaders.includes(name) || name === userHeader,
  );
}

/** Throws ForbiddenError for a form or a request that a page of another host has sent. */
export function refuseFromElsewhere(caller: Pick<Caller, 'headers'>): void {
  if (!isFromElsewhere(caller)) return;
  throw new ForbiddenError('foreign-origin', 'a page of another host asks for this: nothing was changed');
}

/** By the headers that browsers add and pages cannot set. */
function isFromElsewhere({ headers }: Pick<Caller, 'headers'>): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin } = headers;
  if (typeof origin !== 'string') return origin !== undefined;
  const own = [headers['host'], headers['x-forwarded-host']];
  return !own.some((host) => typeof host === 'string' && URL.parse(origin)?.host === host.toLowerCase());
}

/** The value of a header that came once. */
function headerOf({ headers }: Caller, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Without a port, the brackets of an IPv6 address, and the prefix of an IPv4 address that came by IPv6. */
function bareAddress(address: string): string {
  const text = address.trim();
  const [, bracketed, withPort] = /^\[(.*)\](?::\d+)?$|^(\d+(?:\.\d+){3}):\d+$/.exec(text) ?? [];
  return (bracketed ?? withPort ?? text).replace(/^::ffff:(?=\d+\.)/i, '');
}

function isIn(networks: ReturnType<typeof networksOf>, address: string | undefined): boolean {
  const bare = bareAddress(address ?? '');
  const family = isIP(bare);
  return family !== 0 && networks.check(bare, family === 6 ? 'ipv6' : 'ipv4');
}

/** The host of a Host header, without its port and the brackets of an IPv6 address. */
function hostNameOf(host: string | readonly string[] | undefined): string {
  if (typeof host !== 'string') return '';
  return host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** `host`: a name or an address, without a port. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isIn(loopback, host);
}

function openToAll(host: string): UsageError {
  return new UsageError(`${host} can be reached by others, and nothing says who is let in`, {
    hint: 'Make a token and put its hash into http.tokens, name http.trustedProxies, or listen on 127.0.0.1 (http.host).',
  });
}

// Tokens of the HTTP API: made once, and known afterwards by their hash alone.

/** Tells scanners of secrets what it is. */
const prefix = 'wst_';

/**
 * A new token, 256 bits in letters that need no quoting, and its entry of `http.tokens`. Throws UsageError for a name or a
 * last day that it cannot have. Nothing keeps the token.
 */
export function issueToken(
  { name, role, expires }: { readonly name: string; readonly role: Role; readonly expires?: string | undefined },
  { nowMs, names }: { readonly nowMs: number; readonly names: { readonly expires: string } },
) {
  if (!isClientName(name)) {
    throw new UsageError(`${JSON.stringify(name)} is no name of a token`, {
      hint: 'It may hold up to 80 letters, digits, ., @, - and _: it stands in runs, plans and the audit.',
    });
  }
  if (expires !== undefined && !isDay(expires)) {
    throw new UsageError(`${names.expires} ${JSON.stringify(expires)} is no day`, {
      hint: 'Give the last day of the token, such as 2027-01-31: it ends with that day, in UTC.',
    });
  }
  if (isExpired({ expires }, nowMs)) {
    throw new UsageError(`${names.expires} ${expires ?? ''} is over: the token would let nobody in`, {
      hint: 'Give a day that is to come: the token ends with it, in UTC.',
    });
  }
  const token = `${prefix}${randomBytes(32).toString('base64url')}`;
  const sha256 = hashOfToken(token);
  return { token, entry: { name, role, sha256, ...(expires === undefined ? {} : { expires }) } };
}
