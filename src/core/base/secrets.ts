/** The secrets that a process uses, so that no text shows one (G10). */

const mask = '[hidden]';

/** A shorter start of a secret may be a common word. */
const leastStart = 8;
/** Characters of Base64 that the first `leastStart` bytes decide alone. */
const leastBase64Start = 10;

/** A token is renewed every hour or so: the last ones are enough, since none is sent for longer than it lives. */
const mostTokens = 32;

export class Secrets {
  readonly #lasting = new Set<string>();
  readonly #tokens = new Set<string>();

  constructor(secrets: Iterable<string | undefined> = []) {
    for (const secret of secrets) this.add(secret);
  }

  /** Adds a secret for good: a password, the content of a file. Surrounding white space does not belong to it. */
  add(secret: string | undefined): void {
    const bare = secret?.trim() ?? '';
    if (bare !== '') this.#lasting.add(bare);
  }

  /** Adds a token, in the place of the oldest one when there are many. */
  addToken(token: string): void {
    this.#tokens.delete(token);
    this.#tokens.add(token);
    const [oldest] = this.#tokens;
    if (oldest !== undefined && this.#tokens.size > mostTokens) this.#tokens.delete(oldest);
  }

  /** The text without any of the secrets, as they are and as JSON, an address or Base64 spells them. */
  hideIn(text: string): string {
    const spellings = this.#all().flatMap((secret) => [...plainSpellings(secret), ...base64Spellings(secret)]);
    return longestFirst(spellings).reduce((clean, spelling) => clean.replaceAll(spelling, mask), text);
  }

  /**
   * As `hideIn`, and also without the start of a secret, from 8 characters on: for text that another server sent, which
   * may have cut what it repeats.
   */
  hideInForeign(text: string): string {
    const plain = this.#all().flatMap(plainSpellings);
    const packed = this.#all().flatMap(base64Spellings);
    const withoutPlain = longestFirst(plain).reduce((clean, each) => withoutStarts(clean, each, leastStart), text);
    return longestFirst(packed).reduce((clean, each) => withoutStarts(clean, each, leastBase64Start), withoutPlain);
  }

  #all(): readonly string[] {
    return [...this.#lasting, ...this.#tokens];
  }
}

function plainSpellings(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, json, json.replaceAll('/', '\\/'), encodeURIComponent(secret)])];
}

/** Both alphabets (RFC 4648 sections 4 and 5), without padding. */
function base64Spellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')];
}

/** A secret may hold another one: the longer one is looked for first. */
function longestFirst(spellings: readonly string[]): readonly string[] {
  return spellings.toSorted((left, right) => right.length - left.length);
}

/** Removes every part of the text that begins as `spelling` does, for at least `least` characters. */
function withoutStarts(text: string, spelling: string, least: number): string {
  const start = spelling.slice(0, Math.min(least, spelling.length));
  const parts = text.split(start);
  const [before = '', ...after] = parts;
  return after.reduce(
    (clean, rest) => `${clean}${mask}${rest.slice(sharedLength(rest, spelling.slice(start.length)))}`,
    before,
  );
}

function sharedLength(text: string, other: string): number {
  let length = 0;
  while (length < other.length && text[length] === other[length]) length += 1;
  return length;
}
