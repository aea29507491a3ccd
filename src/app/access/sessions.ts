/**
 * Who is signed in to the pages of this server: a random id in the reader's cookie stands for a token, which the browser
 * never keeps. Ids are held by their hash, and in memory alone, so that a restart ends every session.
 */
import { createHash, randomBytes } from 'node:crypto';

export interface Session {
  /** SHA-256 of its id. */
  readonly hash: string;
  /** SHA-256 of the token that it stands for. */
  readonly tokenSha256: string;
  readonly endsAtMs: number;
}

/** A working day, with the night before it. */
export const sessionMs = 14 * 3_600_000;

/** Of one token: a team that shares one is smaller, and a program that signs in for each request shuts no other token out. */
const mostOfToken = 100;

/** Of all tokens: some 400 bytes each. */
const mostInAll = 2_000;

export class Sessions {
  /** By hash, the oldest first: all last equally long. */
  readonly #byHash = new Map<string, Session>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A new session of a token, in place of the oldest one where there are too many; returns its id. */
  open(tokenSha256: string): string {
    this.closeWhere(({ endsAtMs }) => endsAtMs <= this.#now());
    const ofToken = [...this.#byHash.values()].filter((session) => session.tokenSha256 === tokenSha256);
    if (ofToken.length >= mostOfToken) this.#close(ofToken[0]);
    if (this.#byHash.size >= mostInAll) this.#close(this.#byHash.values().next().value);
    const id = randomBytes(32).toString('base64url');
    const hash = hashOfToken(id);
    this.#byHash.set(hash, { hash, tokenSha256, endsAtMs: this.#now() + sessionMs });
    return id;
  }

  /** The open session of an id. */
  find(id: string): Session | undefined {
    return this.ofHash(hashOfToken(id));
  }

  ofHash(hash: string): Session | undefined {
    const session = this.#byHash.get(hash);
    return session !== undefined && session.endsAtMs > this.#now() ? session : undefined;
  }

  close(id: string): void {
    this.#byHash.delete(hashOfToken(id));
  }

  closeWhere(isOver: (session: Session) => boolean): void {
    for (const session of this.#byHash.values()) if (isOver(session)) this.#close(session);
  }

  #close(session: Session | undefined): void {
    if (session !== undefined) this.#byHash.delete(session.hash);
  }
}

/** SHA-256, hexadecimal. A token is random and long, so that a plain hash of it cannot be searched. */
export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
